#ifndef CACHEINF_COMMON_EXEC_HOST_PIXEL_SETS_H_
#define CACHEINF_COMMON_EXEC_HOST_PIXEL_SETS_H_

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/exec/backend.h"
#include "sparse_ops/active_pixels.h"
#include "sparse_ops/mask/lists.h"
#include "sparse_ops/mask/mask.h"
#include "sparse_ops/mask/propagation.h"

namespace cacheinf {

// Some of the pixels of a run.
struct ActivePart {
  ActivePixels pixels = Range{0, 0};
  const ChangeTest* test = nullptr;  // null: all are stored
};

// What a run works in. One state runs at a time, so all states of a model can share it.
struct PartsScratch {
  std::vector<RunList> lists;  // one per part
  int most_runs = 0;           // that each list has room for
  std::vector<uint8_t> changed;
};

// Pixel sets as bit masks in host memory.
class HostPixelSets final : public PixelSets {
 public:
  explicit HostPixelSets(
      std::shared_ptr<PartsScratch> parts_scratch = std::make_shared<PartsScratch>())
      : parts_scratch_(std::move(parts_scratch)) {}

  PixelSet Make(int height, int width, bool is_listed) override;
  PixelWay MakeWay(const Window& window) override;

  void BeginFrame() override { count_ = 0; }

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

  // The set's pixels. Through MaskToChange any may be written.
  ConstMaskView mask(PixelSet set) const { return At(set).mask.view(); }
  MaskView MaskToChange(PixelSet set);
  bool IsKnownEmpty(PixelSet set) const { return At(set).is_empty; }

  // Splits the pixels of a run into disjoint parts, valid until the next call, and counts them.
  std::span<const ActivePart> Parts(const PixelRunArgs& args);
  // Call it once all parts have run: removes what tests found unchanged from args.active.
  void FinishParts(const PixelRunArgs& args);

 private:
  struct Entry {
    Mask mask;
    bool is_empty = true;         // false: unknown
    std::optional<RunList> list;  // if it is listed
    bool is_list_current = false;
  };

  Entry& At(PixelSet set) { return entries_[static_cast<size_t>(set.id)]; }
  const Entry& At(PixelSet set) const { return entries_[static_cast<size_t>(set.id)]; }
  Entry& Change(PixelSet set);
  MaskView Scratch(PixelSet like) { return {scratch_.data(), like.height, like.width}; }
  void AddPart(ConstMaskView pixels, const ChangeTest* test);
  void AddThrough(PixelSet from, PixelSet to, const auto& derive);

  std::deque<Entry> entries_;
  std::vector<MaskPropagation> ways_;
  std::vector<uint64_t> scratch_;
  std::vector<uint64_t> rest_;

  static constexpr size_t kMostParts = 3;
  std::array<ActivePart, kMostParts> parts_;
  std::array<ChangeTest, kMostParts> tests_;
  std::shared_ptr<PartsScratch> parts_scratch_;
  size_t part_count_ = 0;
  size_t tested_count_ = 0;
  int64_t count_ = 0;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_HOST_PIXEL_SETS_H_
