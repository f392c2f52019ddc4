#ifndef CACHEINF_SPARSE_OPS_CPU_ACTIVE_RUNS_H_
#define CACHEINF_SPARSE_OPS_CPU_ACTIVE_RUNS_H_

#include <algorithm>
#include <cstdint>

#include "sparse_ops/active_pixels.h"
#include "sparse_ops/cpu/thread_pool.h"

namespace cacheinf::cpu {

// Active pixels in one order, numbered from 0: image by image, run by run. A row that is all active
// is one run as wide as the map. So threads share out active pixels, not rows.
class ActiveRuns {
 public:
  ActiveRuns(const ActivePixels& pixels, int batch, int width)
      : pixels_(pixels),
        width_(width),
        runs_(pixels.is_sparse ? pixels.run_count : pixels.rows.size()),
        per_image_(CountBefore(runs_)),
        count_(batch * per_image_) {}

  int count() const { return count_; }

  // Calls fn(image, run, number) for the runs, or parts of runs, that hold the pixels with these
  // numbers; `number` is the first pixel's.
  void ForEachIn(Range numbers, const auto& fn) const {
    if (numbers.empty()) return;
    int image = numbers.begin / per_image_;
    int index = RunOf(numbers.begin % per_image_);
    for (int number = numbers.begin; number < numbers.end;) {
      PixelRun run = RunAt(index);
      run.begin += number - (image * per_image_ + CountBefore(index));
      run.end = std::min(run.end, run.begin + (numbers.end - number));
      fn(image, run, number);
      number += run.end - run.begin;
      if (++index < runs_) continue;
      index = 0;
      ++image;
    }
  }

  // Splits all pixels into parts and calls fn(numbers) for each, on one of the pool's threads;
  // `work` is the cost of a pixel, in numbers read.
  void ForEachPart(ThreadPool& pool, int64_t work, const auto& fn) const {
    // Below this much work a second thread costs more to wake than it saves.
    constexpr int64_t kParallelWork = 16 * 1024;
    const bool is_one = pool.threads() == 1 || count_ * work < kParallelWork;
    const int parts = std::min(count_, is_one ? 1 : 4 * pool.threads());
    pool.ParallelFor(parts, [&](int part, int) {
      fn(Range{static_cast<int>(int64_t{count_} * part / parts),
               static_cast<int>(int64_t{count_} * (part + 1) / parts)});
    });
  }

  // Calls fn(image, run) for all runs, or for parts of them.
  void ForEach(ThreadPool& pool, int64_t work, const auto& fn) const {
    ForEachPart(pool, work, [&](Range numbers) {
      ForEachIn(numbers, [&](int image, const PixelRun& run, int) { fn(image, run); });
    });
  }

 private:
  // Pixels of one image before this run.
  int CountBefore(int run) const {
    return pixels_.is_sparse ? pixels_.pixels_before[run] - pixels_.pixels_before[0] : run * width_;
  }

  PixelRun RunAt(int index) const {
    return pixels_.is_sparse ? pixels_.runs[index]
                             : PixelRun{pixels_.rows.begin + index, 0, width_};
  }

  // The run that holds this pixel of an image.
  int RunOf(int number) const {
    if (!pixels_.is_sparse) return number / width_;
    const int* before = pixels_.pixels_before;
    return static_cast<int>(std::upper_bound(before, before + runs_, before[0] + number) - before) -
           1;
  }

  ActivePixels pixels_;
  int width_;
  int runs_;  // of one image
  int per_image_;
  int count_;
};

}  // namespace cacheinf::cpu

#endif  // CACHEINF_SPARSE_OPS_CPU_ACTIVE_RUNS_H_
