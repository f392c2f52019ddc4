#include "common/exec/device_pixel_sets.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "sparse_ops/cuda/emulated/device.h"
#include "sparse_ops/cuda/real/device.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {
namespace {

using Kind = cuda::SetStep::Kind;

}  // namespace

template <class Device>
DevicePixelSets<Device>::DevicePixelSets(Device& device, typename Device::Stream& stream)
    : device_(device), stream_(stream), gate_(device, 1), counter_(device, 1) {
  device_.Fill(stream_, counter_.data(), 0, counter_.bytes());
}

// Before the first frame.

template <class Device>
PixelSet DevicePixelSets<Device>::Make(int height, int width, bool is_listed) {
  const PixelSet set = {static_cast<int>(entries_.size()), height, width};
  const size_t bytes = std::max<size_t>(MaskWords(height, width), 1) * sizeof(uint64_t);
  Buffer<unsigned char>& memory = memory_.emplace_back(device_, bytes);
  device_.Fill(stream_, memory.data(), 0, bytes);
  Entry& entry = entries_.emplace_back();
  entry.mask = MaskView(reinterpret_cast<uint64_t*>(memory.data()), height, width);
  const auto pixels = static_cast<size_t>(height) * static_cast<size_t>(width);
  if (is_listed) entry.list = Buffer<int>(device_, pixels + 1);
  MakeRoom(height, width);
  return set;
}

template <class Device>
void DevicePixelSets<Device>::MakeRoom(int height, int width) {
  most_rows_ = std::max(most_rows_, height);
  most_words_in_row_ = std::max(most_words_in_row_, MaskWordsPerRow(width));
  most_words_ = std::max(most_words_, MaskWords(height, width));
  most_pixels_ = std::max(most_pixels_, height * width);
  const auto scratch_words =
      static_cast<size_t>(most_rows_) * static_cast<size_t>(most_words_in_row_);
  if (scratch_.size() < scratch_words) scratch_ = Buffer<uint64_t>(device_, scratch_words);
  if (part_.size() < most_words_) part_ = Buffer<uint64_t>(device_, most_words_);
  const size_t list_size = static_cast<size_t>(most_pixels_) + 1;
  if (list_.size() < list_size) list_ = Buffer<int>(device_, list_size);
  program_.scratch = scratch_.data();
}

template <class Device>
template <typename T>
const T* DevicePixelSets<Device>::Upload(const std::vector<T>& values) {
  const size_t bytes = std::max<size_t>(values.size(), 1) * sizeof(T);
  Buffer<unsigned char>& memory = memory_.emplace_back(device_, bytes);
  device_.CopyToDevice(stream_, memory.data(), values.data(), values.size() * sizeof(T));
  device_.Synchronize(stream_);
  return reinterpret_cast<const T*>(memory.data());
}

template <class Device>
cuda::AxisSources DevicePixelSets<Device>::Upload(const AxisWindow& window,
                                                  AxisMap::Direction direction) {
  const AxisMap map(window, direction);
  std::vector<int> first = {0};
  std::vector<Range> ranges;
  for (int i = 0; i < map.group_count(); ++i) {
    const AxisMap::Group group = map.group(i);
    for (int index = group.indices.begin; index < group.indices.end; ++index) {
      ranges.insert(ranges.end(), group.sources, group.sources + group.source_count);
      first.push_back(static_cast<int>(ranges.size()));
    }
  }
  cuda::AxisSources sources;
  sources.from_size = map.from_size();
  sources.size = map.size();
  sources.first = Upload(first);
  sources.ranges = Upload(ranges);
  return sources;
}

template <class Device>
PixelWay DevicePixelSets<Device>::MakeWay(const Window& window) {
  if (IsPixelOnPixel(window)) return {};
  constexpr auto kForward = AxisMap::Direction::kForward;
  constexpr auto kBackward = AxisMap::Direction::kBackward;
  ways_.push_back({{Upload(window.rows, kForward), Upload(window.columns, kForward)},
                   {Upload(window.rows, kBackward), Upload(window.columns, kBackward)}});
  return {static_cast<int>(ways_.size()) - 1};
}

// In a frame.

template <class Device>
typename DevicePixelSets<Device>::Entry& DevicePixelSets<Device>::Change(PixelSet set) {
  Entry& entry = entries_[static_cast<size_t>(set.id)];
  entry.is_list_current = false;
  return entry;
}

template <class Device>
void DevicePixelSets<Device>::Note(const Step& step) const {
  if (program_.count == cuda::SetProgram::kMostSteps) Launch();
  program_.steps[program_.count++] = step;
}

