#include "client/ros/node_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "client/ros/robot_node.h"
#include "common/base/command_line.h"
#include "common/base/error.h"
#include "common/config/config_options.h"
#include "common/config/fields.h"

namespace cacheinf {

std::string TextOfList(const std::vector<std::string>& texts) {
  return nlohmann::json(texts).dump(-1, ' ', /*ensure_ascii=*/false,
                                    nlohmann::json::error_handler_t::replace);
}

std::optional<RobotConfig> ReadNodeOptions(const NodeProgram& program,
                                           const std::vector<std::string>& arguments,
                                           const std::map<std::string, std::string>& parameters) {
  CLI::App app(program.description, program.name);
  std::set<std::string> flags;
  ForEachField(RobotConfig().Fields(), [&flags](const std::string& path, const Field& field) {
    if (RobotNode::Takes(path)) flags.insert(field.flag);
  });
  ConfigOptions options;
  options.AddTo(app, RobotConfig().Fields(), flags);
  std::vector<std::string> texts = {program.name};
  std::ranges::copy(arguments, std::back_inserter(texts));
  for (const auto& [key, text] : parameters) {
    if (!RobotNode::Takes(key)) throw InputError("there is no parameter " + key);
    texts.insert(texts.end(), {"--set", key + "=" + text});
  }
  std::vector<const char*> words;
  for (const std::string& text : texts) words.push_back(text.c_str());
  if (ParseCommandLine(app, program.version, static_cast<int>(words.size()), words.data())) {
    return std::nullopt;
  }
  return EffectiveConfig(options);
}

}  // namespace cacheinf
