#ifndef CACHEINF_COMMON_BASE_LIGHT_H_
#define CACHEINF_COMMON_BASE_LIGHT_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace cacheinf {

// How the brightness of one picture follows from another's: level = gain · other level + offset.
struct Light {
  double gain = 1.0;
  double offset = 0.0;

  bool IsIdentity() const { return gain == 1.0 && offset == 0.0; }

  bool operator==(const Light&) const = default;
};

// The light of picture A against C, from that of A against B (`light`) and of B against C
// (`of_other`).
Light Compose(const Light& light, const Light& of_other);

// The light of the other picture against this one. REQUIRES: the gain is not 0.
Light Inverse(const Light& light);

// The light of A against B, from those of A (`light`) and B (`of_other`) against C. Exactly the
// identity if both are equal and have no offset. REQUIRES: of_other.gain is not 0.
Light Relative(const Light& light, const Light& of_other);

// The new level for each 8-bit level.
using LevelTable = std::array<uint8_t, 256>;

// Applies the light, or removes it; rounds to nearest, halves up, and clips. REQUIRES:
// LevelsWithout gets a gain that is not 0.
LevelTable LevelsIn(const Light& light);
LevelTable LevelsWithout(const Light& light);

// Looks up `count` levels; `to` may be `from`.
void Apply(const LevelTable& levels, const uint8_t* from, size_t count, uint8_t* to);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_LIGHT_H_
