#ifndef CACHEINF_SPARSE_OPS_CUDA_DETECTION_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CUDA_DETECTION_KERNELS_H_

#include <cmath>
#include <cstdint>

#include "sparse_ops/cuda/functions.h"
#include "sparse_ops/cuda/walk.h"
#include "sparse_ops/ops.h"

// Kernels of a detector's last operators.

namespace cacheinf::cuda {

inline constexpr int kBoxNumbers = 4;  // of a row; objectness and classes follow

// One box of the heads.
struct BoxCell {
  const float* numbers = nullptr;  // its row, in the map
  int row = 0;
  int column = 0;
  int stride = 0;
  const float* anchor = nullptr;  // width, height

  // Finds box number `box` of all heads, whose rows have `width` numbers. Returns false past the
  // last.
  template <class Thread>
  CACHEINF_KERNEL bool Find(const Thread& thread, const DetectionHead* heads, int head_count,
                            int width, int box) {
    for (int h = 0; h < head_count; ++h) {
      const DetectionHead* const head = heads + h;
      const int map_height = thread.LoadReadOnly(&head->map.height);
      const int map_width = thread.LoadReadOnly(&head->map.width);
      const int cells = map_height * map_width;
      const int boxes = cells * thread.LoadReadOnly(&head->anchor_count);
      if (box >= boxes) {
        box -= boxes;
        continue;
      }
      const int of_head = box / cells;
      const int cell = box - of_head * cells;
      row = cell / map_width;
      column = cell - row * map_width;
      stride = thread.LoadReadOnly(&head->stride);
      anchor = thread.LoadReadOnly(&head->anchors) + 2 * of_head;
      numbers = thread.LoadReadOnly(&head->map.data) +
                row * thread.LoadReadOnly(&head->map.row_stride) +
                column * thread.LoadReadOnly(&head->map.pixel_stride) + of_head * width;
      return true;
    }
    return false;
  }

  template <class Thread>
  CACHEINF_KERNEL float Squashed(const Thread& thread, int number, bool apply_sigmoid) const {
    const float x = thread.LoadReadOnly(numbers + number);
    return apply_sigmoid ? scalar::Sigmoid(scalar::Ops(), x) : x;
  }

  // The decoded number at index `number` of the box's row.
  template <class Thread>
  CACHEINF_KERNEL float Decoded(const Thread& thread, int number, bool apply_sigmoid) const {
    const float s = Squashed(thread, number, apply_sigmoid);
    if (number >= kBoxNumbers) return s;
    if (number < 2) {
      const int cell = number == 0 ? column : row;
      return (std::fma(2.0f, s, -0.5f) + static_cast<float>(cell)) * static_cast<float>(stride);
    }
    const float twice = 2.0f * s;
    return twice * twice * thread.LoadReadOnly(anchor + number - 2);
  }
};

struct DecodeRows {
  static constexpr const char* kName = "DecodeRows";
  static constexpr int kThreads = 128;

  const DetectionHead* heads;
  int head_count;
  bool apply_sigmoid;
  int boxes;
  int width;
  float* output;
  int64_t row_stride;
  int64_t number_stride;
  const int* gate;  // as in Walk

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    if (gate != nullptr && thread.LoadReadOnly(gate) == 0) return;
    const unsigned at = static_cast<unsigned>(thread.BlockX()) * kThreads +
                        static_cast<unsigned>(thread.ThreadIndex());
    const int box = static_cast<int>(at / static_cast<unsigned>(width));
    const int number = static_cast<int>(at % static_cast<unsigned>(width));
    BoxCell cell;
    if (box >= boxes || !cell.Find(thread, heads, head_count, width, box)) return;
    thread.Store(output + box * row_stride + number * number_stride,
                 cell.Decoded(thread, number, apply_sigmoid));
  }
};

using BoxCandidate = NonMaxSuppressionArgs::Candidate;

struct ClearCount {
  static constexpr const char* kName = "ClearCount";
  static constexpr int kThreads = 1;

  int* count;
  const int* gate;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    if (gate != nullptr && thread.LoadReadOnly(gate) == 0) return;
    thread.Store(count, 0);
  }
};

