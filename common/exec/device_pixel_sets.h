#ifndef CACHEINF_COMMON_EXEC_DEVICE_PIXEL_SETS_H_
#define CACHEINF_COMMON_EXEC_DEVICE_PIXEL_SETS_H_

#include <cstdint>
#include <vector>

#include "common/exec/backend.h"
#include "sparse_ops/cuda/device.h"
#include "sparse_ops/cuda/pixels.h"
#include "sparse_ops/cuda/set_program.h"
#include "sparse_ops/mask/axis_map.h"

namespace cacheinf {

// Pixel sets as bit masks in a device's memory. What is asked of them is noted down and launched
// together, before anything else is that goes through Launch().
template <class Device>
class DevicePixelSets final : public PixelSets {
 public:
  DevicePixelSets(Device& device, typename Device::Stream& stream);

  PixelSet Make(int height, int width, bool is_listed) override;
  PixelWay MakeWay(const Window& window) override;

  void Clear(PixelSet set) override;
  void Fill(PixelSet set) override;
  void Copy(PixelSet from, PixelSet to) override;
  void Add(PixelSet some, PixelSet to) override;
  void Remove(PixelSet some, PixelSet from) override;
  void Keep(PixelSet some, PixelSet of) override;
  void FillRows(PixelSet set, Range rows) override;
  void ClearRows(PixelSet set, Range rows) override;
  void AddRows(PixelSet some, Range rows, PixelSet to) override;
  void ClearRectangle(PixelSet set, Range rows, Range columns) override;
  void FillIfAny(PixelSet some, PixelSet to) override;
  void AddReaders(PixelWay way, PixelSet input, PixelSet output) override;
  void AddRead(PixelWay way, PixelSet output, PixelSet input) override;
  void AddRescaled(PixelSet from, PixelSet to) override;
  void Grow(PixelSet set, int pixels) override;
  void Shift(PixelSet set, int rows, int columns) override;
  void Write(ConstMaskView mask, PixelSet set) override;
  void AddWritten(ConstMaskView mask, Range rows, PixelSet set) override;
  void Read(PixelSet set, MaskView mask) const override;
  void Count(PixelSet set, int64_t weight) override;
  int64_t TakeCount() override;

  // In the device's memory.
  MaskView mask(PixelSet set) const { return entries_[static_cast<size_t>(set.id)].mask; }
  bool IsKnownEmpty(PixelSet set) const { return entries_[static_cast<size_t>(set.id)].is_empty; }

  // A kernel may have written to it.
  void NoteChange(PixelSet set) { Change(set).is_empty = false; }

  // The set's pixels, listed on the device by the time that the next kernel is launched; until the
  // set changes if it is a listed one, else until the next call.
  cuda::Pixels List(PixelSet set);
  // The same, of those within the rectangle.
  cuda::Pixels ListWithin(PixelSet set, Range rows, Range columns);
  // So many pixels, the first ones, if there is any in the set; else none.
  cuda::Pixels AllIfAny(PixelSet set, int pixels);

  // Launches what was noted down.
  void Launch() const;

 private:
  using Step = cuda::SetStep;

  struct Entry {
    MaskView mask;
    bool is_empty = true;            // false: it may be
    cuda::Buffer<Device, int> list;  // of one that is listed; how many they are is its last number
    bool is_list_current = false;
  };

  // The sources of one direction of a way.
  struct Sources {
    cuda::AxisSources rows;
    cuda::AxisSources columns;
  };
  struct Way {
    Sources forward;
    Sources backward;
  };

  template <typename T>
  using Buffer = cuda::Buffer<Device, T>;

  const Entry& At(PixelSet set) const { return entries_[static_cast<size_t>(set.id)]; }
  Entry& Change(PixelSet set);
  void Note(const Step& step) const;
  Step StepOf(Step::Kind kind, PixelSet from, PixelSet to) const;
  void AddThrough(PixelSet from, PixelSet to, const Sources& sources);
  cuda::Pixels ListInto(ConstMaskView mask, const Buffer<int>& list);
  cuda::AxisSources Upload(const AxisWindow& window, AxisMap::Direction direction);
  template <typename T>
  const T* Upload(const std::vector<T>& values);
  void CopyIn(ConstMaskView mask, uint64_t* words);
  void MakeRoom(int height, int width);

  Device& device_;
  typename Device::Stream& stream_;
  std::vector<Entry> entries_;
  std::vector<Way> ways_;
  std::vector<Buffer<unsigned char>> memory_;  // of masks and ways
  int most_rows_ = 0;
  int most_words_in_row_ = 0;
  size_t most_words_ = 0;
  int most_pixels_ = 0;
  Buffer<uint64_t> scratch_;
  Buffer<uint64_t> part_;  // of a mask, or one from the host
  Buffer<int> list_;       // of sets that have none of their own
  Buffer<int> gate_;
  Buffer<uint64_t> counter_;
  mutable cuda::SetProgram program_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_DEVICE_PIXEL_SETS_H_
