#ifndef CACHEINF_COMMON_BASE_CHECKED_JSON_H_
#define CACHEINF_COMMON_BASE_CHECKED_JSON_H_

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/words.h"

namespace cacheinf {

// Reads an object of a file or a message. Throws InputError, naming object and key in one sentence,
// if it does not hold what is asked for.
class CheckedJson {
 public:
  using Json = nlohmann::ordered_json;

  // `text` is not trusted: more than 32 levels, or 1000 keys in one object, are refused too.
  CheckedJson(const std::string& text, const std::string& name);

  CheckedJson(Json json, std::string name) : name_(std::move(name)), json_(std::move(json)) {
    if (!json_.is_object()) throw InputError(name_ + ": not a JSON object");
  }

  bool Has(const char* key) const { return json_.contains(key); }

  std::string Text(const char* key) const {
    if (!Has(key) || !json_[key].is_string()) Refuse(key, "a text");
    return json_[key].get<std::string>();
  }

  int64_t Integer(const char* key) const {
    if (!Has(key) || !json_[key].is_number_integer()) Refuse(key, "an integer");
    return json_[key].get<int64_t>();
  }

  int64_t Integer(const char* key, int64_t least) const {
    const int64_t integer = Integer(key);
    if (integer < least) Refuse(key, fmt::format("at least {}", least));
    return integer;
  }

  bool Bool(const char* key) const {
    if (!Has(key) || !json_[key].is_boolean()) Refuse(key, "true or false");
    return json_[key].get<bool>();
  }

  // Reads 16 hexadecimal digits.
  uint64_t Hex(const char* key) const {
    const bool is_text = Has(key) && json_[key].is_string();
    const std::string text = is_text ? json_[key].get<std::string>() : "";
    const bool is_hex =
        text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!is_hex) Refuse(key, "16 hexadecimal digits");
    return std::stoull(text, nullptr, 16);
  }

  std::vector<double> Numbers(const char* key) const {
    std::vector<double> numbers;
    for (const Json& json : List(key)) {
      if (!json.is_number()) Refuse(key, "a list of numbers");
      numbers.push_back(json.get<double>());
    }
    return numbers;
  }

  std::vector<int64_t> Integers(const char* key) const {
    std::vector<int64_t> integers;
    for (const Json& json : List(key)) {
      if (!json.is_number_integer()) Refuse(key, "a list of integers");
      integers.push_back(json.get<int64_t>());
    }
    return integers;
  }

  template <typename Enum>
  Enum Choice(const char* key) const {
    if (const auto value = ValueOf<Enum>(Text(key))) return *value;
    Refuse(key, fmt::format("one of {}", fmt::join(WordsOf(Enum()), ", ")));
  }

  CheckedJson Object(const char* key) const {
    if (!Has(key)) Refuse(key, "an object");
    return {json_[key], fmt::format("{}: {}", name_, key)};
  }

  std::vector<CheckedJson> Objects(const char* key) const {
    std::vector<CheckedJson> objects;
    for (const Json& json : List(key)) {
      objects.emplace_back(json, fmt::format("{}: {}", name_, key));
    }
    return objects;
  }

  [[noreturn]] void Refuse(const char* key, std::string_view what) const {
    throw InputError(fmt::format("{}: {} must be {}", name_, key, what));
  }

  const Json& json() const { return json_; }
  const std::string& name() const { return name_; }

 private:
  const Json& List(const char* key) const {
    if (!Has(key) || !json_[key].is_array()) Refuse(key, "a list");
    return json_[key];
  }

  std::string name_;
  Json json_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_CHECKED_JSON_H_