// Collects all boxes that score enough, in any order. Counts them where the output's first number
// will be.
struct CollectCandidates {
  static constexpr const char* kName = "CollectCandidates";
  static constexpr int kThreads = 128;
  static constexpr int kBlocks = 64;

  const DetectionHead* heads;  // null: `rows` are decoded
  int head_count;
  const float* rows;
  int64_t row_stride;
  int64_t number_stride;
  int row_count;
  int classes;
  bool has_objectness;
  float score_threshold;
  BoxCandidate* candidates;
  int* count;
  const int* gate;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    if (gate != nullptr && thread.LoadReadOnly(gate) == 0) return;
    for (int box = thread.BlockX() * kThreads + thread.ThreadIndex();; box += kBlocks * kThreads) {
      if (heads == nullptr) {
        if (box >= row_count) return;
        const float* const row = rows + box * row_stride;
        Take(thread, box,
             [&](int number) { return thread.LoadReadOnly(row + number * number_stride); });
        continue;
      }
      BoxCell cell;
      if (!cell.Find(thread, heads, head_count, kBoxNumbers + 1 + classes, box)) return;
      // No class scores above 1, so no box scores above its objectness.
      if (!(cell.Squashed(thread, kBoxNumbers, true) >= score_threshold)) continue;
      Take(thread, box, [&](int number) { return cell.Decoded(thread, number, true); });
    }
  }

 private:
  // `number(i)` returns number i of the box's row.
  template <class Thread, class Number>
  CACHEINF_KERNEL void Take(const Thread& thread, int box, const Number& number) const {
    const int first_class = has_objectness ? kBoxNumbers + 1 : kBoxNumbers;
    int best = 0;
    float best_score = number(first_class);
    for (int label = 1; label < classes; ++label) {
      const float score = number(first_class + label);
      const bool is_first_nan = score != score && best_score == best_score;
      if (score > best_score || is_first_nan) {
        best = label;
        best_score = score;
      }
    }
    const float score = has_objectness ? number(kBoxNumbers) * best_score : best_score;
    if (!(score >= score_threshold)) return;
    const float half_width = number(2) * 0.5f;
    const float half_height = number(3) * 0.5f;
    BoxCandidate* const to = candidates + thread.AtomicAdd(count, 1);
    thread.Store(&to->score, score);
    thread.Store(&to->box, box);
    thread.Store(&to->label, best);
    thread.Store(&to->left, number(0) - half_width);
    thread.Store(&to->top, number(1) - half_height);
    thread.Store(&to->right, number(0) + half_width);
    thread.Store(&to->bottom, number(1) + half_height);
  }
};

// One block keeps the best candidate, drops those that it covers, and repeats. It sets the box of a
// candidate that it kept or dropped to -1.
struct KeepBestCandidates {
  static constexpr const char* kName = "KeepBestCandidates";
  static constexpr int kThreads = 256;
  static constexpr int kWarps = kThreads / kWarp;

  // The best of some candidates; index -1: there is none.
  struct Best {
    float score = 0.0f;
    int box = 0;
    int index = -1;

    CACHEINF_KERNEL bool IsBetterThan(const Best& other) const {
      if (index < 0 || other.index < 0) return index >= 0;
      return score != other.score ? score > other.score : box < other.box;
    }
  };
  // Every warp's best, for even and for odd rounds.
  static constexpr size_t kSharedBytes = size_t{2} * 3 * kWarps * sizeof(int);

