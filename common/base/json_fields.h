#ifndef CACHEINF_COMMON_BASE_JSON_FIELDS_H_
#define CACHEINF_COMMON_BASE_JSON_FIELDS_H_

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/fields.h"
#include "common/base/words.h"

// Structs as JSON objects, by their lists of fields (common/base/fields.h).

namespace cacheinf {

using FieldsJson = nlohmann::ordered_json;

template <typename T>
inline constexpr bool kIsVector = false;
template <typename T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

class JsonWriter {
 public:
  static constexpr bool kReads = false;

  // Texts, numbers, enums with words, structs, and lists of these; null where there is nothing.
  // Other types have to_json(FieldsJson&, field), and ReadField(JsonReader, key, field).
  void operator()(const char* key, const auto& field, const auto&... /*bounds*/) {
    json_[key] = Of(field);
  }
  // Whether a field that may be missing is there.
  static bool Has(const char* /*key*/, bool is_there) { return is_there; }
  // A field that always has this value.
  void Constant(const char* key, const auto& value) { json_[key] = value; }
  // 16 hexadecimal digits.
  void Hex(const char* key, uint64_t number) { json_[key] = fmt::format("{:016x}", number); }
  // A fixed number of numbers; `is_usual`: whether they are the struct's defaults.
  template <typename T, size_t kCount>
  void Tuple(const char* key, const std::array<const T*, kCount>& numbers, bool /*is_usual*/,
             const auto& /*bounds*/) {
    json_[key] = FieldsJson::array();
    for (const T* const number : numbers) json_[key].push_back(*number);
  }
  // `visit(visitor)` visits the fields of an object in this one.
  void Object(const char* key, const auto& visit) {
    JsonWriter writer;
    visit(writer);
    json_[key] = std::move(writer.json_);
  }
  // `visit(item, visitor)` visits an item's fields.
  template <typename T, typename Visit>
  void List(const char* key, const std::vector<T>& items, const Visit& visit) {
    json_[key] = FieldsJson::array();
    for (const T& item : items) {
      JsonWriter writer;
      visit(item, writer);
      json_[key].push_back(std::move(writer.json_));
    }
  }
  void Check(bool /*is_sound*/, const char* /*key*/, std::string_view /*must*/) {}
  void Check(const char* /*fault*/) {}

  FieldsJson Take() { return std::move(json_); }

 private:
  template <typename T>
  static FieldsJson Of(const T& field) {
    if constexpr (std::is_enum_v<T>) {
      return NameOf(field);
    } else if constexpr (kIsOptional<T>) {
      return field ? Of(*field) : FieldsJson();
    } else if constexpr (kIsVector<T>) {
      FieldsJson list = FieldsJson::array();
      for (const auto& item : field) list.push_back(Of(item));
      return list;
    } else if constexpr (std::is_constructible_v<FieldsJson, const T&>) {
      return field;
    } else {
      JsonWriter writer;
      VisitFields(field, writer);
      return std::move(writer.json_);
    }
  }

  FieldsJson json_ = FieldsJson::object();
};

// Reads an object of a file or a message. Throws InputError, naming object and key in one sentence,
// if it does not hold what is asked for.
class JsonReader {
 public:
  static constexpr bool kReads = true;

  // `text` is not trusted: more than 32 levels, or 1000 keys in one object, are refused too.
  JsonReader(const std::string& text, const std::string& name);

  JsonReader(FieldsJson json, std::string name) : name_(std::move(name)), json_(std::move(json)) {
    if (!json_.is_object()) throw InputError(name_ + ": not a JSON object");
  }

  bool Has(const char* key, bool /*is_there*/ = true) const { return json_.contains(key); }
  size_t keys() const { return json_.size(); }

