#include "client/ros/node_options.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <variant>

#include "client/ros/robot_node.h"
#include "common/base/command_line.h"
#include "common/base/error.h"
#include "common/config/config_options.h"
#include "common/config/fields.h"

namespace cacheinf {
namespace {

class CommandLine {
 public:
  // Throws InputError.
  CommandLine(const NodeProgram& program, const std::vector<std::string>& arguments)
      : app_(program.description, program.name) {
    RobotConfig usual;
    std::set<std::string> flags;
    ForEachField(usual.Fields(), [&flags](const std::string& path, const Field& field) {
      if (RobotNode::Takes(path)) flags.insert(field.flag);
    });
    options_.AddTo(app_, usual.Fields(), flags);
    std::vector<const char*> words = {program.name.c_str()};
    for (const std::string& argument : arguments) words.push_back(argument.c_str());
    informs_ = ParseCommandLine(app_, program.version, static_cast<int>(words.size()), words.data())
                   .has_value();
  }

  bool informs() const { return informs_; }  // has printed help or the version
  const ConfigOptions& options() const { return options_; }
  ConfigOptions& options() { return options_; }

 private:
  CLI::App app_;
  ConfigOptions options_;
  bool informs_ = false;
};

}  // namespace

std::string TextOfList(const std::vector<std::string>& texts) {
  return nlohmann::json(texts).dump(-1, ' ', /*ensure_ascii=*/false,
                                    nlohmann::json::error_handler_t::replace);
}

void CheckTexts(const std::string& key, bool are_texts, bool is_list) {
  RobotConfig usual;
  ForEachField(usual.Fields(), [&](const std::string& path, const Field& field) {
    if (path != key) return;
    const bool takes_one = std::holds_alternative<std::string*>(field.target);
    const bool takes_more = std::holds_alternative<std::vector<std::string>*>(field.target) ||
                            std::holds_alternative<TextsOrFile>(field.target);
    if ((!takes_one && !takes_more) || (are_texts && (takes_more || !is_list))) return;
    throw InputError(fmt::format(
        "parameter {} must be {}; put quotes around a text that looks like something else", key,
        takes_one ? "a text" : "a text or a list of texts"));
  });
}

bool CheckNodeOptions(const NodeProgram& program, const std::vector<std::string>& arguments) {
  const CommandLine line(program, arguments);
  if (line.informs()) return false;
  RobotConfig config;
  if (!line.options().file().empty()) config = LoadRobotConfig(line.options().file());
  line.options().Override(config.Fields());
  return true;
}

std::optional<RobotConfig> ReadNodeOptions(const NodeProgram& program,
                                           const std::vector<std::string>& arguments,
                                           const std::map<std::string, std::string>& parameters) {
  CommandLine line(program, arguments);
  if (line.informs()) return std::nullopt;
  for (const auto& [key, text] : parameters) {
    if (!RobotNode::Takes(key)) throw InputError("there is no parameter " + key);
    line.options().Add("parameter", key, text);
  }
  try {
    return EffectiveConfig(line.options());
  } catch (const InputError& error) {
    if (parameters.empty()) throw;
    RobotConfig usual;
    throw InputError(WithKeys(error.what(), usual.Fields()));
  }
}

}  // namespace cacheinf
