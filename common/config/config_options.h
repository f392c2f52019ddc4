#ifndef CACHEINF_COMMON_CONFIG_CONFIG_OPTIONS_H_
#define CACHEINF_COMMON_CONFIG_CONFIG_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <set>
#include <string>
#include <vector>

#include "common/config/fields.h"

namespace cacheinf {

// The command-line options that make up a program's configuration: --config, the options that its
// fields name, and --set; also those that print it.
class ConfigOptions {
 public:
  ConfigOptions() = default;
  ConfigOptions(const ConfigOptions&) = delete;
  ConfigOptions& operator=(const ConfigOptions&) = delete;

  // Adds only the options of the fields in `only`; if it is empty, all of them and those that
  // print. Options of booleans can stand alone, for true. Must outlive the command's parsing.
  void AddTo(CLI::App& command, const FieldTable& fields, const std::set<std::string>& only = {});

  // Sets a key as if the command line did so last. `name` says in messages where it is from.
  void Add(const std::string& name, const std::string& path, const std::string& text);

  // Sets what the command line says, except --config. Throws InputError.
  void Override(const FieldTable& fields) const;

  // Does what --print-config or --print-config-schema asks for. Returns false if neither was given.
  bool Print(const std::string& program, const FieldTable& defaults,
             const FieldTable& in_effect) const;

  // Whether the command line sets this key.
  bool Sets(const std::string& path) const;

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
  void AddFields(CLI::App& command, const FieldTable& fields, const std::string& path,
                 const std::string& group, const std::set<std::string>& only);
  CLI::Option* AddOption(CLI::App& command, const std::string& path, const Field& field);

  std::string file_;
  std::vector<Setting> settings_;
  bool prints_config_ = false;
  bool prints_schema_ = false;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CONFIG_CONFIG_OPTIONS_H_
