#ifndef CACHEINF_COMMON_CONFIG_FIELDS_H_
#define CACHEINF_COMMON_CONFIG_FIELDS_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// One table describes a program's configuration: for each key its name, its meaning, when to touch
// it, its bounds, and where in the struct it lies. Reading and writing JSON, checking, the command
// line's options and the JSON Schema for editors all come from this table.

namespace cacheinf {

// An enum in a struct, seen as one of a list of words (common/base/words.h).
struct Choice {
  std::vector<std::string> words;
  std::function<size_t()> get;
  std::function<void(size_t)> set;
};

template <typename Enum>
Choice MakeChoice(Enum& value) {
  const auto words = WordsOf(value);
  return {{words.begin(), words.end()},
          [&value] { return static_cast<size_t>(value); },
          [&value](size_t index) { value = static_cast<Enum>(index); }};
}

// An empty optional is the first word, "auto".
template <typename Enum>
Choice MakeChoice(std::optional<Enum>& value) {
  std::vector<std::string> words = {"auto"};
  for (const char* word : WordsOf(Enum{})) words.emplace_back(word);
  return {std::move(words), [&value] { return value ? static_cast<size_t>(*value) + 1 : 0; },
          [&value](size_t index) {
            value.reset();
            if (index > 0) value = static_cast<Enum>(index - 1);
          }};
}

// A switch that is written as a word.
inline Choice MakeSwitch(bool& value) {
  return {{"off", "on"},
          [&value] { return size_t{value}; },
          [&value](size_t index) { value = index == 1; }};
}

// Texts, or the name of a file that holds them, one a line: in JSON a list or a text. If there is a
// file, there are no texts.
struct TextsOrFile {
  std::vector<std::string>* texts;
  std::string* file;
};

struct Field;
using FieldTable = std::vector<Field>;

struct Field {
  using Target =
      std::variant<bool*, int*, int64_t*, double*, std::string*, Choice, std::vector<int>*,
                   std::vector<double>*, std::vector<std::string>*, TextsOrFile, FieldTable>;

  std::string name;
  Target target;
  std::string doc;        // what it is; the first sentence is the command line's help
  std::string when = {};  // when to touch it; empty for tables
  double minimum = -std::numeric_limits<double>::infinity();  // of a number, or of each one listed
  double maximum = std::numeric_limits<double>::infinity();
  size_t most_items = 4096;  // of a list
  std::string flag = {};     // the option of the command line: "--threads"; empty: none
  std::vector<std::string> unlisted = {};  // words of a choice that help leaves out

  Field Between(double low, double high) &&;
  Field AtMostItems(size_t count) &&;
  Field Flag(std::string option) &&;
  Field Unlisted(std::vector<std::string> words) &&;

  std::string FirstSentence() const;
};

// Sets the fields that `text`, a JSON object, has; leaves the others as they are. `name` says in
// messages where the text is from. Throws InputError for what is not JSON, an unknown or repeated
// key, a wrong type, and a value out of bounds. The key "$schema" is text for editors.
void ReadJson(std::string_view text, std::string_view name, const FieldTable& fields);

// Whether `text`, a JSON object that ReadJson takes, has this key.
bool HasKey(std::string_view text, const char* key);

// Sets one field from the command line. `path` is the field's key, "preprocess.border"; a list is
// written "1,2,3" or as in JSON. `name` says in messages where the text is from.
void SetField(std::string_view path, std::string_view text, std::string_view name,
              const FieldTable& fields);

// Returns a message with keys in place of the command line's options, for users who set keys
// otherwise: "--server mpi" becomes "server.address mpi".
std::string WithKeys(std::string text, const FieldTable& fields);

// Throws InputError if a value is out of bounds.
void CheckBounds(std::string_view name, const FieldTable& fields);

// All fields as a JSON object that ReadJson takes.
std::string WriteJson(const FieldTable& fields);

// A JSON Schema of the object; `fields` hold the defaults.
std::string WriteJsonSchema(std::string_view title, const FieldTable& fields);

// Calls `visit(path, field)` for every field that is not a table.
void ForEachField(const FieldTable& fields,
                  const std::function<void(const std::string& path, const Field&)>& visit);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CONFIG_FIELDS_H_
