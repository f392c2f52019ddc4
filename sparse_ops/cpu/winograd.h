#ifndef CACHEINF_SPARSE_OPS_CPU_WINOGRAD_H_
#define CACHEINF_SPARSE_OPS_CPU_WINOGRAD_H_

#include <cstddef>
#include <vector>

#include "sparse_ops/active_pixels.h"
#include "sparse_ops/cpu/active_runs.h"
#include "sparse_ops/cpu/aligned_floats.h"
#include "sparse_ops/cpu/thread_pool.h"
#include "sparse_ops/cpu/winograd_kernels.h"
#include "sparse_ops/ops.h"

namespace cacheinf::cpu {

class PixelTest;

// A convolution by Winograd's F(4x4, 3x3), with the bits of sparse_ops/winograd.h. Computes the
// tiles that have an active pixel.
//
// A pixel's bits depend only on the 6x6 input pixels around its tile (outside the picture: +0), not
// on which pixels are active, on threads, or on the machine. So more of the input than the pixel's
// 3x3 window must be valid.
class Winograd {
 public:
  // Copies from `args` what does not change between frames: spec, weights, bias, activation, and
  // the channels of the input and output views, whose data may be null.
  // REQUIRES: CanBeWinograd(args.spec)
  explicit Winograd(const ConvArgs& args);

  // Enough with a change test and without. `output` needs no data.
  size_t ScratchFloats(const ImageView& output, int threads) const;

  // Computes the active pixels; with a test (it may be null) stores only those that change. Null
  // data in `residual` means none; with a test it must not share the output's memory, which holds
  // the old values.
  void Run(const ConstImageView& input, const ConstImageView& residual, const ImageView& output,
           const ActivePixels& pixels, const ChangeTest* test, ThreadPool& pool,
           float* scratch) const;

 private:
  struct Tile;
  struct Frame;  // the views of one Run

  void PackWeights(const ConvArgs& args);
  void PackEpilogue(const ConvArgs& args);
  int LargestBatch() const;
  int BatchTiles(int tiles, int threads) const;
  size_t WeightFloats() const;
  size_t OutputFloats() const;
  size_t FrequencyFloats() const;
  size_t BatchFloats(int tiles) const;
  size_t StageFloats() const;
  // Writes the tiles that hold an active pixel, and returns how many there are.
  static int ListTiles(const ActiveRuns& runs, const ImageView& output, Tile* tiles);
  static void AddRun(const PixelRun& run, int number, Tile* row_of_tiles);
  // Whether all threads should share one batch, each with some of the weights, instead of taking
  // one batch each, which needs all weights.
  bool SharesWeights(int tiles, int threads) const;
  // Runs on one thread, or on all threads of a team. Test and team may be null; `memory` is scratch
  // memory.
  void RunBatch(const Frame& frame, const ChangeTest* test, const Tile* tiles, int count,
                ThreadPool* team, float* memory) const;
  void TransformInputs(const Frame& frame, const Tile* tiles, Range of_batch, int group,
                       const WinogradBatch& batch) const;
  // Writes to the output, or to a stage if there is one.
  void TransformOutputs(const Frame& frame, const Tile* tiles, Range of_batch, int group,
                        const WinogradBatch& batch, float* stage) const;
  static WinogradOutput OutputOf(const Frame& frame, const Tile& tile, int first_channel);
  void StoreIfChanged(const PixelTest& test, const ImageView& output, const Tile& tile,
                      const float* stage) const;
  void GatherPatch(const ConstImageView& input, const Tile& tile, int first_channel,
                   const float** patch) const;

  const WinogradKernels& kernels_;
  WinogradShape shape_;
  int groups_;
  int pad_rows_;
  int pad_columns_;
  AlignedFloats weights_;
  AlignedFloats bias_;        // empty: none
  AlignedFloats slopes_;      // likewise
  std::vector<float> zeros_;  // a pixel outside the picture
  PixelEpilogue epilogue_;
};

}  // namespace cacheinf::cpu

#endif  // CACHEINF_SPARSE_OPS_CPU_WINOGRAD_H_
