#include "common/config/fields.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/nearest.h"

namespace cacheinf {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDeepestNesting = 16;
constexpr size_t kLongestQuote = 60;
constexpr size_t kLongestReason = 240;
constexpr std::string_view kSchemaKey = "$schema";

std::string Quote(const Json& json) {
  const std::string quote = json.dump(-1, ' ', /*ensure_ascii=*/true);
  return quote.size() > kLongestQuote ? quote.substr(0, kLongestQuote) + "…" : quote;
}

// Where a value stands, for messages: "robot.json: preprocess.border".
struct Place {
  std::string_view source;
  std::string key;

  Place Inside(const std::string& name) const {
    return {source, key.empty() ? name : key + "." + name};
  }

  [[noreturn]] void Fail(std::string_view what) const {
    throw InputError(fmt::format("{}: {} {}", source, key.empty() ? "the text" : key, what));
  }

  [[noreturn]] void Refuse(std::string_view wanted, const Json& got) const {
    Fail(fmt::format("must be {}, got {}", wanted, Quote(got)));
  }
};

// What nlohmann's messages say after their "[json.exception.…] ", on one line of ASCII.
std::string Reason(const Json::exception& error) {
  std::string text = error.what();
  text.erase(0, text.find("] ") + 2);
  if (text.size() > kLongestReason) text = text.substr(0, kLongestReason) + "...";
  for (char& character : text) {
    if (character < ' ' || character > '~') character = '?';
  }
  return text;
}

Json Parse(std::string_view text, std::string_view source) {
  std::vector<std::set<std::string>> open_objects;
  const auto watch = [&](int depth, Json::parse_event_t event, const Json& parsed) {
    if (depth > kDeepestNesting) {
      throw InputError(fmt::format("{}: nested deeper than {} levels", source, kDeepestNesting));
    }
    if (event == Json::parse_event_t::object_start) {
      open_objects.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      open_objects.pop_back();
    } else if (event == Json::parse_event_t::key) {
      if (!open_objects.back().insert(parsed.get<std::string>()).second) {
        throw InputError(
            fmt::format("{}: the key {} appears twice in one object", source, Quote(parsed)));
      }
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("{}: not JSON: {}", source, Reason(error)));
  }
}

void CheckNumber(const Place& place, const Field& field, double number, const Json& got) {
  if (!(number >= field.minimum)) place.Refuse(fmt::format("at least {}", field.minimum), got);
  if (!(number <= field.maximum)) place.Refuse(fmt::format("at most {}", field.maximum), got);
}

template <typename Integer>
Integer ToInteger(const Place& place, const Field& field, const Json& json) {
  if (!json.is_number_integer()) place.Refuse("an integer", json);
  CheckNumber(place, field, json.get<double>(), json);
  const bool fits = json.is_number_unsigned() ? std::in_range<Integer>(json.get<uint64_t>())
                                              : std::in_range<Integer>(json.get<int64_t>());
  if (!fits) {
    place.Refuse(fmt::format("between {} and {}", std::numeric_limits<Integer>::min(),
                             std::numeric_limits<Integer>::max()),
                 json);
  }
  return json.get<Integer>();
}

double ToDouble(const Place& place, const Field& field, const Json& json) {
  if (!json.is_number()) place.Refuse("a number", json);
  const auto number = json.get<double>();
  if (!std::isfinite(number)) place.Refuse("a finite number", json);
  CheckNumber(place, field, number, json);
  return number;
}

std::string ToText(const Place& place, const Json& json) {
  if (!json.is_string()) place.Refuse("a string", json);
  return json.get<std::string>();
}

std::string Quoted(std::string_view word) { return fmt::format("\"{}\"", word); }

// `"a"`, `"a" or "b"`, `one of "a", "b", "c"`.
std::string OneOf(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  std::transform(words.begin(), words.end(), std::back_inserter(quoted), Quoted);
  if (quoted.size() > 2) return fmt::format("one of {}", fmt::join(quoted, ", "));
  return fmt::format("{}", fmt::join(quoted, " or "));
}

// A key that files and robots could once have, by its name in its table, and the only value that
// still holds; or a key's word.
struct Gone {
  std::string_view key;
  std::string_view json;
  std::string_view advice;
};
constexpr Gone kGone[] = {
    {"most_work", "0.85", "remove it, as reuse always pays up to 0.85 of a dense run's work"},
    {"scheme", "\"libtorch\"", "set \"direct\" or \"auto\""},
};

const Gone* FindGone(std::string_view key) {
  const auto* const gone = std::ranges::find(kGone, key, &Gone::key);
  return gone == std::end(kGone) ? nullptr : gone;
}

void Assign(const Place& place, const Field& field, const Json& json);

void AssignTable(const Place& place, const FieldTable& fields, const Json& json) {
  if (!json.is_object()) place.Refuse("an object", json);
  for (const auto& [key, value] : json.items()) {
    if (place.key.empty() && key == kSchemaKey) {
      ToText(place.Inside(key), value);  // whatever it says, it must be text
      continue;
    }
    const auto field = std::ranges::find_if(
        fields, [&key = key](const Field& candidate) { return candidate.name == key; });
    const Place inside = place.Inside(key);
    const Gone* const gone = field == fields.end() ? FindGone(key) : nullptr;
    if (gone != nullptr) {
      const std::string what = fmt::format("is gone: {}", gone->advice);
      if (value != Json::parse(gone->json)) inside.Fail(what);
      LogWarning(fmt::format("{}: {} {}", place.source, inside.key, what));
      continue;
    }
    if (field == fields.end()) {
      std::vector<std::string> known;
      for (const Field& candidate : fields) known.push_back(candidate.name);
      throw InputError(fmt::format("{}: unknown key {}{}", place.source, Quote(inside.key),
                                   DidYouMean(key, known)));
    }
    Assign(inside, *field, value);
  }
}

template <typename T>
constexpr bool kIsVector = false;
template <typename T>
constexpr bool kIsVector<std::vector<T>> = true;

template <typename T>
T Read(const Place& place, const Field& field, const Json& json) {
  if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean()) place.Refuse("true or false", json);
    return json.get<bool>();
  } else if constexpr (std::is_integral_v<T>) {
    return ToInteger<T>(place, field, json);
  } else if constexpr (std::is_same_v<T, double>) {
    return ToDouble(place, field, json);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return ToText(place, json);
  } else {
    if (!json.is_array()) place.Refuse("a list", json);
    if (json.size() > field.most_items) {
      place.Fail(
          fmt::format("must have at most {} entries, got {}", field.most_items, json.size()));
    }
    T list;
    for (size_t i = 0; i < json.size(); ++i) {
      const Place entry = {place.source, fmt::format("{}[{}]", place.key, i)};
      list.push_back(Read<typename T::value_type>(entry, field, json[i]));
    }
    return list;
  }
}

