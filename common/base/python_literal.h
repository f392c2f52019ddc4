#ifndef CACHEINF_COMMON_BASE_PYTHON_LITERAL_H_
#define CACHEINF_COMMON_BASE_PYTHON_LITERAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cacheinf {

// A value as Python's repr() writes it.
struct PythonLiteral {
  struct Entry;
  using Items = std::vector<PythonLiteral>;  // of a list or a tuple
  using Entries = std::vector<Entry>;        // of a dict, in the order of the text
  std::variant<std::monostate, bool, int64_t, double, std::string, Items, Entries> value;  // None

  template <typename T>
  const T* As() const {
    return std::get_if<T>(&value);
  }
};

struct PythonLiteral::Entry {
  PythonLiteral key;
  PythonLiteral value;
};

// Reads dicts, lists, tuples, strings, whole and floating-point numbers, True, False and None;
// evaluates nothing. Strings have one or two quotes and no prefix, the escapes are those of repr();
// decoded ones become UTF-8. Returns nothing for all other text, whole numbers beyond 64 bits, more
// than 16 levels, and texts longer than 4 MiB. Never throws on bad text.
std::optional<PythonLiteral> ParsePythonLiteral(std::string_view text);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_PYTHON_LITERAL_H_
