#ifndef CACHEINF_TESTS_BENCH_MASK_SHAPES_H_
#define CACHEINF_TESTS_BENCH_MASK_SHAPES_H_

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sparse_ops/mask/mask.h"
#include "tests/bench/layers.h"

namespace cacheinf {

// A mask of a convolution's input, and the share of output pixels that can change with it.
struct LayerMask {
  Mask input;
  double share = 0.0;
};

// Kinds of masks: what changed in a picture, at any resolution.
class MaskShapes {
 public:
  // Includes masks of real videos, if the folder exists.
  explicit MaskShapes(const std::filesystem::path& video_folder);

  // "1 blob", "8 blobs", "64 blobs" and, where there are videos, "video".
  const std::vector<std::string>& kinds() const { return kinds_; }

  // The mask closest to a share of the layer's output; nothing if none is within a quarter of it.
  std::optional<LayerMask> Find(const std::string& kind, double share, const Layer& layer) const;

 private:
  std::vector<std::string> kinds_;
  std::vector<Mask> video_masks_;  // 480 × 640
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_MASK_SHAPES_H_