void AssignChoice(const Place& place, const Choice& choice, const Json& json) {
  const auto word = json.is_string() ? std::ranges::find(choice.words, json.get<std::string>())
                                     : choice.words.end();
  const bool is_known = word != choice.words.end();
  const Gone* const gone = is_known ? nullptr : FindGone(place.key);
  if (gone != nullptr && json == Json::parse(gone->json)) {
    place.Fail(fmt::format("{} is gone: {}", gone->json, gone->advice));
  }
  if (!is_known) place.Refuse(OneOf(choice.words), json);
  choice.set(static_cast<size_t>(word - choice.words.begin()));
}

void AssignTextsOrFile(const Place& place, const Field& field, const TextsOrFile& target,
                       const Json& json) {
  if (!json.is_string() && !json.is_array()) place.Refuse("a list or a file's name", json);
  *target.file = json.is_string() ? json.get<std::string>() : "";
  *target.texts = json.is_array() ? Read<std::vector<std::string>>(place, field, json)
                                  : std::vector<std::string>();
}

void Assign(const Place& place, const Field& field, const Json& json) {
  const auto assign = [&](const auto& target) {
    using Target = std::decay_t<decltype(target)>;
    if constexpr (std::is_pointer_v<Target>) {
      *target = Read<std::remove_pointer_t<Target>>(place, field, json);
    } else if constexpr (std::is_same_v<Target, Choice>) {
      AssignChoice(place, target, json);
    } else if constexpr (std::is_same_v<Target, TextsOrFile>) {
      AssignTextsOrFile(place, field, target, json);
    } else {
      AssignTable(place, target, json);
    }
  };
  std::visit(assign, field.target);
}

