#ifndef CACHEINF_COMMON_BASE_NUMBER_TEXT_H_
#define CACHEINF_COMMON_BASE_NUMBER_TEXT_H_

#include <charconv>
#include <optional>
#include <string_view>

namespace cacheinf {

// The number that the whole text spells, whatever the locale; nothing if it is no number.
template <typename Number>
std::optional<Number> NumberIn(std::string_view text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_NUMBER_TEXT_H_