template <class Device>
void DevicePixelSets<Device>::Launch() const {
  if (program_.count == 0) return;
  device_.Launch(stream_, {}, program_, cuda::SetProgram::kSharedBytes);
  program_.count = 0;
}

template <class Device>
cuda::SetStep DevicePixelSets<Device>::StepOf(Kind kind, PixelSet from, PixelSet to) const {
  Step step;
  step.kind = kind;
  step.from = mask(from);
  step.to = mask(to);
  return step;
}

template <class Device>
void DevicePixelSets<Device>::Clear(PixelSet set) {
  Entry& entry = Change(set);
  if (!entry.is_empty) Note(StepOf(Kind::kClear, set, set));
  entry.is_empty = true;
}

template <class Device>
void DevicePixelSets<Device>::Fill(PixelSet set) {
  NoteChange(set);
  Note(StepOf(Kind::kFill, set, set));
}

template <class Device>
void DevicePixelSets<Device>::Copy(PixelSet from, PixelSet to) {
  if (At(from).is_empty) return Clear(to);
  NoteChange(to);
  Note(StepOf(Kind::kCopy, from, to));
}

template <class Device>
void DevicePixelSets<Device>::Add(PixelSet some, PixelSet to) {
  if (At(some).is_empty) return;
  if (At(to).is_empty) return Copy(some, to);
  Change(to);
  Note(StepOf(Kind::kAdd, some, to));
}

template <class Device>
void DevicePixelSets<Device>::Remove(PixelSet some, PixelSet from) {
  if (At(some).is_empty || At(from).is_empty) return;
  Change(from);
  Note(StepOf(Kind::kRemove, some, from));
}

template <class Device>
void DevicePixelSets<Device>::Keep(PixelSet some, PixelSet of) {
  if (At(of).is_empty) return;
  if (At(some).is_empty) return Clear(of);
  Change(of);
  Note(StepOf(Kind::kKeep, some, of));
}

template <class Device>
void DevicePixelSets<Device>::FillRows(PixelSet set, Range rows) {
  if (rows.empty()) return;
  NoteChange(set);
  Step step = StepOf(Kind::kFillRectangle, set, set);
  step.rows = rows;
  step.columns = {0, set.width};
  Note(step);
}

template <class Device>
void DevicePixelSets<Device>::ClearRows(PixelSet set, Range rows) {
  ClearRectangle(set, rows, {0, set.width});
}

template <class Device>
void DevicePixelSets<Device>::AddRows(PixelSet some, Range rows, PixelSet to) {
  if (At(some).is_empty || rows.empty()) return;
  NoteChange(to);
  Step step = StepOf(Kind::kAddRows, some, to);
  step.rows = rows;
  Note(step);
}

template <class Device>
void DevicePixelSets<Device>::ClearRectangle(PixelSet set, Range rows, Range columns) {
  if (At(set).is_empty || rows.empty() || columns.empty()) return;
  Change(set);
  Step step = StepOf(Kind::kClearRectangle, set, set);
  step.rows = rows;
  step.columns = columns;
  Note(step);
}

template <class Device>
void DevicePixelSets<Device>::FillIfAny(PixelSet some, PixelSet to) {
  if (At(some).is_empty) return;
  NoteChange(to);
  Note(StepOf(Kind::kFillIfAny, some, to));
}

template <class Device>
void DevicePixelSets<Device>::AddThrough(PixelSet from, PixelSet to, const Sources& sources) {
  if (At(from).is_empty) return;
  NoteChange(to);
  Step step = StepOf(Kind::kAddThrough, from, to);
  step.row_sources = sources.rows;
  step.column_sources = sources.columns;
  Note(step);
}

template <class Device>
void DevicePixelSets<Device>::AddReaders(PixelWay way, PixelSet input, PixelSet output) {
  if (way.id < 0) return Add(input, output);
  AddThrough(input, output, ways_[static_cast<size_t>(way.id)].forward);
}

template <class Device>
void DevicePixelSets<Device>::AddRead(PixelWay way, PixelSet output, PixelSet input) {
  if (way.id < 0) return Add(output, input);
  AddThrough(output, input, ways_[static_cast<size_t>(way.id)].backward);
}

template <class Device>
void DevicePixelSets<Device>::AddRescaled(PixelSet from, PixelSet to) {
  using SourcesKind = cuda::AxisSources::Kind;
  AddThrough(
      from, to,
      {{SourcesKind::kOver, from.height, to.height}, {SourcesKind::kOver, from.width, to.width}});
}

