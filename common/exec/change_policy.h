#ifndef CACHEINF_COMMON_EXEC_CHANGE_POLICY_H_
#define CACHEINF_COMMON_EXEC_CHANGE_POLICY_H_

#include <cstdint>
#include <memory>
#include <vector>

namespace cacheinf {

// For every value of a graph one number per channel: 1 / σ, where σ is the spread of that channel's
// numbers over a picture. Empty for values that are not maps.
using InverseSpreads = std::vector<std::vector<float>>;

// How far a change of the input travels through a network.
struct ChangePolicy {
  enum class Kind : uint8_t {
    // A pixel can change only if a pixel of its window did, and did not if its bits are those of
    // before. The answer has the bits of a dense run.
    kExact,
    // As above, but a change that is not greater than `threshold` is none, and the old value stays
    // (ChangeTest of sparse_ops/active_pixels.h): what is stored is within the threshold of what
    // the stored inputs give, but for the small changes that a refresh has stored among those
    // since.
    kChange,
    // The same pixels in every map of a resolution: the changed ones of the input, grown by
    // `growth` pixels of that resolution. Changes do not travel further, so errors do not end.
    kFixed,
  };
  Kind kind = Kind::kExact;

  float threshold = 0.0f;                                   // kChange; kFixed with a stem
  std::shared_ptr<const InverseSpreads> spreads = nullptr;  // with a threshold above 0

  int growth = 1;  // kFixed

  // The stem: all operators that come before the convolution of this number, counted from 0. It
  // follows every change exactly; its outputs decide, by the threshold, what a change is, under
  // kFixed as well. So no later operator sees edges between old and new pixels.
  int stem_depth = 0;

  // Whether two sides may share a frame by rows. With both, all maps take the pixels that come out
  // of the stem changed, of which each side knows its own rows only.
  bool can_split() const { return kind != Kind::kFixed || stem_depth == 0; }
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_CHANGE_POLICY_H_
