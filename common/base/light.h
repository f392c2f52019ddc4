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

// A picture's light against a third one, from its light against another and that one's against the
// third.
Light Compose(const Light& light, const Light& of_other);

// The other picture's light against this one. REQUIRES: a gain other than 0.
Light Inverse(const Light& light);

// A picture's light against another, from the lights of both against a third: exactly the identity
// where these are equal and have no offset. REQUIRES: a gain of the other's that is not 0.
Light Relative(const Light& light, const Light& of_other);

// What each 8-bit level becomes.
using LevelTable = std::array<uint8_t, 256>;

// In the light, or with the light taken away: rounded to nearest, halves up, and clipped.
// REQUIRES: of the second a gain other than 0.
LevelTable LevelsIn(const Light& light);
LevelTable LevelsWithout(const Light& light);

// Looks up `count` levels; `to` may be `from`.
void Apply(const LevelTable& levels, const uint8_t* from, size_t count, uint8_t* to);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_LIGHT_H_
