#include "common/base/light.h"

#include <algorithm>
#include <cmath>

namespace cacheinf {
namespace {

LevelTable TableOf(const auto& level_of) {
  LevelTable table;
  for (size_t level = 0; level < table.size(); ++level) {
    const double exact = level_of(static_cast<double>(level));
    table[level] = static_cast<uint8_t>(std::clamp(std::floor(exact + 0.5), 0.0, 255.0));
  }
  return table;
}

}  // namespace

Light Compose(const Light& light, const Light& of_other) {
  return {light.gain * of_other.gain, light.gain * of_other.offset + light.offset};
}

Light Inverse(const Light& light) { return {1 / light.gain, -light.offset / light.gain}; }

Light Relative(const Light& light, const Light& of_other) {
  const double gain = light.gain / of_other.gain;
  return {gain, light.offset - gain * of_other.offset};
}

LevelTable LevelsIn(const Light& light) {
  return TableOf([&](double level) { return light.gain * level + light.offset; });
}

LevelTable LevelsWithout(const Light& light) {
  return TableOf([&](double level) { return (level - light.offset) / light.gain; });
}

void Apply(const LevelTable& levels, const uint8_t* from, size_t count, uint8_t* to) {
  std::transform(from, from + count, to, [&levels](uint8_t level) { return levels[level]; });
}

}  // namespace cacheinf
