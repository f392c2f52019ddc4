#include "sparse_ops/mask/axis_map.h"

#include <algorithm>
#include <numeric>

#include "sparse_ops/mask/bits.h"

namespace cacheinf {
namespace {

void Append(int index, std::vector<Range>& ranges) {
  if (!ranges.empty() && ranges.back().end == index) {
    ++ranges.back().end;
  } else {
    ranges.push_back({index, index + 1});
  }
}

}  // namespace

AxisMap::AxisMap(const AxisWindow& window, Direction direction)
    : from_size_(direction == Direction::kForward ? window.in_size : window.out_size),
      size_(direction == Direction::kForward ? window.out_size : window.in_size) {
  const std::vector<Sources> sources = ListSources(window, direction);
  GroupIndices(sources);
  stencil_ = Trimmed(StencilOf(window, direction, sources), from_size_, size_);
  FindExceptions(sources);
  is_identity_ = from_size_ == size_;
  for (int i = 0; i < size_; ++i) {
    is_identity_ &= sources[static_cast<size_t>(i)] == Sources{{i, i + 1}};
  }
  if (stencil_.spread > 1) {
    spread_words_ = bits::WordsFor(int64_t{from_size_ - 1} * stencil_.spread + 1);
  }
  if (stencil_.count > 1 || stencil_.pick > 1) {
    window_words_ = bits::WordsFor(int64_t{size_ - 1} * stencil_.pick + 1 +
                                   int64_t{stencil_.count - 1} * stencil_.step);
  }
}

std::vector<AxisMap::Sources> AxisMap::ListSources(const AxisWindow& window, Direction direction) {
  const bool is_forward = direction == Direction::kForward;
  std::vector<Sources> sources(static_cast<size_t>(is_forward ? window.out_size : window.in_size));
  for (int out = 0; out < window.out_size; ++out) {
    const Range needed = window.Needed({out, out + 1});
    for (int in = needed.begin; in < needed.end; ++in) {
      if (!window.Reads(out, in)) continue;
      if (is_forward) {
        Append(in, sources[static_cast<size_t>(out)]);
      } else {
        Append(out, sources[static_cast<size_t>(in)]);
      }
    }
  }
  return sources;
}

void AxisMap::GroupIndices(const std::vector<Sources>& sources) {
  for (int i = 0; i < size_; ++i) {
    const Sources& own = sources[static_cast<size_t>(i)];
    if (i > 0 && own == sources[static_cast<size_t>(i) - 1]) {
      ++groups_.back().indices.end;
      continue;
    }
    groups_.push_back({{i, i + 1}, static_cast<int>(ranges_.size()), static_cast<int>(own.size())});
    ranges_.insert(ranges_.end(), own.begin(), own.end());
  }
}

AxisMap::Stencil AxisMap::StencilOf(const AxisWindow& window, Direction direction,
                                    const std::vector<Sources>& sources) {
  const WindowAxis& taps = window.window;
  const bool is_forward = direction == Direction::kForward;
  switch (window.kind) {
    case AxisWindow::Kind::kSliding:
    case AxisWindow::Kind::kTransposed: {
      if (window.tile > 1) break;  // a few groups, one per tile of outputs
      // Backward, a sliding window is a transposed one.
      const bool slides = (window.kind == AxisWindow::Kind::kSliding) == is_forward;
      if (slides) return {1, taps.stride, -int64_t{taps.pad_begin}, taps.kernel, taps.dilation};
      const int64_t first = taps.pad_begin - int64_t{taps.kernel - 1} * taps.dilation;
      return {taps.stride, 1, first, taps.kernel, taps.dilation};
    }
    case AxisWindow::Kind::kReflect:
    case AxisWindow::Kind::kEdge:
      return {1, 1, is_forward ? -int64_t{taps.pad_begin} : taps.pad_begin, 1, 1};
    case AxisWindow::Kind::kResize:
      return FitStencil(is_forward ? window.in_size : window.out_size, sources);
    case AxisWindow::Kind::kBroadcast:
    case AxisWindow::Kind::kWhole:
      break;
  }
  return {};
}

// If one size is a multiple of the other, all indices away from the border look alike.
AxisMap::Stencil AxisMap::FitStencil(int from_size, const std::vector<Sources>& sources) {
  const int size = static_cast<int>(sources.size());
  if (size % from_size != 0 && from_size % size != 0) return {};
  Stencil stencil;
  stencil.spread = std::max(size / from_size, 1);
  stencil.pick = std::max(from_size / size, 1);
  std::vector<int64_t> offsets;
  const int middle = size / 2;
  for (int i = middle; i < std::min(middle + stencil.spread, size); ++i) {
    for (const Range& range : sources[static_cast<size_t>(i)]) {
      for (int source = range.begin; source < range.end; ++source) {
        offsets.push_back(int64_t{source} * stencil.spread - int64_t{i} * stencil.pick);
      }
    }
  }
  if (offsets.empty()) return {};
  const auto [first, last] = std::minmax_element(offsets.begin(), offsets.end());
  int64_t step = 0;
  for (const int64_t offset : offsets) step = std::gcd(step, offset - *first);
  stencil.first = *first;
  stencil.step = static_cast<int>(std::max<int64_t>(step, 1));
  stencil.count = static_cast<int>((*last - *first) / stencil.step) + 1;
  return stencil;
}

// Drops the taps that lie outside for every index.
AxisMap::Stencil AxisMap::Trimmed(Stencil stencil, int from_size, int size) {
  const int64_t lowest = -int64_t{size - 1} * stencil.pick;
  const int64_t highest = int64_t{from_size - 1} * stencil.spread;
  if (stencil.count == 0 || stencil.first > highest) return {};
  if (stencil.first < lowest) {
    const int64_t skipped = (lowest - stencil.first + stencil.step - 1) / stencil.step;
    if (skipped >= stencil.count) return {};
    stencil.first += skipped * stencil.step;
    stencil.count -= static_cast<int>(skipped);
  }
  if (stencil.first > highest) return {};
  const int64_t room = (highest - stencil.first) / stencil.step + 1;
  stencil.count = static_cast<int>(std::min<int64_t>(stencil.count, room));
  return stencil;
}

AxisMap::Sources AxisMap::SourcesOf(const Stencil& stencil, int index, int from_size) {
  Sources sources;
  for (int k = 0; k < stencil.count; ++k) {
    const int64_t at = int64_t{index} * stencil.pick + stencil.first + int64_t{k} * stencil.step;
    if (at < 0 || at % stencil.spread != 0 || at / stencil.spread >= from_size) continue;
    Append(static_cast<int>(at / stencil.spread), sources);
  }
  return sources;
}

void AxisMap::FindExceptions(const std::vector<Sources>& sources) {
  int wrong = 0;
  for (const StoredGroup& group : groups_) {
    for (int i = group.indices.begin; i < group.indices.end; ++i) {
      if (SourcesOf(stencil_, i, from_size_) == sources[static_cast<size_t>(i)]) continue;
      ++wrong;
      const bool follows =
          !exceptions_.empty() && exceptions_.back().indices.end == i && i > group.indices.begin;
      if (follows) {
        ++exceptions_.back().indices.end;
      } else {
        exceptions_.push_back({{i, i + 1}, group.first_source, group.source_count});
      }
    }
  }
  if (stencil_.count == 0 || wrong <= size_ / 2) return;
  // Too many exceptions: the stencil does not pay.
  stencil_ = {};
  exceptions_.clear();
  FindExceptions(sources);
}

void AxisMap::Apply(const uint64_t* from, uint64_t* to, uint64_t* scratch) const {
  const int words = bits::WordsFor(size_);
  int from_words = bits::WordsFor(from_size_);
  if (stencil_.spread > 1) {
    bits::Spread(from, from_words, stencil_.spread, scratch, spread_words_);
  }
  const uint64_t* spread = stencil_.spread > 1 ? scratch : from;
  const int spread_words = stencil_.spread > 1 ? spread_words_ : from_words;
  if (stencil_.count == 0) {
    std::fill(to, to + words, 0);
  } else if (window_words_ == 0) {
    bits::Shift(spread, spread_words, stencil_.first, to, words);
  } else {
    uint64_t* window = scratch + spread_words_;
    bits::Shift(spread, spread_words, stencil_.first, window, window_words_);
    bits::OrManyFromAbove(window, window_words_, stencil_.count, stencil_.step);
    if (stencil_.pick > 1) {
      bits::Pick(window, window_words_, stencil_.pick, to, words);
    } else {
      std::copy_n(window, words, to);
    }
  }
  to[words - 1] &= bits::LowBits((size_ - 1) % bits::kWordBits + 1);
  for (const StoredGroup& group : exceptions_) {
    const Range* first = ranges_.data() + group.first_source;
    const bool is_set = std::any_of(first, first + group.source_count, [from](Range range) {
      return bits::AnyInRange(from, range.begin, range.end);
    });
    if (is_set) {
      bits::SetRange(to, group.indices.begin, group.indices.end);
    } else {
      bits::ClearRange(to, group.indices.begin, group.indices.end);
    }
  }
}

}  // namespace cacheinf
