#ifndef CACHEINF_COMMON_EXEC_CHANGE_POLICY_H_
#define CACHEINF_COMMON_EXEC_CHANGE_POLICY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "common/model/graph/graph.h"
#include "sparse_ops/active_pixels.h"
#include "sparse_ops/eight_bits.h"

namespace cacheinf {

// One number per channel for every value of a graph: 1 / σ, where σ is the spread of that channel's
// numbers over a picture. Empty for values that are not maps. An 8-bit map has one number per byte,
// spare bytes included, in steps and scaled by √(bytes ÷ channels), so that a test's mean over all
// bytes is the mean over channels. Spare bytes never change, so their numbers do not matter.
using InverseSpreads = std::vector<std::vector<float>>;

inline PixelNumbers NumbersOf(const Value& map) {
  if (!map.is_eight_bit()) return PixelNumbers::kFloats;
  return map.steps.is_signed ? PixelNumbers::kSignedBytes : PixelNumbers::kUnsignedBytes;
}
inline int64_t SpreadCount(const Value& map) {
  return map.shape[1] * (map.is_eight_bit() ? kBytesOfWord : 1);
}

// How far a change of the input travels through a network.
struct ChangePolicy {
  enum class Kind : uint8_t {
    // A pixel can change only if a pixel in its window did, and has not changed if its bits have
    // not. The answer has the bits of a dense run.
    kExact,
    // The same, but a change of at most `threshold` is none, and the old value stays (ChangeTest of
    // sparse_ops/active_pixels.h). What is stored is within the threshold of what the stored inputs
    // give, except for small changes that a refresh has since stored in those inputs.
    kChange,
    // All maps of a resolution compute the same pixels: the changed ones of the input, grown by
    // `growth` pixels of that resolution. Changes travel no further, so errors stay.
    kFixed,
  };
  Kind kind = Kind::kExact;

  float threshold = 0.0f;                                   // for kChange, and kFixed with a stem
  std::shared_ptr<const InverseSpreads> spreads = nullptr;  // if threshold is above 0

  int growth = 1;  // kFixed

  // The stem is all operators before the convolution with this number, counted from 0. It follows
  // every change exactly; then the threshold on its outputs decides what a change is, under kFixed
  // too. So no later operator sees edges between old and new pixels.
  int stem_depth = 0;

  // Whether two sides may share a frame by rows. Under kFixed with a stem, all maps compute the
  // pixels in which the stem's output changed, and each side knows these only in its own rows.
  bool can_split() const { return kind != Kind::kFixed || stem_depth == 0; }

  bool operator==(const ChangePolicy&) const = default;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_CHANGE_POLICY_H_
