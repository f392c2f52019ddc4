#ifndef CACHEINF_CLIENT_RUN_CONFIG_OPTIONS_H_
#define CACHEINF_CLIENT_RUN_CONFIG_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <set>
#include <string>
#include <vector>

#include "common/config/robot_config.h"

namespace cacheinf {

// The options of a command line that make up a robot's configuration: --config, those that the
// configuration's fields name, and --set.
class ConfigOptions {
 public:
  ConfigOptions() = default;
  ConfigOptions(const ConfigOptions&) = delete;
  ConfigOptions& operator=(const ConfigOptions&) = delete;

  // Of the fields' options only these; none named: all. Those of booleans can stand alone, for
  // true. Outlives the command's parsing.
  void AddTo(CLI::App& command, const std::set<std::string>& only = {});

  // The file's configuration, overridden by the command line. Throws InputError.
  RobotConfig Effective() const;

  // The file; empty if none was given.
  const std::string& file() const { return file_; }

 private:
  // As typed.
  struct Setting {
    std::string name;  // for messages: the option
    std::string path;
    std::string text;
  };
  static Setting ParseSetting(const std::string& pair);
  void AddOption(CLI::App& command, const std::string& path, const Field& field);

  std::string file_;
  std::vector<Setting> settings_;
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_RUN_CONFIG_OPTIONS_H_
