#ifndef CACHEINF_SPARSE_OPS_CUDA_SET_PROGRAM_INL_H_
#define CACHEINF_SPARSE_OPS_CUDA_SET_PROGRAM_INL_H_

#include "sparse_ops/cuda/lanes.h"
#include "sparse_ops/cuda/numbers.h"
#include "sparse_ops/cuda/set_program.h"

namespace cacheinf::cuda {
namespace set_steps {

constexpr int kWordBits = 64;

CACHEINF_HOST_DEVICE inline int Least(int a, int b) { return a < b ? a : b; }
CACHEINF_HOST_DEVICE inline int Most(int a, int b) { return a > b ? a : b; }

// The lowest `count` bits, 0 to 64 of them.
CACHEINF_HOST_DEVICE inline uint64_t LowBits(int count) {
  return count >= kWordBits ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

// The bits of word `word` of a row that lie in `columns`.
CACHEINF_HOST_DEVICE inline uint64_t BitsOf(Range columns, int word) {
  const int first = word * kWordBits;
  const int begin = Most(columns.begin - first, 0);
  const int end = Least(columns.end - first, kWordBits);
  return end > begin ? LowBits(end) & ~LowBits(begin) : 0;
}

// Word `word` of a row; 0 outside the row.
template <class Thread>
CACHEINF_KERNEL uint64_t WordAt(const Thread& thread, const uint64_t* row, int words, int word) {
  return word >= 0 && word < words ? thread.Load(row + word) : 0;
}

template <class Thread>
CACHEINF_KERNEL bool AnyInRange(const Thread& thread, const uint64_t* row, Range range) {
  const int last = (range.end - 1) / kWordBits;
  for (int word = range.begin / kWordBits; word <= last; ++word) {
    if ((thread.Load(row + word) & BitsOf(range, word)) != 0) return true;
  }
  return false;
}

// Calls visit(Range) for an index's sources until it returns false.
template <class Thread, typename Visit>
CACHEINF_KERNEL void ForEachSource(const Thread& thread, const AxisSources& sources, int index,
                                   const Visit& visit) {
  switch (sources.kind) {
    case AxisSources::Kind::kTable: {
      const int end = thread.Load(sources.first + index + 1);
      for (int i = thread.Load(sources.first + index); i < end; ++i) {
        const Range* range = sources.ranges + i;
        if (!visit(Range{thread.Load(&range->begin), thread.Load(&range->end)})) return;
      }
      return;
    }
    case AxisSources::Kind::kOver: {
      const int64_t from = sources.from_size;
      const int64_t size = sources.size;
      visit(Range{static_cast<int>(index * from / size),
                  static_cast<int>(((index + 1) * from + size - 1) / size)});
      return;
    }
    case AxisSources::Kind::kAround:
      visit(Range{Most(index - sources.reach, 0),
                  Least(index + sources.reach + 1, sources.from_size)});
      return;
  }
}

// Calls visit(index) for the thread's share of `words`.
template <class Thread, typename Visit>
CACHEINF_KERNEL void ForOwnWords(const Thread& thread, int words, const Visit& visit) {
  for (int i = thread.ThreadIndex(); i < words; i += SetProgram::kThreads) visit(i);
}

template <typename Word>
CACHEINF_HOST_DEVICE int WordCount(const BasicMaskView<Word>& mask) {
  return mask.height * mask.words_per_row;
}

// Whether any pixel is in the mask. All threads of the block must call it.
template <class Thread>
CACHEINF_KERNEL bool HoldsAny(const Thread& thread, const ConstMaskView& mask) {
  bool any = false;
  ForOwnWords(thread, WordCount(mask), [&](int i) { any |= thread.Load(mask.words + i) != 0; });
  return thread.BarrierAny(any);
}

// Each word of `to` becomes combine(word, the word of `from` in its place).
template <class Thread, typename Combine>
CACHEINF_KERNEL void CombineWords(const Thread& thread, const SetStep& step,
                                  const Combine& combine) {
  ForOwnWords(thread, WordCount(step.to), [&](int i) {
    uint64_t* word = step.to.words + i;
    thread.Store(word, combine(thread.Load(word), thread.Load(step.from.words + i)));
  });
}

// Each word of the mask becomes combine(word, its bits that lie in the rectangle).
template <class Thread, typename Combine>
CACHEINF_KERNEL void CombineRectangle(const Thread& thread, const MaskView& mask, Range rows,
                                      Range columns, const Combine& combine) {
  const Range within = {Most(columns.begin, 0), Least(columns.end, mask.width)};
  ForOwnWords(thread, WordCount(mask), [&](int i) {
    const int row = i / mask.words_per_row;
    const bool is_in = row >= rows.begin && row < rows.end;
    const uint64_t bits = is_in ? BitsOf(within, i % mask.words_per_row) : 0;
    thread.Store(mask.words + i, combine(thread.Load(mask.words + i), bits));
  });
}

template <class Thread>
CACHEINF_KERNEL Range LoadRange(const Thread& thread, const Range* range) {
  return {thread.Load(&range->begin), thread.Load(&range->end)};
}

template <class Thread, typename Combine>
CACHEINF_KERNEL void CombineArea(const Thread& thread, const SetStep& step,
                                 const Combine& combine) {
  CombineRectangle(thread, step.to, LoadRange(thread, step.area), LoadRange(thread, step.area + 1),
                   combine);
}

template <class Thread>
CACHEINF_KERNEL void FillChosenRows(const Thread& thread, const MaskView& mask,
                                    const unsigned char* chosen) {
  ForOwnWords(thread, WordCount(mask), [&](int i) {
    if (thread.Load(chosen + i / mask.words_per_row) == 0) return;
    thread.Store(mask.words + i, BitsOf({0, mask.width}, i % mask.words_per_row));
  });
}

template <class Thread>
CACHEINF_KERNEL void AddRows(const Thread& thread, const SetStep& step) {
  const Range rows = LoadRange(thread, step.area);
  ForOwnWords(thread, WordCount(step.to), [&](int i) {
    const int row = i / step.to.words_per_row;
    if (row < rows.begin || row >= rows.end) return;
    uint64_t* word = step.to.words + i;
    thread.Store(word, thread.Load(word) | thread.Load(step.from.words + i));
  });
}

// Unites the rows that each row of `to` depends on into one, then goes through its columns.
template <class Thread>
CACHEINF_KERNEL void AddThrough(const Thread& thread, const SetStep& step, uint64_t* united) {
  const int from_words = step.from.words_per_row;
  ForOwnWords(thread, step.to.height * from_words, [&](int i) {
    uint64_t word = 0;
    ForEachSource(thread, step.row_sources, i / from_words, [&](Range rows) {
      for (int y = rows.begin; y < rows.end; ++y) {
        word |= thread.Load(step.from.words + y * from_words + i % from_words);
      }
      return true;
    });
    thread.Store(united + i, word);
  });
  thread.Barrier();
  const auto is_empty = [&](const uint64_t* row) {
    bool any = false;
    for (int word = thread.Lane(); word < from_words; word += kWarp) {
      any |= thread.Load(row + word) != 0;
    }
    return !thread.Any(any);
  };
  // A warp computes a word, each lane two of its bits.
  const auto reads_any = [&](const uint64_t* row, int column) {
    bool any = false;
    if (column < step.to.width) {
      ForEachSource(thread, step.column_sources, column, [&](Range columns) {
        any = AnyInRange(thread, row, columns);
        return !any;
      });
    }
    return any;
  };
  const int words = step.to.words_per_row;
  for (int i = thread.Warp(); i < WordCount(step.to); i += SetProgram::kThreads / kWarp) {
    const uint64_t* row = united + i / words * from_words;
    if (is_empty(row)) continue;
    const int column = i % words * kWordBits + thread.Lane();
    const uint64_t low = thread.Ballot(reads_any(row, column));
    const uint64_t high = thread.Ballot(reads_any(row, column + kWarp));
    const uint64_t added = high << kWarp | low;
    if (thread.Lane() == 0 && added != 0) {
      thread.Store(step.to.words + i, thread.Load(step.to.words + i) | added);
    }
  }
}

template <class Thread>
CACHEINF_KERNEL void Shift(const Thread& thread, const SetStep& step, uint64_t* old) {
  const MaskView& mask = step.to;
  const int words = mask.words_per_row;
  const int down = thread.Load(&step.area->begin);
  const int right = thread.Load(&step.area[1].begin);
  ForOwnWords(thread, WordCount(mask),
              [&](int i) { thread.Store(old + i, thread.Load(mask.words + i)); });
  thread.Barrier();
  ForOwnWords(thread, WordCount(mask), [&](int i) {
    const int y = i / words + down;
    uint64_t word = 0;
    if (y >= 0 && y < mask.height) {
      // Rounds down, for negative columns too.
      const int first = i % words * kWordBits + right;
      const int low = first >= 0 ? first / kWordBits : -((kWordBits - 1 - first) / kWordBits);
      const int by = first - low * kWordBits;
      const uint64_t* row = old + y * words;
      word = WordAt(thread, row, words, low) >> by;
      if (by != 0) word |= WordAt(thread, row, words, low + 1) << (kWordBits - by);
      word &= BitsOf({0, mask.width}, i % words);
    }
    thread.Store(mask.words + i, word);
  });
}

// Sums `value` over the block's threads before this one, and over all in *total.
template <class Thread>
CACHEINF_KERNEL int SumOfThoseBefore(const Thread& thread, int value, int* total) {
  constexpr int kWarps = SetProgram::kThreads / kWarp;
  int* sums = thread.template Shared<int>();
  const int inclusive = SumUpToLane(thread, value);
  if (thread.Lane() == kWarp - 1) thread.Store(sums + thread.Warp(), inclusive);
  thread.Barrier();
  int before = 0;
  *total = 0;
  for (int warp = 0; warp < kWarps; ++warp) {
    const int sum = thread.Load(sums + warp);
    if (warp < thread.Warp()) before += sum;
    *total += sum;
  }
  thread.Barrier();
  return before + inclusive - value;
}

template <class Thread>
CACHEINF_KERNEL void Count(const Thread& thread, const SetStep& step) {
  int own = 0;
  ForOwnWords(thread, WordCount(step.from),
              [&](int i) { own += CountBits(thread.Load(step.from.words + i)); });
  const int sum = thread.Sum(own);
  if (thread.Lane() == 0 && sum != 0) {
    thread.AtomicAdd(step.counter, static_cast<uint64_t>(step.weight) * static_cast<uint64_t>(sum));
  }
}

template <class Thread>
CACHEINF_KERNEL void List(const Thread& thread, const SetStep& step) {
  const ConstMaskView& mask = step.from;
  const int words = WordCount(mask);
  int listed = 0;
  for (int first = 0; first < words; first += SetProgram::kThreads) {
    const int own = first + thread.ThreadIndex();
    const uint64_t own_word = own < words ? thread.Load(mask.words + own) : 0;
    int total = 0;
    const int own_place = listed + SumOfThoseBefore(thread, CountBits(own_word), &total);
    listed += total;
    // The warp's lanes write the pixels of one of its words after another.
    for (unsigned left = thread.Ballot(own_word != 0); left != 0; left &= left - 1) {
      const int lane = LowestBit(left);
      const uint64_t word = thread.Shuffle(own_word, lane);
      const int place = thread.Shuffle(own_place, lane);
      const int at = first + thread.Warp() * kWarp + lane;
      const int pixel = at / mask.words_per_row * mask.width + at % mask.words_per_row * kWordBits;
      for (int bit = thread.Lane(); bit < kWordBits; bit += kWarp) {
        if ((word >> bit & 1) == 0) continue;
        thread.Store(step.list + place + CountBits(word & LowBits(bit)), pixel + bit);
      }
    }
  }
  if (thread.ThreadIndex() == 0) thread.Store(step.count, listed);
}

template <class Thread>
CACHEINF_KERNEL void Take(const Thread& thread, const SetStep& step, uint64_t* scratch) {
  const Range all_rows = {0, step.to.height};
  const Range all_columns = {0, step.to.width};
  const auto set = [](uint64_t word, uint64_t bits) { return word | bits; };
  const auto clear = [](uint64_t word, uint64_t bits) { return word & ~bits; };
  const auto keep = [](uint64_t word, uint64_t bits) { return word & bits; };
  switch (step.kind) {
    case SetStep::Kind::kFill:
      return CombineRectangle(thread, step.to, all_rows, all_columns, set);
    case SetStep::Kind::kClear:
      return CombineRectangle(thread, step.to, all_rows, all_columns, clear);
    case SetStep::Kind::kCopy:
      return ForOwnWords(thread, WordCount(step.to), [&](int i) {
        thread.Store(step.to.words + i, thread.Load(step.from.words + i));
      });
    case SetStep::Kind::kAdd:
      return CombineWords(thread, step, set);
    case SetStep::Kind::kAddRows:
      return AddRows(thread, step);
    case SetStep::Kind::kRemove:
      return CombineWords(thread, step, clear);
    case SetStep::Kind::kKeep:
      return CombineWords(thread, step, keep);
    case SetStep::Kind::kFillRectangle:
      return CombineArea(thread, step, set);
    case SetStep::Kind::kFillChosenRows:
      return FillChosenRows(thread, step.to, step.chosen);
    case SetStep::Kind::kClearRectangle:
      return CombineArea(thread, step, clear);
    case SetStep::Kind::kKeepRectangle:
      return CombineArea(thread, step, keep);
    case SetStep::Kind::kFillIfAny:
      if (HoldsAny(thread, step.from)) {
        CombineRectangle(thread, step.to, all_rows, all_columns, set);
      }
      return;
    case SetStep::Kind::kAddThrough:
      return AddThrough(thread, step, scratch);
    case SetStep::Kind::kShift:
      return Shift(thread, step, scratch);
    case SetStep::Kind::kCount:
      return Count(thread, step);
    case SetStep::Kind::kCountAfresh:
      if (thread.ThreadIndex() == 0) thread.Store(step.counter, uint64_t{0});
      return;
    case SetStep::Kind::kList:
      return List(thread, step);
    case SetStep::Kind::kCountIfAny: {
      const bool any = HoldsAny(thread, step.from);
      if (thread.ThreadIndex() == 0) thread.Store(step.count, any ? step.amount : 0);
      return;
    }
  }
}

}  // namespace set_steps

template <class Thread>
CACHEINF_KERNEL void SetProgram::operator()(const Thread& thread) const {
  for (int i = 0; i < count; ++i) {
    set_steps::Take(thread, steps[i], scratch);
    thread.Barrier();
  }
}

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_SET_PROGRAM_INL_H_
