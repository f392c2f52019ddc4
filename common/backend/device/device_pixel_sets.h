#ifndef CACHEINF_COMMON_BACKEND_DEVICE_DEVICE_PIXEL_SETS_H_
#define CACHEINF_COMMON_BACKEND_DEVICE_DEVICE_PIXEL_SETS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/backend/backend.h"
#include "common/backend/device/device_queue.h"
#include "sparse_ops/cuda/pixels.h"
#include "sparse_ops/cuda/set_program.h"
#include "sparse_ops/mask/axis_map.h"

namespace cacheinf {

// A state's pixel sets, as bit masks in a device's memory. They own the state's queue, which notes
// what is asked of them and launches it together, before the launches on the queue's recorder.
template <class Device>
class DevicePixelSets final : public PixelSets {
 public:
  explicit DevicePixelSets(std::shared_ptr<DeviceStream<Device>> stream);

  PixelSet Make(int height, int width, bool is_listed) override;
  PixelWay MakeWay(const Window& window) override;

  void BeginFrame() override;

  void Clear(PixelSet set) override;
  void Fill(PixelSet set) override;
  void Copy(PixelSet from, PixelSet to) override;
  void Add(PixelSet some, PixelSet to) override;
  void Remove(PixelSet some, PixelSet from) override;
  void Keep(PixelSet some, PixelSet of) override;
  void FillRows(PixelSet set, Range rows) override;
  void FillRows(PixelSet set, std::span<const uint8_t> chosen) override;
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

  // Lies in the device's memory.
  MaskView mask(PixelSet set) const { return entries_[static_cast<size_t>(set.id)].mask; }
  bool IsKnownEmpty(PixelSet set) const { return entries_[static_cast<size_t>(set.id)].is_empty; }

  // Call it after launching a kernel that may write to the set.
  void NoteChange(PixelSet set) { Change(set).is_empty = false; }

  DeviceQueue<Device>& queue() { return queue_; }

  // The set's pixels, listed on the device before the next kernel runs. Valid until the set changes
  // if it is a listed one, else until the next call.
  cuda::Pixels List(PixelSet set);
  // The set's pixels within the rows. Valid until the next call.
  cuda::Pixels ListRows(PixelSet set, Range rows);
  // The first `pixels` pixels if the set has any, else none.
  cuda::Pixels AllIfAny(PixelSet set, int pixels);

 private:
  using Step = cuda::SetStep;
  template <typename T>
  using Buffer = cuda::Buffer<cuda::Arena<Device>, T>;

  struct Entry {
    MaskView mask;
    bool is_empty = true;  // known to be; false: unknown
    Buffer<uint64_t> words;
    Buffer<int> list;  // of a listed set; its last number is how many pixels it has
    bool is_list_current = false;
  };

  struct Sources {
    cuda::AxisSources rows;
    cuda::AxisSources columns;
  };
  struct Way {
    Sources forward;
    Sources backward;
  };

  const Entry& At(PixelSet set) const { return entries_[static_cast<size_t>(set.id)]; }
  Entry& Change(PixelSet set);
  void CountAfresh();
  Step StepOf(Step::Kind kind, PixelSet from, PixelSet to) const;
  void NoteWithin(Step step, Range rows, Range columns);
  void AddThrough(PixelSet from, PixelSet to, const Sources& sources);
  cuda::Pixels ListInto(ConstMaskView mask, const Buffer<int>& list);
  cuda::AxisSources Upload(const AxisWindow& window, AxisMap::Direction direction);
  template <typename T>
  const T* Upload(const std::vector<T>& values);
  void MakeRoom(int height, int width);

  std::shared_ptr<DeviceStream<Device>> stream_;
  mutable DeviceQueue<Device> queue_;
  cuda::Arena<Device>& arena_;
  std::vector<Entry> entries_;
  std::vector<Way> ways_;
  std::vector<Buffer<unsigned char>> memory_;  // of ways
  int most_rows_ = 0;
  int most_words_in_row_ = 0;
  size_t most_words_ = 0;
  int most_pixels_ = 0;
  Buffer<uint64_t> part_;  // rows of a mask
  Buffer<int> list_;       // of sets without a list of their own
  Buffer<int> gate_;
  Buffer<uint64_t> counter_;
  bool is_count_taken_ = true;  // and nothing was counted since
  std::vector<uint64_t> written_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BACKEND_DEVICE_DEVICE_PIXEL_SETS_H_
