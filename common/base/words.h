#ifndef CACHEINF_COMMON_BASE_WORDS_H_
#define CACHEINF_COMMON_BASE_WORDS_H_

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace cacheinf {

// One table of words for each enum that people or files read, beside the enum:
//   constexpr std::array<const char*, N> WordsOf(Enum)
// names its values 0, 1, … in order. Configuration, logs, JSON and benches take them from there.

template <size_t kCount>
using Words = std::array<const char*, kCount>;

template <typename Enum>
requires requires(Enum value) { WordsOf(value); }
constexpr const char* NameOf(Enum value) { return WordsOf(value)[static_cast<size_t>(value)]; }

// Nothing if the word names no value.
template <typename Enum>
constexpr std::optional<Enum> ValueOf(std::string_view word) {
  constexpr auto kWords = WordsOf(Enum());
  for (size_t i = 0; i < kWords.size(); ++i) {
    if (word == kWords[i]) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_WORDS_H_
