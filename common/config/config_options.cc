#include "common/config/config_options.h"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <variant>

#include "common/base/error.h"

namespace cacheinf {
namespace {

// What the help shows after an option.
std::string TypeName(const Field& field) {
  if (const auto* choice = std::get_if<Choice>(&field.target)) {
    std::vector<std::string> words = choice->words;
    std::erase_if(words, [&field](const std::string& word) {
      return std::ranges::find(field.unlisted, word) != field.unlisted.end();
    });
    return CLI::detail::join(words, "|");
  }
  if (std::holds_alternative<bool*>(field.target)) return "[true|false]";
  if (std::holds_alternative<double*>(field.target)) return "X";
  const bool is_whole_number =
      std::holds_alternative<int*>(field.target) || std::holds_alternative<int64_t*>(field.target);
  if (is_whole_number) return "N";
  return "TEXT";
}

}  // namespace

void ConfigOptions::AddTo(CLI::App& command, const FieldTable& fields,
                          const std::set<std::string>& only) {
  command.add_option("--config", file_,
                     "Configuration (JSON), whose paths start at its folder. Options override it.");
  AddFields(command, fields, "", "", only);
  const auto set = [this](const std::vector<std::string>& pairs) {
    for (const std::string& pair : pairs) settings_.push_back(ParseSetting(pair));
  };
  command
      .add_option_function<std::vector<std::string>>(
          "--set", set, "Sets any key of the configuration, like preprocess.fit=crop.")
      ->type_name("KEY=VALUE");
  if (!only.empty()) return;
  command.add_flag("--print-config", prints_config_,
                   "Prints the configuration in effect as JSON for --config, and exits.");
  command.add_flag("--print-config-schema", prints_schema_,
                   "Prints the JSON Schema of configurations, with all there is to say of every "
                   "key, and exits.");
}

// `path` is the table's, with a dot at its end.
void ConfigOptions::AddFields(CLI::App& command, const FieldTable& fields, const std::string& path,
                              const std::string& group, const std::set<std::string>& only) {
  for (const Field& field : fields) {
    if (const auto* table = std::get_if<FieldTable>(&field.target)) {
      const std::string title = field.FirstSentence();
      AddFields(command, *table, path + field.name + ".", title.substr(0, title.size() - 1), only);
    } else if (!field.flag.empty() && (only.empty() || only.contains(field.flag))) {
      CLI::Option* const option = AddOption(command, path + field.name, field);
      if (!group.empty()) option->group(group);
    }
  }
}

CLI::Option* ConfigOptions::AddOption(CLI::App& command, const std::string& path,
                                      const Field& field) {
  const std::string flag = field.flag;
  const bool is_boolean = std::holds_alternative<bool*>(field.target);
  const auto set = [this, flag, path, is_boolean](const std::vector<std::string>& texts) {
    const std::string text = CLI::detail::join(texts, ",");
    settings_.push_back({flag, path, is_boolean && text.empty() ? "true" : text});
  };
  const bool is_list = std::holds_alternative<std::vector<std::string>*>(field.target);
  return command.add_option_function<std::vector<std::string>>(flag, set, field.FirstSentence())
      ->type_name(TypeName(field))
      ->type_size(1)
      ->allow_extra_args(is_list)
      ->expected(is_boolean ? 0 : 1, is_list ? CLI::detail::expected_max_vector_size : 1);
}

// Splits the argument of --set; its key acts like an option.
ConfigOptions::Setting ConfigOptions::ParseSetting(const std::string& pair) {
  const size_t equals = pair.find('=');
  if (equals == std::string::npos) {
    throw InputError("--set: \"", pair, "\" is not of the form key=value");
  }
  return {"--set", pair.substr(0, equals), pair.substr(equals + 1)};
}

bool ConfigOptions::Print(const std::string& program, const FieldTable& defaults,
                          const FieldTable& in_effect) const {
  if (prints_schema_) {
    std::cout << WriteJsonSchema("Configuration of " + program, defaults);
  } else if (prints_config_) {
    std::cout << WriteJson(in_effect);
  }
  return prints_config_ || prints_schema_;
}

bool ConfigOptions::Sets(const std::string& path) const {
  return std::ranges::any_of(settings_,
                             [&](const Setting& setting) { return setting.path == path; });
}

void ConfigOptions::Add(const std::string& name, const std::string& path, const std::string& text) {
  settings_.push_back({name, path, text});
}

void ConfigOptions::Override(const FieldTable& fields) const {
  for (const Setting& setting : settings_) {
    SetField(setting.path, setting.text, setting.name, fields);
  }
}

}  // namespace cacheinf