Json ToJson(const FieldTable& fields);

Json ToJson(const Field& field) {
  const auto convert = [](const auto& target) -> Json {
    using Target = std::decay_t<decltype(target)>;
    if constexpr (std::is_same_v<Target, Choice>) {
      return target.words[target.get()];
    } else if constexpr (std::is_same_v<Target, TextsOrFile>) {
      return target.file->empty() ? Json(*target.texts) : Json(*target.file);
    } else if constexpr (std::is_same_v<Target, FieldTable>) {
      return ToJson(target);
    } else {
      return *target;
    }
  };
  return std::visit(convert, field.target);
}

Json ToJson(const FieldTable& fields) {
  Json json = Json::object();
  for (const Field& field : fields) json[field.name] = ToJson(field);
  return json;
}

Json NumberSchema(std::string_view type, const Field& field) {
  Json schema = {{"type", type}};
  const auto bound = [&](double number) {
    return type == "integer" ? Json(static_cast<int64_t>(number)) : Json(number);
  };
  if (std::isfinite(field.minimum)) schema["minimum"] = bound(field.minimum);
  if (std::isfinite(field.maximum)) schema["maximum"] = bound(field.maximum);
  return schema;
}

Json TableSchema(const FieldTable& fields);

template <typename T>
Json SchemaOf(const Field& field) {
  if constexpr (std::is_same_v<T, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (std::is_arithmetic_v<T>) {
    return NumberSchema(std::is_integral_v<T> ? "integer" : "number", field);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return {{"type", "string"}};
  } else {
    return {{"type", "array"},
            {"items", SchemaOf<typename T::value_type>(field)},
            {"maxItems", field.most_items}};
  }
}

Json TypeSchema(const Field& field) {
  const auto convert = [&](const auto& target) -> Json {
    using Target = std::decay_t<decltype(target)>;
    if constexpr (std::is_pointer_v<Target>) {
      return SchemaOf<std::remove_pointer_t<Target>>(field);
    } else if constexpr (std::is_same_v<Target, Choice>) {
      return {{"enum", target.words}};
    } else if constexpr (std::is_same_v<Target, TextsOrFile>) {
      Json schema = SchemaOf<std::vector<std::string>>(field);
      schema["type"] = Json::array({"string", "array"});
      return schema;
    } else {
      return TableSchema(target);
    }
  };
  return std::visit(convert, field.target);
}

Json TableSchema(const FieldTable& fields) {
  Json properties = Json::object();
  for (const Field& field : fields) {
    Json schema = TypeSchema(field);
    schema["description"] = field.when.empty() ? field.doc : field.doc + " " + field.when;
    if (!std::holds_alternative<FieldTable>(field.target)) schema["default"] = ToJson(field);
    properties[field.name] = std::move(schema);
  }
  return {{"type", "object"}, {"additionalProperties", false}, {"properties", properties}};
}

bool IsList(const Field& field) {
  const auto is_list = []<typename Target>(const Target&) {
    return kIsVector<std::remove_pointer_t<Target>> || std::is_same_v<Target, TextsOrFile>;
  };
  return !std::holds_alternative<FieldTable>(field.target) && std::visit(is_list, field.target);
}

bool IsText(const Field& field) {
  return std::holds_alternative<std::string*>(field.target) ||
         std::holds_alternative<Choice>(field.target);
}

Json SplitAtCommas(std::string_view text) {
  Json list = Json::array();
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    list.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return list;
}

// Turns what was typed into the JSON that a file would hold.
Json FromCommandLine(std::string_view text, const Field& field) {
  const auto* const choice = std::get_if<Choice>(&field.target);
  if (choice != nullptr && choice->words == std::vector<std::string>{"off", "on"}) {
    // YAML reads these words as booleans.
    if (text == "false" || text == "true") return text == "true" ? "on" : "off";
  }
  if (IsText(field)) return text;
  const bool is_json_list = text.starts_with('[');
  if (std::holds_alternative<TextsOrFile>(field.target) && !is_json_list) return text;
  if (std::holds_alternative<std::vector<std::string>*>(field.target) && !is_json_list) {
    return SplitAtCommas(text);
  }
  const std::string json_text =
      IsList(field) && !is_json_list ? fmt::format("[{}]", text) : std::string(text);
  Json json = Json::parse(json_text, nullptr, /*allow_exceptions=*/false);
  constexpr std::string_view kSpaces = " \t\n\r";
  const bool has_spaces_around =
      !text.empty() && (kSpaces.find(text.front()) != std::string_view::npos ||
                        kSpaces.find(text.back()) != std::string_view::npos);
  if (!IsList(field) && has_spaces_around) return text;
  return json.is_discarded() ? Json(text) : json;
}

const Field& Find(std::string_view path, std::string_view source, const FieldTable& fields) {
  const Field* found = nullptr;
  std::vector<std::string> known;
  ForEachField(fields, [&](const std::string& key, const Field& field) {
    known.push_back(key);
    if (key == path) found = &field;
  });
  if (found == nullptr) {
    throw InputError(
        fmt::format("{}: unknown key \"{}\"{}", source, path, DidYouMean(path, known)));
  }
  return *found;
}

}  // namespace

