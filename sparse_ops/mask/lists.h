#ifndef CACHEINF_SPARSE_OPS_MASK_LISTS_H_
#define CACHEINF_SPARSE_OPS_MASK_LISTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sparse_ops/active_pixels.h"
#include "sparse_ops/views.h"

// Lists the active pixels of a mask for kernels to work through, ordered by row and column. Only
// the constructor of RunList allocates.

namespace cacheinf {

// Runs of neighbouring pixels; owns its memory.
class RunList {
 public:
  // The most runs that a mask can have.
  static constexpr int MaxRuns(int height, int width) { return height * ((width + 1) / 2); }

  // Room for `capacity` runs.
  explicit RunList(int capacity)
      : runs_(static_cast<size_t>(capacity)), before_(static_cast<size_t>(capacity) + 1) {}

  // Lists the active pixels of some rows, which lie within the mask.
  // REQUIRES: MaxRuns(rows.size(), mask.width) <= capacity.
  void Assign(ConstMaskView mask, Range rows);

  int run_count() const { return run_count_; }
  int pixel_count() const { return before_[static_cast<size_t>(run_count_)]; }

  // The runs of the last Assign; valid until the next.
  ActivePixels pixels() const { return {rows_, runs_.data(), before_.data(), run_count_}; }

 private:
  std::vector<PixelRun> runs_;
  std::vector<int> before_;
  Range rows_;
  int run_count_ = 0;
};

// Clears the pixels that a ChangeTest left unchanged; keeps all others.
// REQUIRES: sparse pixels within the mask; changed[i], 0 or 1, belongs to pixel i.
void ClearUnchanged(const ActivePixels& pixels, const uint8_t* changed, MaskView mask);

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_MASK_LISTS_H_