  BoxCandidate* candidates;
  const int* count;
  float overlap_threshold;
  int max_boxes;
  float* output;
  int64_t row_stride;
  int64_t number_stride;
  const float* extra_numbers;  // of the first box, those of the next extra_row_stride further
  int64_t extra_row_stride;
  int64_t extra_stride;
  int extras;
  const int* gate;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    if (gate != nullptr && thread.LoadReadOnly(gate) == 0) return;
    const int many = thread.Load(count);
    thread.Barrier();  // the output will overwrite the count
    int kept = 0;
    for (; kept < max_boxes; ++kept) {
      const Best best = FindBest(thread, many, kept % 2);
      if (best.index < 0) break;
      const BoxCandidate* const box = candidates + best.index;
      const Corners corners(thread, box);
      const int label = thread.Load(&box->label);
      for (int k = thread.ThreadIndex(); k < extras; k += kThreads) {
        const float* const extra = extra_numbers + best.box * extra_row_stride + k * extra_stride;
        thread.Store(output + kept * row_stride + (6 + k) * number_stride,
                     thread.LoadReadOnly(extra));
      }
      if (thread.ThreadIndex() == 0) {
        const float row[] = {corners.left,   corners.top, corners.right,
                             corners.bottom, best.score,  static_cast<float>(label)};
        CACHEINF_UNROLL
        for (int k = 0; k < 6; ++k) {
          thread.Store(output + kept * row_stride + k * number_stride, row[k]);
        }
      }
      for (int i = thread.ThreadIndex(); i < many; i += kThreads) {
        BoxCandidate* const other = candidates + i;
        if (thread.Load(&other->box) < 0) continue;
        const bool is_covered = thread.Load(&other->label) == label &&
                                Overlap(corners, Corners(thread, other), overlap_threshold);
        if (i == best.index || is_covered) thread.Store(&other->box, -1);
      }
    }
    const int width = 6 + extras;
    for (int i = kept * width + thread.ThreadIndex(); i < max_boxes * width; i += kThreads) {
      thread.Store(output + i / width * row_stride + i % width * number_stride, 0.0f);
    }
  }

 private:
  CACHEINF_KERNEL static float Larger(float a, float b) { return a < b ? b : a; }
  CACHEINF_KERNEL static float Smaller(float a, float b) { return b < a ? b : a; }

  struct Corners {
    float left, top, right, bottom;

    template <class Thread>
    CACHEINF_KERNEL Corners(const Thread& thread, const BoxCandidate* box)
        : left(thread.Load(&box->left)),
          top(thread.Load(&box->top)),
          right(thread.Load(&box->right)),
          bottom(thread.Load(&box->bottom)) {}
  };

  CACHEINF_KERNEL static float Area(float left, float top, float right, float bottom) {
    return Larger(right - left, 0.0f) * Larger(bottom - top, 0.0f);
  }
  CACHEINF_KERNEL static float Area(const Corners& box) {
    return Area(box.left, box.top, box.right, box.bottom);
  }
  CACHEINF_KERNEL static bool Overlap(const Corners& a, const Corners& b, float threshold) {
    const float intersection = Area(Larger(a.left, b.left), Larger(a.top, b.top),
                                    Smaller(a.right, b.right), Smaller(a.bottom, b.bottom));
    const float both = (Area(a) + Area(b)) - intersection;
    return intersection > threshold * both;
  }

  template <class Thread>
  CACHEINF_KERNEL Best FindBest(const Thread& thread, int many, int parity) const {
    Best best;
    for (int i = thread.ThreadIndex(); i < many; i += kThreads) {
      const Best own = {thread.Load(&candidates[i].score), thread.Load(&candidates[i].box), i};
      if (own.box >= 0 && own.IsBetterThan(best)) best = own;
    }
    CACHEINF_UNROLL
    for (int by = kWarp / 2; by >= 1; by /= 2) {
      const Best other = {thread.ShuffleXor(best.score, by), thread.ShuffleXor(best.box, by),
                          thread.ShuffleXor(best.index, by)};
      if (other.IsBetterThan(best)) best = other;
    }
    // Even and odd rounds use different memory, so one barrier a round is enough.
    const size_t offset = static_cast<size_t>(parity) * 3 * kWarps * sizeof(int);
    float* const scores = thread.template Shared<float>(offset);
    int* const boxes = thread.template Shared<int>(offset + kWarps * sizeof(int));
    int* const indices = thread.template Shared<int>(offset + 2 * kWarps * sizeof(int));
    if (thread.Lane() == 0) {
      thread.Store(scores + thread.Warp(), best.score);
      thread.Store(boxes + thread.Warp(), best.box);
      thread.Store(indices + thread.Warp(), best.index);
    }
    thread.Barrier();
    CACHEINF_UNROLL
    for (int warp = 0; warp < kWarps; ++warp) {
      const Best other = {thread.Load(scores + warp), thread.Load(boxes + warp),
                          thread.Load(indices + warp)};
      if (other.IsBetterThan(best)) best = other;
    }
    return best;
  }
};

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_DETECTION_KERNELS_H_
