#ifndef CACHEINF_SPARSE_OPS_MASK_LISTS_H_
#define CACHEINF_SPARSE_OPS_MASK_LISTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sparse_ops/active_pixels.h"
#include "sparse_ops/mask/mask.h"

// The active pixels of a mask as the lists that kernels work through, and the way back. All lists
// are ordered by row and column. Nothing allocates but the constructor of RunList.

namespace cacheinf {

// Runs of neighbouring pixels, in memory of its own.
class RunList {
 public:
  // The most runs that a mask can have.
  static constexpr int MaxRuns(int height, int width) { return height * ((width + 1) / 2); }

  // Room for so many runs.
  explicit RunList(int capacity)
      : runs_(static_cast<size_t>(capacity)), before_(static_cast<size_t>(capacity) + 1) {}

  // Lists the active pixels of some rows, which lie within the mask.
  // REQUIRES: MaxRuns(rows.size(), mask.width) <= capacity.
  void Assign(ConstMaskView mask, Range rows);

  int run_count() const { return run_count_; }
  int pixel_count() const { return before_[static_cast<size_t>(run_count_)]; }

  // Those of the last Assign; valid until the next.
  ActivePixels pixels() const { return {rows_, runs_.data(), before_.data(), run_count_}; }

 private:
  std::vector<PixelRun> runs_;
  std::vector<int> before_;
  Range rows_;
  int run_count_ = 0;
};

// Writes row * width + column of every active pixel of some rows; returns how many.
// REQUIRES: rows within the mask, and room for all of them.
int ListPixels(ConstMaskView mask, Range rows, int32_t* pixels);

// A tile that holds at least one active pixel.
struct ActiveTile {
  int32_t row = 0;  // of its first pixel, a multiple of the tile's size; columns likewise
  int32_t column = 0;
  // Bit dy * tile_width + dx: whether its pixel (dy, dx) is active. 0 for tiles of more than 16.
  uint16_t pattern = 0;
};

// The most tiles that rows of a mask can touch.
constexpr int MaxTiles(Range rows, int width, int tile_height, int tile_width) {
  return rows.empty() ? 0
                      : ((rows.end - 1) / tile_height - rows.begin / tile_height + 1) *
                            ((width + tile_width - 1) / tile_width);
}

// Lists the tiles of tile_height × tile_width pixels, of a grid from the mask's pixel (0, 0) on,
// whatever the rows, that hold an active pixel of `rows`; returns how many. A pattern has only the
// pixels of `rows`. REQUIRES: rows within the mask, and room for all of them.
int ListTiles(ConstMaskView mask, Range rows, int tile_height, int tile_width, ActiveTile* tiles);

// Sets the pixels; all others stay. REQUIRES: pixels within the mask.
void SetPixels(const ActivePixels& pixels, MaskView mask);

// Clears the pixels that a ChangeTest left as they were; all others stay.
// REQUIRES: sparse pixels within the mask; changed[i], 0 or 1, is that of pixel i.
void ClearUnchanged(const ActivePixels& pixels, const uint8_t* changed, MaskView mask);

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_MASK_LISTS_H_
