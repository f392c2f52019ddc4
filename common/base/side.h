#ifndef CACHEINF_COMMON_BASE_SIDE_H_
#define CACHEINF_COMMON_BASE_SIDE_H_

#include <array>
#include <cstdint>

#include "common/base/words.h"

namespace cacheinf {

// The two sides that share the work.
enum class Side : uint8_t { kRobot, kServer };
constexpr Words<2> WordsOf(Side) { return {"robot", "server"}; }

inline constexpr std::array kSides = {Side::kRobot, Side::kServer};

constexpr Side PeerOf(Side side) { return side == Side::kRobot ? Side::kServer : Side::kRobot; }

// One value for each of them.
template <typename T>
struct BySide {
  T robot = {};
  T server = {};

  constexpr T& operator[](Side side) { return side == Side::kRobot ? robot : server; }
  constexpr const T& operator[](Side side) const { return side == Side::kRobot ? robot : server; }
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_SIDE_H_
