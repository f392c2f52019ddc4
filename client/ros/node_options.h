#ifndef CACHEINF_CLIENT_ROS_NODE_OPTIONS_H_
#define CACHEINF_CLIENT_ROS_NODE_OPTIONS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/config/robot_config.h"

namespace cacheinf {

struct NodeProgram {
  std::string name;
  std::string description;
  std::string version;
};

// Joins texts into a list as SetField takes it; no text can end the list.
std::string TextOfList(const std::vector<std::string>& texts);

// Throws InputError if a key of a text, or of texts, was given something else.
void CheckTexts(const std::string& key, bool are_texts, bool is_list);

// Throws InputError if options are wrong, whatever parameters add to them. Returns false if help or
// the version was asked for and printed.
bool CheckNodeOptions(const NodeProgram& program, const std::vector<std::string>& arguments);

// The configuration that a node's command line, without the program, and its parameters say, by
// keys of the configuration; parameters win. Nothing if help or the version was asked for and
// printed. Throws InputError.
std::optional<RobotConfig> ReadNodeOptions(const NodeProgram& program,
                                           const std::vector<std::string>& arguments,
                                           const std::map<std::string, std::string>& parameters);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_ROS_NODE_OPTIONS_H_
