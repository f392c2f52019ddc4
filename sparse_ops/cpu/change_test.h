#ifndef CACHEINF_SPARSE_OPS_CPU_CHANGE_TEST_H_
#define CACHEINF_SPARSE_OPS_CPU_CHANGE_TEST_H_

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "sparse_ops/active_pixels.h"
#include "sparse_ops/cpu/active_runs.h"
#include "sparse_ops/cpu/change_kernels.h"
#include "sparse_ops/cpu/thread_pool.h"

namespace cacheinf::cpu {

// Write-if-changed for pixels of a map of `channels` channels, as ChangeTest defines it. The memory
// of old and new values must not overlap.
class PixelTest {
 public:
  PixelTest(const ChangeTest& test, int channels)
      : test_(test), channels_(channels), kernels_(ChooseChangeKernels()) {}

  // Overwrites old values with the new ones that ChangeTest stores. `number` is the first of these
  // active pixels' number.
  void StoreIfChanged(const PixelLine<const float>& fresh, const PixelLine<float>& stored,
                      int pixels, int number) const {
    uint8_t* const changed = test_.changed + number;
    kernels_.find(test_, fresh, {stored.first, stored.step}, pixels, channels_, changed);
    kernels_.copy(changed, 1, fresh, stored, pixels, channels_);
    if (test_.stores_all) kernels_.copy(changed, 0, fresh, stored, pixels, channels_);
  }

  // `stored` holds new values, `old` those before: restores old ones where the new must not be
  // stored.
  void RestoreUnlessChanged(const PixelLine<const float>& old, const PixelLine<float>& stored,
                            int pixels, int number) const {
    uint8_t* const changed = test_.changed + number;
    kernels_.find(test_, {stored.first, stored.step}, old, pixels, channels_, changed);
    if (test_.threshold == 0.0f) return;  // it has the same bits
    if (test_.stores_all) return;
    kernels_.copy(changed, 0, old, stored, pixels, channels_);
  }

 private:
  const ChangeTest& test_;
  int channels_;
  const ChangeKernels& kernels_;
};

// For an output map of this width.
size_t TestScratchFloats(int width, int channels, int threads);

// The change test for operators that have none. Calls run(some) for parts of the active pixels,
// from several threads at once; `run` computes those pixels on its own thread and writes no others.
// Pixels whose new values are not changes get their old ones back. REQUIRES: an output that
// overlaps no operand.
void RunWithTest(const ImageView& output, const ActivePixels& pixels, const ChangeTest& test,
                 ThreadPool& pool, float* scratch, const auto& run);

// -------------------------------------------------------------------------------------------------

// Splits active pixels into parts of whole runs, with about `pixels_of_part` pixels each. A thread
// computes and tests a part while it is in its cache.
class TestParts {
 public:
  TestParts(const ActivePixels& pixels, int channels)
      : pixels_(pixels), pixels_of_part_(PixelsOfPart(channels)) {}

  static int PixelsOfPart(int channels) { return std::max(1, kPartFloats / channels); }

  int count() const {
    const int* before = pixels_.pixels_before;
    return (before[pixels_.run_count] - before[0] + pixels_of_part_ - 1) / pixels_of_part_;
  }

  // The runs whose first pixel lies in part `index`.
  ActivePixels Part(int index) const {
    const int begin = RunFrom(index * pixels_of_part_);
    const int end = RunFrom((index + 1) * pixels_of_part_);
    return {pixels_.rows, pixels_.runs + begin, pixels_.pixels_before + begin, end - begin};
  }

 private:
  static constexpr int kPartFloats = 16 * 1024;

  // The first run that begins at this pixel or later.
  int RunFrom(int number) const {
    const int* before = pixels_.pixels_before;
    return static_cast<int>(
        std::lower_bound(before, before + pixels_.run_count, before[0] + number) - before);
  }

  ActivePixels pixels_;
  int pixels_of_part_;
};

// Copies pixels so that they lie end to end.
inline void CopyRun(const PixelLine<float>& from, int pixels, int channels, float* to) {
  const size_t bytes = static_cast<size_t>(channels) * sizeof(float);
  if (from.step == channels) {
    std::memcpy(to, from.first, bytes * static_cast<size_t>(pixels));
    return;
  }
  for (int p = 0; p < pixels; ++p) {
    std::memcpy(to + static_cast<size_t>(p) * channels, from.first + p * from.step, bytes);
  }
}

void RunWithTest(const ImageView& output, const ActivePixels& pixels, const ChangeTest& test,
                 ThreadPool& pool, float* scratch, const auto& run) {
  const int channels = output.channels;
  const TestParts parts(pixels, channels);
  const size_t scratch_of_thread = TestScratchFloats(output.width, channels, 1);
  pool.ParallelFor(parts.count(), [&](int index, int thread) {
    const ActivePixels part = parts.Part(index);
    if (part.run_count == 0) return;
    float* const old = scratch + static_cast<size_t>(thread) * scratch_of_thread;
    const ActiveRuns runs(part, 1, output.width);
    const Range all = {0, runs.count()};
    const PixelTest pixel_test(test, channels);
    const int first = part.pixels_before[0] - pixels.pixels_before[0];
    const auto line_of_run = [&](const PixelRun& run_of_part) {
      return PixelLine<float>{output.Pixel(0, run_of_part.row, run_of_part.begin),
                              output.pixel_stride};
    };
    runs.ForEachIn(all, [&](int, const PixelRun& run_of_part, int number) {
      CopyRun(line_of_run(run_of_part), run_of_part.end - run_of_part.begin, channels,
              old + static_cast<size_t>(number) * channels);
    });
    run(part);
    runs.ForEachIn(all, [&](int, const PixelRun& run_of_part, int number) {
      pixel_test.RestoreUnlessChanged({old + static_cast<size_t>(number) * channels, channels},
                                      line_of_run(run_of_part), run_of_part.end - run_of_part.begin,
                                      first + number);
    });
  });
}

}  // namespace cacheinf::cpu

#endif  // CACHEINF_SPARSE_OPS_CPU_CHANGE_TEST_H_
