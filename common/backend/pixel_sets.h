#ifndef CACHEINF_COMMON_BACKEND_PIXEL_SETS_H_
#define CACHEINF_COMMON_BACKEND_PIXEL_SETS_H_

#include <cstdint>
#include <span>

#include "common/model/graph/geometry.h"
#include "sparse_ops/views.h"

namespace cacheinf {

// A set of pixels of one map. Only the backend that holds it can look inside.
struct PixelSet {
  int id = -1;
  int height = 0;
  int width = 0;

  bool exists() const { return id >= 0; }
};

// How the pixels of a map depend on those of another. `id` -1: pixel on pixel.
struct PixelWay {
  int id = -1;
};
bool IsPixelOnPixel(const Window& window);

// The sets of one state, in a backend's memory. Calls take effect in order, together with the
// backend's runs, but maybe later: only Read, TakeCount and backend calls that give the host
// numbers wait. All sets and ways are made before the first frame; after that nothing allocates.
//
// Operands of one call have the same size unless it says otherwise; an output may be an operand.
class PixelSets {
 public:
  virtual ~PixelSets() = default;

  // Makes an empty set. The runs of a listed set are found once and serve several operators.
  virtual PixelSet Make(int height, int width, bool is_listed = false) = 0;
  virtual PixelWay MakeWay(const Window& window) = 0;

  // Resets the count to 0. A frame's calls should depend on the frame, not on what earlier frames
  // left behind, so that a device recognises them.
  virtual void BeginFrame() = 0;

  virtual void Clear(PixelSet set) = 0;
  virtual void Fill(PixelSet set) = 0;
  virtual void Copy(PixelSet from, PixelSet to) = 0;
  virtual void Add(PixelSet some, PixelSet to) = 0;
  virtual void Remove(PixelSet some, PixelSet from) = 0;
  virtual void Keep(PixelSet some, PixelSet of) = 0;  // the intersection

  // The same for some rows only; all others stay. Rows may reach beyond the map.
  virtual void FillRows(PixelSet set, Range rows) = 0;
  virtual void FillRows(PixelSet set, std::span<const uint8_t> chosen) = 0;  // one per row; 0: no
  virtual void ClearRows(PixelSet set, Range rows) = 0;
  virtual void AddRows(PixelSet some, Range rows, PixelSet to) = 0;
  virtual void ClearRectangle(PixelSet set, Range rows, Range columns) = 0;

  // Fills `to`, of any size, if `some` has any pixel.
  virtual void FillIfAny(PixelSet some, PixelSet to) = 0;

  // Adds the output pixels that read a pixel of `input`, or the input pixels that a pixel of
  // `output` reads.
  virtual void AddReaders(PixelWay way, PixelSet input, PixelSet output) = 0;
  virtual void AddRead(PixelWay way, PixelSet output, PixelSet input) = 0;

  // Adds pixels that lie at least partly over a pixel of `from`, at another resolution.
  virtual void AddRescaled(PixelSet from, PixelSet to) = 0;
  // Grows by that many pixels in each direction.
  virtual void Grow(PixelSet set, int pixels) = 0;
  // Afterwards pixel (y, x) is in the set if (y + rows, x + columns) was; what comes in is not.
  virtual void Shift(PixelSet set, int rows, int columns) = 0;

  // Copy from host memory, and back.
  virtual void Write(ConstMaskView mask, PixelSet set) = 0;
  virtual void AddWritten(ConstMaskView mask, Range rows, PixelSet set) = 0;
  virtual void Read(PixelSet set, MaskView mask) const = 0;

  // Adds `weight` times the number of pixels to the count. TakeCount returns it and resets it to 0.
  virtual void Count(PixelSet set, int64_t weight) = 0;
  virtual int64_t TakeCount() = 0;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BACKEND_PIXEL_SETS_H_
