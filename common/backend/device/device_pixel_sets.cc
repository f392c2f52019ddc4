#include "common/backend/device/device_pixel_sets.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "sparse_ops/cuda/emulated/device.h"
#include "sparse_ops/cuda/real/device.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {
namespace {

using Kind = cuda::SetStep::Kind;

}  // namespace

template <class Device>
DevicePixelSets<Device>::DevicePixelSets(std::shared_ptr<DeviceStream<Device>> stream)
    : stream_(std::move(stream)),
      queue_(stream_),
      arena_(stream_->arena()),
      gate_(arena_, 1),
      counter_(arena_, 1) {}

// Before the first frame.

template <class Device>
PixelSet DevicePixelSets<Device>::Make(int height, int width, bool is_listed) {
  const PixelSet set = {static_cast<int>(entries_.size()), height, width};
  Entry& entry = entries_.emplace_back();
  entry.words = Buffer<uint64_t>(arena_, std::max<size_t>(MaskWords(height, width), 1));
  entry.mask = MaskView(entry.words.data(), height, width);
  stream_->device().Fill(stream_->After(entry.words.data(), entry.words.bytes()),
                         entry.words.data(), 0, entry.words.bytes());
  const auto pixels = static_cast<size_t>(height) * static_cast<size_t>(width);
  if (is_listed) entry.list = Buffer<int>(arena_, pixels + 1);
  MakeRoom(height, width);
  return set;
}

template <class Device>
void DevicePixelSets<Device>::MakeRoom(int height, int width) {
  most_rows_ = std::max(most_rows_, height);
  most_words_in_row_ = std::max(most_words_in_row_, MaskWordsPerRow(width));
  most_words_ = std::max(most_words_, MaskWords(height, width));
  most_pixels_ = std::max(most_pixels_, height * width);
  queue_.ReserveScratch(static_cast<size_t>(most_rows_) * static_cast<size_t>(most_words_in_row_));
  // A frame brings masks of what changed and what is forced, and rows.
  constexpr size_t kForRows = size_t{1} << 14;
  queue_.ReserveToBring(kForRows + 4 * most_words_ * sizeof(uint64_t));
  if (part_.size() < most_words_) part_ = Buffer<uint64_t>(arena_, most_words_);
  const size_t list_size = static_cast<size_t>(most_pixels_) + 1;
  if (list_.size() < list_size) list_ = Buffer<int>(arena_, list_size);
}

