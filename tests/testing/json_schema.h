#ifndef CACHEINF_TESTS_TESTING_JSON_SCHEMA_H_
#define CACHEINF_TESTS_TESTING_JSON_SCHEMA_H_

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

// As much of JSON Schema as our schemas use.

namespace cacheinf {

inline bool IsOfType(const nlohmann::json& value, const std::string& type) {
  return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
         (type == "string" && value.is_string()) || (type == "number" && value.is_number()) ||
         (type == "integer" && value.is_number_integer()) || (type == "null" && value.is_null());
}

// Why the value is not what the schema says, and where; empty if it is. Adds the paths of all
// fields met to `seen`: "boxes.mask.size".
inline std::string WhyNotOfSchema(const nlohmann::json& schema, const nlohmann::json& value,
                                  std::set<std::string>* seen, const std::string& path = "") {
  if (schema.contains("enum")) {
    const auto& words = schema["enum"];
    return std::find(words.begin(), words.end(), value) == words.end() ? path + " is another word"
                                                                       : "";
  }
  const auto& type = schema.at("type");
  const bool fits = type.is_array()
                        ? std::any_of(type.begin(), type.end(),
                                      [&](const auto& one) { return IsOfType(value, one); })
                        : IsOfType(value, type);
  if (!fits) return path + " is not of type " + type.dump();
  if (value.is_array()) {
    for (const auto& item : value) {
      std::string why = WhyNotOfSchema(schema.at("items"), item, seen, path);
      if (!why.empty()) return why;
    }
  }
  if (!value.is_object()) return "";
  for (const auto& name : schema.at("required")) {
    if (!value.contains(name)) return path + " has no " + std::string(name);
  }
  for (const auto& [name, field] : value.items()) {
    const std::string own = path.empty() ? name : path + "." + name;
    if (!schema.at("properties").contains(name)) return own + " is not in the schema";
    seen->insert(own);
    std::string why = WhyNotOfSchema(schema["properties"][name], field, seen, own);
    if (!why.empty()) return why;
  }
  return "";
}

// The paths of all fields that the schema knows.
inline std::set<std::string> FieldsOfSchema(const nlohmann::json& schema,
                                            const std::string& path = "") {
  if (schema.contains("items")) return FieldsOfSchema(schema["items"], path);
  std::set<std::string> fields;
  if (!schema.contains("properties")) return fields;
  for (const auto& [name, field] : schema["properties"].items()) {
    const std::string own = path.empty() ? name : path + "." + name;
    fields.insert(own);
    fields.merge(FieldsOfSchema(field, own));
  }
  return fields;
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_JSON_SCHEMA_H_
