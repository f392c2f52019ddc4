#ifndef CACHEINF_COMMON_EXEC_PIXEL_SETS_H_
#define CACHEINF_COMMON_EXEC_PIXEL_SETS_H_

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
// backend's runs, maybe later: only Read, TakeCount and a backend's calls that give the host
// numbers wait. All sets and ways are made before the first frame; after that nothing allocates.
//
// Operands of one call have the same size unless it says otherwise; an output may be an operand.
class PixelSets {
 public:
  virtual ~PixelSets() = default;

  // Empty. The runs of one that is listed are found once and serve several operators.
  virtual PixelSet Make(int height, int width, bool is_listed = false) = 0;
  virtual PixelWay MakeWay(const Window& window) = 0;

  // Counting begins again from 0. What a frame asks for should depend on how it goes, not on what
  // the frames before left behind: then a device knows it again.
  virtual void BeginFrame() = 0;

  virtual void Clear(PixelSet set) = 0;
  virtual void Fill(PixelSet set) = 0;
  virtual void Copy(PixelSet from, PixelSet to) = 0;
  virtual void Add(PixelSet some, PixelSet to) = 0;
  virtual void Remove(PixelSet some, PixelSet from) = 0;
  virtual void Keep(PixelSet some, PixelSet of) = 0;  // the intersection

  // The same for some rows only; all others stay. Rows may reach outside.
  virtual void FillRows(PixelSet set, Range rows) = 0;
  virtual void FillRows(PixelSet set, std::span<const uint8_t> chosen) = 0;  // one a row; 0: not
  virtual void ClearRows(PixelSet set, Range rows) = 0;
  virtual void AddRows(PixelSet some, Range rows, PixelSet to) = 0;
  virtual void ClearRectangle(PixelSet set, Range rows, Range columns) = 0;

  // Fills `to`, of any size, if there is any pixel in `some`.
  virtual void FillIfAny(PixelSet some, PixelSet to) = 0;

  // Adds the output pixels that read a pixel of `input`, or the input pixels that a pixel of
  // `output` reads.
  virtual void AddReaders(PixelWay way, PixelSet input, PixelSet output) = 0;
  virtual void AddRead(PixelWay way, PixelSet output, PixelSet input) = 0;

  // Adds what lies at least in part over a pixel of `from`, at another resolution.
  virtual void AddRescaled(PixelSet from, PixelSet to) = 0;
  // Grows by that many pixels in each direction.
  virtual void Grow(PixelSet set, int pixels) = 0;
  // Pixel (y, x) is in the set if (y + rows, x + columns) was; what comes in from outside is not.
  virtual void Shift(PixelSet set, int rows, int columns) = 0;

  // From the host's memory, and back.
  virtual void Write(ConstMaskView mask, PixelSet set) = 0;
  virtual void AddWritten(ConstMaskView mask, Range rows, PixelSet set) = 0;
  virtual void Read(PixelSet set, MaskView mask) const = 0;

  // Adds the number of pixels, `weight` times, to what TakeCount returns; it begins again from 0.
  virtual void Count(PixelSet set, int64_t weight) = 0;
  virtual int64_t TakeCount() = 0;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_PIXEL_SETS_H_
