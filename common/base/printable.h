#ifndef CACHEINF_COMMON_BASE_PRINTABLE_H_
#define CACHEINF_COMMON_BASE_PRINTABLE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace cacheinf {

// Escapes bytes that could mislead a terminal or a log, as \xNN.
inline std::string Escaped(std::string_view text, auto is_harmless) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string escaped;
  for (const char c : text) {
    if (is_harmless(c)) {
      escaped += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      escaped += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return escaped;
}

// Text from elsewhere, made safe for people: only ASCII, and no more than `most` bytes of the text.
inline std::string Printable(std::string_view text, size_t most = 200) {
  return Escaped(text.substr(0, most), [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_PRINTABLE_H_