  template <typename T>
  void operator()(const char* key, T& field) const {
    if constexpr (std::is_same_v<T, bool>) {
      field = At(key, &FieldsJson::is_boolean, "true or false").get<bool>();
    } else if constexpr (std::is_same_v<T, std::string>) {
      field = Text(key);
    } else if constexpr (std::is_enum_v<T>) {
      const auto value = ValueOf<T>(Text(key));
      if (!value) Refuse(key, fmt::format("one of {}", fmt::join(WordsOf(T()), ", ")));
      field = *value;
    } else if constexpr (std::is_integral_v<T>) {
      (*this)(key, field, Whole());
    } else if constexpr (std::is_same_v<T, std::vector<double>>) {
      field = ListOf<double>(key, &FieldsJson::is_number, "a list", "a list of numbers");
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      constexpr const char* kMust = "a list of texts";
      field = ListOf<std::string>(key, &FieldsJson::is_string, kMust, kMust);
    } else if constexpr (kIsVector<T>) {
      List(key, field, [](auto& item, const JsonReader& reader) { VisitFields(item, reader); });
    } else if constexpr (requires { ReadField(*this, key, field); }) {
      ReadField(*this, key, field);
    } else {
      Object(key, [&](const JsonReader& reader) { VisitFields(field, reader); });
    }
  }
  template <std::integral T>
  void operator()(const char* key, T& field, const Whole& bounds) const {
    const FieldsJson& number = At(key, &FieldsJson::is_number_integer, "an integer");
    field = Checked<T>(key, number.get<int64_t>(), bounds);
  }
  template <std::integral T>
  void operator()(const char* key, std::vector<T>& field, const Whole& bounds) const {
    field.clear();
    for (const int64_t number : Integers(key, bounds.type)) {
      field.push_back(Checked<T>(key, number, bounds));
    }
  }
  template <std::floating_point T>
  void operator()(const char* key, T& field, const Real& bounds) const {
    const auto number = At(key, &FieldsJson::is_number, bounds.type).get<double>();
    if (!bounds.Has(number)) Refuse(key, bounds.range);
    field = static_cast<T>(number);
  }
  // Returns nothing for null.
  template <typename T>
  void operator()(const char* key, std::optional<T>& field, const auto& bounds) const {
    field.reset();
    if (!Has(key) || !json_[key].is_null()) (*this)(key, field.emplace(), bounds);
  }
  void Constant(const char* key, const std::string& value) const {
    if (Text(key) != value) Refuse(key, value);
  }
  void Constant(const char* key, int value) const {
    int64_t number = 0;
    (*this)(key, number);
    if (number != value) Refuse(key, fmt::format("{}; another build wrote {}", value, number));
  }
  void Hex(const char* key, uint64_t& number) const {
    const std::string text = Has(key) && json_[key].is_string() ? Text(key) : "";
    const bool is_hex =
        text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!is_hex) Refuse(key, "16 hexadecimal digits");
    number = std::stoull(text, nullptr, 16);
  }
  template <typename T, size_t kCount>
  void Tuple(const char* key, const std::array<T*, kCount>& numbers, bool /*is_usual*/,
             const auto& bounds) const {
    const auto read = [&] {
      if constexpr (std::is_integral_v<T>) {
        return Integers(key, nullptr);
      } else {
        return ListOf<T>(key, &FieldsJson::is_number, "a list", "a list of numbers");
      }
    }();
    const auto is_sound = [&](auto number) {
      return bounds.least <= number && number <= bounds.most;
    };
    if (read.size() != kCount || !std::ranges::all_of(read, is_sound)) Refuse(key, bounds.range);
    for (size_t i = 0; i < kCount; ++i) *numbers[i] = static_cast<T>(read[i]);
  }
  void Object(const char* key, const auto& visit) const {
    const JsonReader object = Object(key);
    visit(object);
  }
  template <typename T, typename Visit>
  void List(const char* key, std::vector<T>& items, const Visit& visit) const {
    items.clear();
    for (const JsonReader& object : Objects(key)) visit(items.emplace_back(), object);
  }
  // For faults that show only across several fields.
  void Check(bool is_sound, const char* key, std::string_view must) const {
    if (!is_sound) Refuse(key, must);
  }
  void Check(const char* fault) const {
    if (fault != nullptr) throw InputError(fmt::format("{}: {}", name_, fault));
  }

  std::string Text(const char* key) const {
    return At(key, &FieldsJson::is_string, "a text").get<std::string>();
  }
  JsonReader Object(const char* key) const {
    if (!Has(key)) Refuse(key, "an object");
    return {json_[key], fmt::format("{}: {}", name_, key)};
  }
  std::vector<JsonReader> Objects(const char* key) const {
    std::vector<JsonReader> objects;
    for (const FieldsJson& json : At(key, &FieldsJson::is_array, "a list")) {
      objects.emplace_back(json, fmt::format("{}: {}", name_, key));
    }
    return objects;
  }
  [[noreturn]] void Refuse(const char* key, std::string_view what) const {
    throw InputError(fmt::format("{}: {} must be {}", name_, key, what));
  }
  const FieldsJson& json() const { return json_; }

 private:
  using IsType = bool (FieldsJson::*)() const noexcept;

  const FieldsJson& At(const char* key, IsType is_type, std::string_view must) const {
    if (!Has(key) || !(json_[key].*is_type)()) Refuse(key, must);
    return json_[key];
  }
  template <typename T>
  std::vector<T> ListOf(const char* key, IsType is_type, const char* list, const char* must) const {
    std::vector<T> items;
    for (const FieldsJson& json : At(key, &FieldsJson::is_array, list)) {
      if (!(json.*is_type)()) Refuse(key, must);
      items.push_back(json.get<T>());
    }
    return items;
  }
  std::vector<int64_t> Integers(const char* key, const char* must) const {
    return ListOf<int64_t>(key, &FieldsJson::is_number_integer, must != nullptr ? must : "a list",
                           must != nullptr ? must : "a list of integers");
  }
  template <typename T>
  T Checked(const char* key, int64_t number, const Whole& bounds) const {
    if (number >= bounds.least && number <= bounds.most && std::in_range<T>(number)) {
      return static_cast<T>(number);
    }
    if (bounds.range != nullptr) Refuse(key, bounds.range);
    const bool is_open = bounds.most == Whole().most;
    Refuse(key, is_open ? fmt::format("at least {}", bounds.least)
                        : fmt::format("between {} and {}", bounds.least, bounds.most));
  }

  std::string name_;
  FieldsJson json_;
};

FieldsJson WriteFields(const auto& value) {
  JsonWriter writer;
  VisitFields(value, writer);
  return writer.Take();
}

template <typename T>
T ReadFields(const JsonReader& json) {
  T value;
  VisitFields(value, json);
  return value;
}

// Replaces bytes that are not UTF-8, which JSON must be but names need not.
template <typename Json>
std::string TextOf(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_JSON_FIELDS_H_