Field Field::Between(double low, double high) && {
  minimum = low;
  maximum = high;
  return std::move(*this);
}

Field Field::AtMostItems(size_t count) && {
  most_items = count;
  return std::move(*this);
}

Field Field::Flag(std::string option) && {
  flag = std::move(option);
  return std::move(*this);
}

Field Field::Unlisted(std::vector<std::string> words) && {
  unlisted = std::move(words);
  return std::move(*this);
}

std::string Field::FirstSentence() const {
  const size_t end = doc.find(". ");
  return end == std::string::npos ? doc : doc.substr(0, end + 1);
}

bool HasKey(std::string_view text, const char* key) {
  return nlohmann::json::parse(text).contains(key);
}

void ReadJson(std::string_view text, std::string_view name, const FieldTable& fields) {
  AssignTable({name, ""}, fields, Parse(text, name));
}

void SetField(std::string_view path, std::string_view text, std::string_view name,
              const FieldTable& fields) {
  const Field& field = Find(path, name, fields);
  Assign({name, std::string(path)}, field, FromCommandLine(text, field));
}

std::string WithKeys(std::string text, const FieldTable& fields) {
  ForEachField(fields, [&text](const std::string& path, const Field& field) {
    if (field.flag.empty()) return;
    size_t at = 0;
    while ((at = text.find(field.flag, at)) != std::string::npos) {
      const size_t end = at + field.flag.size();
      const bool is_whole =
          end == text.size() || (text[end] != '-' && std::isalnum(uint8_t(text[end])) == 0);
      if (is_whole) text.replace(at, field.flag.size(), path);
      at = is_whole ? at + path.size() : end;
    }
  });
  return text;
}

void CheckBounds(std::string_view name, const FieldTable& fields) {
  ForEachField(fields, [&](const std::string& path, const Field& field) {
    Assign({name, path}, field, ToJson(field));
  });
}

std::string WriteJson(const FieldTable& fields) {
  // Paths may hold bytes that are not UTF-8, which JSON must be.
  return ToJson(fields).dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

std::string WriteJsonSchema(std::string_view title, const FieldTable& fields) {
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}};
  schema.update(TableSchema(fields));
  schema["properties"][kSchemaKey] = {{"type", "string"}, {"description", "This schema."}};
  return schema.dump(2) + "\n";
}

void ForEachField(const FieldTable& fields,
                  const std::function<void(const std::string& path, const Field&)>& visit) {
  for (const Field& field : fields) {
    const auto* table = std::get_if<FieldTable>(&field.target);
    if (table == nullptr) {
      visit(field.name, field);
      continue;
    }
    ForEachField(*table, [&](const std::string& path, const Field& inner) {
      visit(field.name + "." + path, inner);
    });
  }
}

}  // namespace cacheinf
