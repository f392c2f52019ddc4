#include "common/base/json_fields.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace cacheinf {
namespace {

constexpr size_t kDeepestNesting = 32;
constexpr size_t kMostKeys = 1000;  // in an object

// Whether no list or object nests too deep or has too many keys. Values are copied and written
// recursively, and each key is compared with all those before it.
bool IsPlain(std::string_view text) {
  std::array<size_t, kDeepestNesting + 1> keys = {};
  size_t depth = 0;
  bool is_quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char character = text[i];
    if (character == '"') is_quoted = !is_quoted;
    if (is_quoted) {
      if (character == '\\') ++i;
    } else if (character == '{' || character == '[') {
      if (depth == kDeepestNesting) return false;
      keys[++depth] = 0;
    } else if (character == '}' || character == ']') {
      depth = std::max<size_t>(depth, 1) - 1;
    } else if (character == ':' && ++keys[depth] > kMostKeys) {
      return false;
    }
  }
  return true;
}

FieldsJson Parse(const std::string& text, const std::string& name) {
  if (!IsPlain(text)) {
    throw InputError(
        fmt::format("{}: nested deeper than {} levels, or an object of more than {} keys", name,
                    kDeepestNesting, kMostKeys));
  }
  return FieldsJson::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace

JsonReader::JsonReader(const std::string& text, const std::string& name)
    : JsonReader(Parse(text, name), name) {}

}  // namespace cacheinf