template <class Device>
void DevicePixelSets<Device>::Grow(PixelSet set, int pixels) {
  if (pixels == 0) return;
  using SourcesKind = cuda::AxisSources::Kind;
  AddThrough(set, set,
             {{SourcesKind::kAround, set.height, set.height, pixels},
              {SourcesKind::kAround, set.width, set.width, pixels}});
}

template <class Device>
void DevicePixelSets<Device>::Shift(PixelSet set, int rows, int columns) {
  if (At(set).is_empty) return;
  Change(set);
  Step step = StepOf(Kind::kShift, set, set);
  step.rows.begin = rows;
  step.columns.begin = columns;
  Note(step);
}

template <class Device>
void DevicePixelSets<Device>::CopyIn(ConstMaskView mask, uint64_t* words) {
  Launch();
  device_.CopyToDevice(stream_, words, mask.words, mask.word_count() * sizeof(uint64_t));
  // The host's mask is anybody's after this.
  device_.Synchronize(stream_);
}

template <class Device>
void DevicePixelSets<Device>::Write(ConstMaskView mask, PixelSet set) {
  if (IsEmpty(mask)) return Clear(set);
  NoteChange(set);
  CopyIn(mask, this->mask(set).words);
}

template <class Device>
void DevicePixelSets<Device>::AddWritten(ConstMaskView mask, Range rows, PixelSet set) {
  if (rows.empty() || IsEmpty(mask)) return;
  NoteChange(set);
  CopyIn(mask, part_.data());
  Step step = StepOf(Kind::kAdd, set, set);
  step.to = CutRows(step.to, rows);
  step.from = MaskView(part_.data(), rows.size(), set.width);
  Note(step);
}

template <class Device>
void DevicePixelSets<Device>::Read(PixelSet set, MaskView mask) const {
  if (At(set).is_empty) return ClearAll(mask);
  Launch();
  device_.CopyToHost(stream_, mask.words, this->mask(set).words,
                     mask.word_count() * sizeof(uint64_t));
  device_.Synchronize(stream_);
}

template <class Device>
void DevicePixelSets<Device>::Count(PixelSet set, int64_t weight) {
  if (At(set).is_empty || weight == 0) return;
  Step step = StepOf(Kind::kCount, set, set);
  step.counter = counter_.data();
  step.weight = weight;
  Note(step);
}

template <class Device>
int64_t DevicePixelSets<Device>::TakeCount() {
  Launch();
  uint64_t count = 0;
  device_.CopyToHost(stream_, &count, counter_.data(), sizeof(count));
  device_.Fill(stream_, counter_.data(), 0, sizeof(count));
  device_.Synchronize(stream_);
  return static_cast<int64_t>(count);
}

template <class Device>
cuda::Pixels DevicePixelSets<Device>::ListInto(ConstMaskView mask, const Buffer<int>& list) {
  Step step;
  step.kind = Kind::kList;
  step.from = mask;
  step.list = list.data();
  step.count = list.data() + list.size() - 1;
  Note(step);
  return {step.list, step.count, 0, static_cast<int>(mask.pixel_count())};
}

template <class Device>
cuda::Pixels DevicePixelSets<Device>::List(PixelSet set) {
  Entry& entry = entries_[static_cast<size_t>(set.id)];
  if (entry.list.size() == 0) return ListInto(entry.mask, list_);
  if (!std::exchange(entry.is_list_current, true)) return ListInto(entry.mask, entry.list);
  return {entry.list.data(), entry.list.data() + entry.list.size() - 1, 0,
          static_cast<int>(entry.mask.pixel_count())};
}

template <class Device>
cuda::Pixels DevicePixelSets<Device>::ListWithin(PixelSet set, Range rows, Range columns) {
  const MaskView part(part_.data(), set.height, set.width);
  Step copy = StepOf(Kind::kCopy, set, set);
  copy.to = part;
  Note(copy);
  Step keep = copy;
  keep.kind = Kind::kKeepRectangle;
  keep.rows = rows;
  keep.columns = columns;
  Note(keep);
  return ListInto(part, list_);
}

template <class Device>
cuda::Pixels DevicePixelSets<Device>::AllIfAny(PixelSet set, int pixels) {
  Step step = StepOf(Kind::kCountIfAny, set, set);
  step.count = gate_.data();
  step.amount = pixels;
  Note(step);
  return {nullptr, gate_.data(), 0, pixels};
}

template class DevicePixelSets<cuda::EmulatedDevice>;
#ifdef CACHEINF_HAS_CUDA
template class DevicePixelSets<cuda::RealDevice>;
#endif

}  // namespace cacheinf