template <class Device>
template <typename T>
const T* DevicePixelSets<Device>::Upload(const std::vector<T>& values) {
  const size_t bytes = std::max<size_t>(values.size(), 1) * sizeof(T);
  Buffer<unsigned char>& memory = memory_.emplace_back(arena_, bytes);
  stream_->CopyToDevice(memory.data(), values.data(), values.size() * sizeof(T));
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
void DevicePixelSets<Device>::BeginFrame() {
  queue_.Flush();
  for (Entry& entry : entries_) entry.is_empty = entry.is_list_current = false;
  CountAfresh();
}

template <class Device>
void DevicePixelSets<Device>::CountAfresh() {
  Step step;
  step.kind = Kind::kCountAfresh;
  step.counter = counter_.data();
  queue_.Note(step);
  is_count_taken_ = false;
}

template <class Device>
void DevicePixelSets<Device>::NoteWithin(Step step, Range rows, Range columns) {
  const Range area[2] = {rows, columns};
  step.area = queue_.Bring(area, 2);
  queue_.Note(step);
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
  if (!entry.is_empty) queue_.Note(StepOf(Kind::kClear, set, set));
  entry.is_empty = true;
}

template <class Device>
void DevicePixelSets<Device>::Fill(PixelSet set) {
  NoteChange(set);
  queue_.Note(StepOf(Kind::kFill, set, set));
}

template <class Device>
void DevicePixelSets<Device>::Copy(PixelSet from, PixelSet to) {
  if (At(from).is_empty) return Clear(to);
  NoteChange(to);
  queue_.Note(StepOf(Kind::kCopy, from, to));
}

template <class Device>
void DevicePixelSets<Device>::Add(PixelSet some, PixelSet to) {
  if (At(some).is_empty) return;
  if (At(to).is_empty) return Copy(some, to);
  Change(to);
  queue_.Note(StepOf(Kind::kAdd, some, to));
}

template <class Device>
void DevicePixelSets<Device>::Remove(PixelSet some, PixelSet from) {
  if (At(some).is_empty || At(from).is_empty) return;
  Change(from);
  queue_.Note(StepOf(Kind::kRemove, some, from));
}

template <class Device>
void DevicePixelSets<Device>::Keep(PixelSet some, PixelSet of) {
  if (At(of).is_empty) return;
  if (At(some).is_empty) return Clear(of);
  Change(of);
  queue_.Note(StepOf(Kind::kKeep, some, of));
}

// Notes empty rows, too: in the next frame the same step may have some.

template <class Device>
void DevicePixelSets<Device>::FillRows(PixelSet set, Range rows) {
  NoteChange(set);
  NoteWithin(StepOf(Kind::kFillRectangle, set, set), rows, {0, set.width});
}

template <class Device>
void DevicePixelSets<Device>::FillRows(PixelSet set, std::span<const uint8_t> chosen) {
  NoteChange(set);
  Step step = StepOf(Kind::kFillChosenRows, set, set);
  step.chosen = queue_.Bring(chosen.data(), chosen.size());
  queue_.Note(step);
}

template <class Device>
void DevicePixelSets<Device>::ClearRows(PixelSet set, Range rows) {
  ClearRectangle(set, rows, {0, set.width});
}

template <class Device>
void DevicePixelSets<Device>::AddRows(PixelSet some, Range rows, PixelSet to) {
  if (At(some).is_empty) return;
  NoteChange(to);
  NoteWithin(StepOf(Kind::kAddRows, some, to), rows, {0, to.width});
}

template <class Device>
void DevicePixelSets<Device>::ClearRectangle(PixelSet set, Range rows, Range columns) {
  if (At(set).is_empty) return;
  Change(set);
  NoteWithin(StepOf(Kind::kClearRectangle, set, set), rows, columns);
}

template <class Device>
void DevicePixelSets<Device>::FillIfAny(PixelSet some, PixelSet to) {
  if (At(some).is_empty) return;
  NoteChange(to);
  queue_.Note(StepOf(Kind::kFillIfAny, some, to));
}

template <class Device>
void DevicePixelSets<Device>::AddThrough(PixelSet from, PixelSet to, const Sources& sources) {
  if (At(from).is_empty) return;
  NoteChange(to);
  Step step = StepOf(Kind::kAddThrough, from, to);
  step.row_sources = sources.rows;
  step.column_sources = sources.columns;
  queue_.Note(step);
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
  NoteWithin(StepOf(Kind::kShift, set, set), {rows, 0}, {columns, 0});
}

template <class Device>
void DevicePixelSets<Device>::Write(ConstMaskView mask, PixelSet set) {
  if (IsEmpty(mask)) return Clear(set);
  NoteChange(set);
  Step step = StepOf(Kind::kCopy, set, set);
  step.from.words = queue_.Bring(mask.words, mask.word_count());
  queue_.Note(step);
}

template <class Device>
void DevicePixelSets<Device>::AddWritten(ConstMaskView mask, Range rows, PixelSet set) {
  NoteChange(set);
  // Brings all of the set's rows, so that the step is the same wherever the mask's rows lie.
  written_.assign(this->mask(set).word_count(), 0);
  std::copy_n(mask.words, mask.word_count(),
              written_.begin() + static_cast<std::ptrdiff_t>(rows.begin) * mask.words_per_row);
  Step step = StepOf(Kind::kAdd, set, set);
  step.from.words = queue_.Bring(written_.data(), written_.size());
  queue_.Note(step);
}

template <class Device>
void DevicePixelSets<Device>::Read(PixelSet set, MaskView mask) const {
  if (At(set).is_empty) return ClearAll(mask);
  queue_.Flush();
  const size_t bytes = mask.word_count() * sizeof(uint64_t);
  const void* const words = stream_->Fetch(this->mask(set).words, bytes);
  stream_->Wait();
  std::memcpy(mask.words, words, bytes);
}

template <class Device>
void DevicePixelSets<Device>::Count(PixelSet set, int64_t weight) {
  if (At(set).is_empty || weight == 0) return;
  if (is_count_taken_) CountAfresh();
  Step step = StepOf(Kind::kCount, set, set);
  step.counter = counter_.data();
  step.weight = weight;
  queue_.Note(step);
}

template <class Device>
int64_t DevicePixelSets<Device>::TakeCount() {
  if (std::exchange(is_count_taken_, true)) return 0;
  queue_.Flush();
  const void* const fetched = stream_->Fetch(counter_.data(), sizeof(uint64_t));
  stream_->Wait();
  uint64_t count = 0;
  std::memcpy(&count, fetched, sizeof(count));
  return static_cast<int64_t>(count);
}

template <class Device>
cuda::Pixels DevicePixelSets<Device>::ListInto(ConstMaskView mask, const Buffer<int>& list) {
  Step step;
  step.kind = Kind::kList;
  step.from = mask;
  step.list = list.data();
  step.count = list.data() + list.size() - 1;
  queue_.Note(step);
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
cuda::Pixels DevicePixelSets<Device>::ListRows(PixelSet set, Range rows) {
  Step copy = StepOf(Kind::kCopy, set, set);
  copy.to.words = part_.data();
  queue_.Note(copy);
  copy.kind = Kind::kKeepRectangle;
  NoteWithin(copy, rows, {0, set.width});
  return ListInto(copy.to, list_);
}

template <class Device>
cuda::Pixels DevicePixelSets<Device>::AllIfAny(PixelSet set, int pixels) {
  Step step = StepOf(Kind::kCountIfAny, set, set);
  step.count = gate_.data();
  step.amount = pixels;
  queue_.Note(step);
  return {nullptr, gate_.data(), 0, pixels};
}

template class DevicePixelSets<cuda::EmulatedDevice>;
#ifdef CACHEINF_HAS_CUDA
template class DevicePixelSets<cuda::RealDevice>;
#endif

}  // namespace cacheinf
