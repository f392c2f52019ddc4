#ifndef CACHEINF_TESTS_SPARSE_OPS_ACTIVE_SET_H_
#define CACHEINF_TESTS_SPARSE_OPS_ACTIVE_SET_H_

#include <random>
#include <vector>

#include "sparse_ops/active_pixels.h"

namespace cacheinf {

// Some pixels of a map, with the lists that ActivePixels refers to.
class ActiveSet {
 public:
  enum class Shape { kNone, kAll, kScattered, kBlobs, kRows };
  static constexpr Shape kShapes[] = {Shape::kNone, Shape::kAll, Shape::kScattered, Shape::kBlobs,
                                      Shape::kRows};

  // Random pixels within `rows` of a map of this size.
  ActiveSet(Shape shape, int height, int width, Range rows, std::mt19937& random);

  ActivePixels pixels() const {
    return {rows_, runs_.data(), before_.data(), static_cast<int>(runs_.size())};
  }
  const std::vector<PixelRun>& runs() const { return runs_; }
  int count() const { return before_.back(); }

 private:
  Range rows_;
  std::vector<PixelRun> runs_;
  std::vector<int> before_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SPARSE_OPS_ACTIVE_SET_H_
