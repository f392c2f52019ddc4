#include "common/base/python_literal.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>

namespace cacheinf {
namespace {

constexpr size_t kLongestLiteral = size_t{1} << 22;
constexpr int kMostLevels = 16;

void AppendUtf8(uint32_t code, std::string* text) {
  const auto append = [text](uint32_t byte) { *text += static_cast<char>(byte); };
  if (code < 0x80) return append(code);
  if (code < 0x800) {
    append(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      append(0xe0 | code >> 12);
    } else {
      append(0xf0 | code >> 18);
      append(0x80 | (code >> 12 & 0x3f));
    }
    append(0x80 | (code >> 6 & 0x3f));
  }
  append(0x80 | (code & 0x3f));
}

// Every Read returns false, and leaves any value in its result, if the text is not what it reads.
class LiteralParser {
 public:
  explicit LiteralParser(std::string_view text) : rest_(text) {}

  bool ReadAll(PythonLiteral* literal) {
    if (!Read(literal, 0)) return false;
    SkipSpace();
    return rest_.empty();
  }

 private:
  void SkipSpace() {
    const size_t count = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(count == std::string_view::npos ? rest_.size() : count);
  }

  // Skips space, then takes `character` if it comes next.
  bool Take(char character) {
    SkipSpace();
    if (!rest_.starts_with(character)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool Read(PythonLiteral* literal, int depth) {
    SkipSpace();
    if (rest_.empty()) return false;
    switch (rest_.front()) {
      case '{':
        return depth < kMostLevels && ReadDict(&literal->value.emplace<Entries>(), depth + 1);
      case '[':
      case '(':
        return depth < kMostLevels && ReadSequence(literal, depth + 1);
      case '\'':
      case '"':
        return ReadText(&literal->value.emplace<std::string>());
      default:
        return ReadWord(literal) || ReadNumber(literal);
    }
  }

  bool ReadDict(PythonLiteral::Entries* entries, int depth) {
    rest_.remove_prefix(1);
    while (!Take('}')) {
      PythonLiteral::Entry& entry = entries->emplace_back();
      if (!Read(&entry.key, depth) || !Take(':') || !Read(&entry.value, depth)) return false;
      if (!Take(',')) return Take('}');
    }
    return true;
  }

  // A list or a tuple; parentheses without a comma mean just their content.
  bool ReadSequence(PythonLiteral* literal, int depth) {
    const char end = rest_.front() == '[' ? ']' : ')';
    rest_.remove_prefix(1);
    Items items;
    bool has_comma = false;
    while (!Take(end)) {
      if (!Read(&items.emplace_back(), depth)) return false;
      if (Take(',')) {
        has_comma = true;
      } else if (Take(end)) {
        break;
      } else {
        return false;
      }
    }
    if (end == ')' && items.size() == 1 && !has_comma) {
      PythonLiteral only = std::move(items.front());
      *literal = std::move(only);
    } else {
      literal->value = std::move(items);
    }
    return true;
  }

  bool ReadText(std::string* text) {
    const char quote = rest_.front();
    rest_.remove_prefix(1);
    while (!rest_.empty()) {
      const char character = rest_.front();
      rest_.remove_prefix(1);
      if (character == quote) return true;
      if (character == '\n') return false;
      if (character != '\\') {
        *text += character;
      } else if (!ReadEscape(text)) {
        return false;
      }
    }
    return false;
  }

  bool ReadEscape(std::string* text) {
    if (rest_.empty()) return false;
    const char kind = rest_.front();
    rest_.remove_prefix(1);
    switch (kind) {
      case '\\':
      case '\'':
      case '"':
        *text += kind;
        return true;
      case 'n':
        *text += '\n';
        return true;
      case 'r':
        *text += '\r';
        return true;
      case 't':
        *text += '\t';
        return true;
      case 'x':
        return ReadCharacter(2, text);
      case 'u':
        return ReadCharacter(4, text);
      case 'U':
        return ReadCharacter(8, text);
      default:
        return false;
    }
  }

  bool ReadCharacter(size_t digits, std::string* text) {
    if (rest_.size() < digits) return false;
    uint32_t code = 0;
    const char* const end = rest_.data() + digits;
    const std::from_chars_result read = std::from_chars(rest_.data(), end, code, 16);
    const bool is_surrogate = code >= 0xd800 && code < 0xe000;
    if (read.ec != std::errc() || read.ptr != end || is_surrogate || code > 0x10ffff) return false;
    rest_.remove_prefix(digits);
    AppendUtf8(code, text);
    return true;
  }

  bool ReadWord(PythonLiteral* literal) {
    const auto take = [this](std::string_view word) {
      if (!rest_.starts_with(word)) return false;
      rest_.remove_prefix(word.size());
      return true;
    };
    if (take("True")) {
      literal->value = true;
    } else if (take("False")) {
      literal->value = false;
    } else if (take("None")) {
      literal->value = std::monostate();
    } else {
      return false;
    }
    return true;
  }

  bool ReadNumber(PythonLiteral* literal) {
    const size_t length = std::min(rest_.find_first_not_of("0123456789+-.eE"), rest_.size());
    std::string_view digits = rest_.substr(0, length);
    rest_.remove_prefix(length);
    const bool has_sign = digits.starts_with('+') || digits.starts_with('-');
    const std::string_view unsigned_digits = digits.substr(has_sign ? 1 : 0);
    const bool has_signs = unsigned_digits.starts_with('+') || unsigned_digits.starts_with('-');
    if (unsigned_digits.empty() || has_signs) return false;
    if (digits.starts_with('+')) digits = unsigned_digits;
    if (unsigned_digits.find_first_of(".eE") != std::string_view::npos) {
      return ReadDigits(digits, &literal->value.emplace<double>());
    }
    const bool has_leading_zero = unsigned_digits.front() == '0' && unsigned_digits.size() > 1;
    return !has_leading_zero && ReadDigits(digits, &literal->value.emplace<int64_t>());
  }

  template <typename Number>
  static bool ReadDigits(std::string_view digits, Number* number) {
    const char* const end = digits.data() + digits.size();
    const std::from_chars_result read = std::from_chars(digits.data(), end, *number);
    return read.ec == std::errc() && read.ptr == end;
  }

  using Items = PythonLiteral::Items;
  using Entries = PythonLiteral::Entries;

  std::string_view rest_;
};

}  // namespace

std::optional<PythonLiteral> ParsePythonLiteral(std::string_view text) {
  PythonLiteral literal;
  if (text.size() > kLongestLiteral || !LiteralParser(text).ReadAll(&literal)) return std::nullopt;
  return literal;
}

}  // namespace cacheinf
