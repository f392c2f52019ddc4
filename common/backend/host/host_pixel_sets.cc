#include "common/backend/host/host_pixel_sets.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "sparse_ops/mask/bits.h"

namespace cacheinf {
namespace {

Range Within(Range rows, int height) {
  return {std::clamp(rows.begin, 0, height), std::clamp(rows.end, 0, height)};
}

}  // namespace

PixelSet HostPixelSets::Make(int height, int width, bool is_listed) {
  const PixelSet set = {static_cast<int>(entries_.size()), height, width};
  Entry& entry = entries_.emplace_back();
  entry.mask = Mask(height, width);
  const int most_runs = RunList::MaxRuns(height, width);
  if (is_listed) entry.list.emplace(most_runs);
  scratch_.resize(std::max(scratch_.size(), MaskWords(height, width)));
  rest_.resize(scratch_.size());
  const auto pixels = static_cast<size_t>(height) * static_cast<size_t>(width);
  PartsScratch& parts = *parts_scratch_;
  parts.changed.resize(std::max(parts.changed.size(), pixels));
  if (most_runs > parts.most_runs) {
    parts.most_runs = most_runs;
    parts.lists.assign(kMostParts, RunList(most_runs));
  }
  return set;
}

PixelWay HostPixelSets::MakeWay(const Window& window) {
  if (IsPixelOnPixel(window)) return {};
  ways_.emplace_back(window.rows, window.columns);
  return {static_cast<int>(ways_.size()) - 1};
}

HostPixelSets::Entry& HostPixelSets::Change(PixelSet set) {
  Entry& entry = At(set);
  entry.is_list_current = false;
  return entry;
}

MaskView HostPixelSets::MaskToChange(PixelSet set) {
  Entry& entry = Change(set);
  entry.is_empty = false;
  return entry.mask;
}

void HostPixelSets::Clear(PixelSet set) {
  Entry& entry = Change(set);
  if (!entry.is_empty) ClearAll(entry.mask);
  entry.is_empty = true;
}

void HostPixelSets::Fill(PixelSet set) { SetAll(MaskToChange(set)); }

void HostPixelSets::Copy(PixelSet from, PixelSet to) {
  if (At(from).is_empty) return Clear(to);
  cacheinf::Copy(mask(from), MaskToChange(to));
}

void HostPixelSets::Add(PixelSet some, PixelSet to) {
  if (At(some).is_empty) return;
  if (At(to).is_empty) return Copy(some, to);
  const MaskView all = MaskToChange(to);
  Unite(all, mask(some), all);
}

void HostPixelSets::Remove(PixelSet some, PixelSet from) {
  if (At(some).is_empty || At(from).is_empty) return;
  Entry& entry = Change(from);
  Subtract(std::as_const(entry.mask), mask(some), entry.mask);
  entry.is_empty = IsEmpty(std::as_const(entry.mask));
}

void HostPixelSets::Keep(PixelSet some, PixelSet of) {
  if (At(of).is_empty) return;
  if (At(some).is_empty) return Clear(of);
  Entry& entry = Change(of);
  Intersect(std::as_const(entry.mask), mask(some), entry.mask);
  entry.is_empty = IsEmpty(std::as_const(entry.mask));
}

void HostPixelSets::FillRows(PixelSet set, Range rows) {
  if (!rows.empty()) SetRectangle(rows, {0, set.width}, MaskToChange(set));
}

void HostPixelSets::FillRows(PixelSet set, std::span<const uint8_t> chosen) {
  for (int y = 0; y < set.height; ++y) {
    if (chosen[static_cast<size_t>(y)] != 0) FillRows(set, {y, y + 1});
  }
}

void HostPixelSets::ClearRows(PixelSet set, Range rows) {
  ClearRectangle(set, rows, {0, set.width});
}

void HostPixelSets::AddRows(PixelSet some, Range rows, PixelSet to) {
  rows = Within(rows, some.height);
  if (At(some).is_empty || rows.empty()) return;
  const MaskView added = CutRows(MaskToChange(to), rows);
  Unite(added, CutRows(mask(some), rows), added);
}

void HostPixelSets::ClearRectangle(PixelSet set, Range rows, Range columns) {
  Entry& entry = At(set);
  if (entry.is_empty) return;
  entry.is_list_current = false;
  cacheinf::ClearRectangle(rows, columns, entry.mask);
  entry.is_empty = IsEmpty(std::as_const(entry.mask));
}

void HostPixelSets::FillIfAny(PixelSet some, PixelSet to) {
  if (!At(some).is_empty && !IsEmpty(mask(some))) Fill(to);
}

// Unites `to` with what derive(from, mask) writes.
void HostPixelSets::AddThrough(PixelSet from, PixelSet to, const auto& derive) {
  if (At(from).is_empty) return;
  const bool was_empty = At(to).is_empty;
  const MaskView all = MaskToChange(to);
  if (was_empty) return derive(mask(from), all);
  const MaskView added = Scratch(to);
  derive(mask(from), added);
  Unite(all, added, all);
}

void HostPixelSets::AddReaders(PixelWay way, PixelSet input, PixelSet output) {
  if (way.id < 0) return Add(input, output);
  MaskPropagation& propagation = ways_[static_cast<size_t>(way.id)];
  AddThrough(input, output,
             [&](ConstMaskView from, MaskView to) { propagation.GrowThrough(from, to); });
}

void HostPixelSets::AddRead(PixelWay way, PixelSet output, PixelSet input) {
  if (way.id < 0) return Add(output, input);
  MaskPropagation& propagation = ways_[static_cast<size_t>(way.id)];
  AddThrough(output, input,
             [&](ConstMaskView from, MaskView to) { propagation.NeededThrough(from, to); });
}

void HostPixelSets::AddRescaled(PixelSet from, PixelSet to) {
  AddThrough(from, to, [](ConstMaskView some, MaskView all) { Rescale(some, all); });
}

void HostPixelSets::Grow(PixelSet set, int pixels) {
  if (At(set).is_empty || pixels == 0) return;
  const MaskView grown = Scratch(set);
  cacheinf::Grow(mask(set), Reach::Of(pixels), grown);
  cacheinf::Copy(grown, MaskToChange(set));
}

void HostPixelSets::Shift(PixelSet set, int rows, int columns) {
  Entry& entry = Change(set);
  if (entry.is_empty) return;
  const ConstMaskView from = std::as_const(entry.mask);
  const MaskView to = Scratch(set);
  ClearAll(to);
  const Range kept = Within({-rows, set.height - rows}, set.height);
  for (int y = kept.begin; y < kept.end; ++y) {
    // Column x gets what column x + columns held.
    bits::Shift(from.Row(y + rows), from.words_per_row, columns, to.Row(y), to.words_per_row);
    // Bits past the width stay zero.
    bits::ClearRange(to.Row(y), set.width, 64 * to.words_per_row);
  }
  cacheinf::Copy(to, entry.mask);
}

void HostPixelSets::Write(ConstMaskView mask, PixelSet set) {
  Entry& entry = Change(set);
  cacheinf::Copy(mask, entry.mask);
  entry.is_empty = IsEmpty(mask);
}

void HostPixelSets::AddWritten(ConstMaskView mask, Range rows, PixelSet set) {
  if (rows.empty() || IsEmpty(mask)) return;
  const MaskView added = CutRows(MaskToChange(set), rows);
  Unite(added, mask, added);
}

void HostPixelSets::Read(PixelSet set, MaskView mask) const { cacheinf::Copy(At(set).mask, mask); }

void HostPixelSets::Count(PixelSet set, int64_t weight) {
  if (!At(set).is_empty) count_ += weight * CountActive(mask(set));
}

int64_t HostPixelSets::TakeCount() { return std::exchange(count_, 0); }

void HostPixelSets::AddPart(ConstMaskView pixels, const ChangeTest* test) {
  if (IsEmpty(pixels)) return;
  RunList& list = parts_scratch_->lists[part_count_];
  list.Assign(pixels, {0, pixels.height});
  ActivePart& part = parts_[part_count_];
  part = {list.pixels(), nullptr};
  if (test != nullptr) {
    tests_[part_count_] = *test;
    tests_[part_count_].changed = parts_scratch_->changed.data() + tested_count_;
    tested_count_ += static_cast<size_t>(list.pixel_count());
    part.test = &tests_[part_count_];
  }
  ++part_count_;
}

std::span<const ActivePart> HostPixelSets::Parts(const PixelRunArgs& args) {
  part_count_ = 0;
  tested_count_ = 0;
  Entry& active = At(args.active);
  if (active.is_empty) return {};
  const bool has_untested = args.untested.exists() && !At(args.untested).is_empty;
  if (active.list && !args.has_test) {
    if (!active.is_list_current) {
      active.list->Assign(std::as_const(active.mask), {0, args.active.height});
      active.is_list_current = true;
    }
    if (active.list->run_count() > 0) parts_[part_count_++] = {active.list->pixels(), nullptr};
  } else if (!args.has_test) {
    AddPart(mask(args.active), nullptr);
  } else {
    ChangeTest test;
    test.threshold = args.threshold;
    test.inverse_spread = args.inverse_spread;
    test.numbers = args.numbers;
    const MaskView rest(rest_.data(), args.active.height, args.active.width);
    cacheinf::Copy(mask(args.active), rest);
    const MaskView some = Scratch(args.active);
    if (has_untested) {
      Intersect(rest, mask(args.untested), some);
      AddPart(some, nullptr);
      Subtract(rest, some, rest);
    }
    if (args.forced.exists() && !At(args.forced).is_empty && args.threshold > 0.0f) {
      Intersect(rest, mask(args.forced), some);
      ChangeTest stored = test;
      stored.stores_all = true;
      AddPart(some, &stored);
      Subtract(rest, some, rest);
    }
    AddPart(rest, &test);
  }
  for (size_t i = 0; i < part_count_; ++i) {
    const ActivePixels& pixels = parts_[i].pixels;
    count_ += args.weight * pixels.pixels_before[pixels.run_count];
  }
  if (part_count_ == 0) active.is_empty = true;
  return {parts_.data(), part_count_};
}

void HostPixelSets::FinishParts(const PixelRunArgs& args) {
  if (tested_count_ == 0) return;
  Entry& active = Change(args.active);
  for (size_t i = 0; i < part_count_; ++i) {
    if (parts_[i].test == nullptr) continue;
    ClearUnchanged(parts_[i].pixels, parts_[i].test->changed, active.mask);
  }
  active.is_empty = IsEmpty(std::as_const(active.mask));
}

}  // namespace cacheinf
