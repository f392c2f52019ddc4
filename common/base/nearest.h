#ifndef CACHEINF_COMMON_BASE_NEAREST_H_
#define CACHEINF_COMMON_BASE_NEAREST_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cacheinf {

// The insertions, deletions, replacements and swaps of neighbours from one word to the other.
size_t EditDistance(std::string_view a, std::string_view b);

// Returns `; did you mean "threads"?` if a known word is close enough, or if the unknown one
// continues after a "_"; else nothing.
std::string DidYouMean(std::string_view unknown, std::span<const std::string> known);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_NEAREST_H_
