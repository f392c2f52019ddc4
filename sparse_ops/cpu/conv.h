#ifndef CACHEINF_SPARSE_OPS_CPU_CONV_H_
#define CACHEINF_SPARSE_OPS_CPU_CONV_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sparse_ops/active_pixels.h"
#include "sparse_ops/cpu/aligned_floats.h"
#include "sparse_ops/cpu/pixel_kernels.h"
#include "sparse_ops/cpu/thread_pool.h"
#include "sparse_ops/ops.h"

namespace cacheinf::cpu {

class PixelTest;

// A convolution with its weights packed for this machine's kernels; ConvArgs says what it computes.
// Kernels get output pixels as lists; dense rows are one case.
class Conv {
 public:
  // Copies from `args` what does not change between frames: spec, weights, bias, activation, and
  // the channels of the input and output views, whose data may be null.
  explicit Conv(const ConvArgs& args);

  size_t ScratchFloats(int threads) const;
  size_t ScratchFloatsWithTest(int threads) const;

  // Computes the active pixels; with a test (it may be null) stores only those that change. Null
  // data in `residual` means none; with a test it must not share the output's memory, which holds
  // the old values.
  void Run(const ConstImageView& input, const ConstImageView& residual, const ImageView& output,
           const ActivePixels& pixels, const ChangeTest* test, ThreadPool& pool,
           float* scratch) const;

 private:
  struct Tap {
    int row;
    int column;
  };
  // The output pixels (first_row + i step, first_column + j step). Their taps lie around the input
  // pixel (i in_step, j in_step); rows and columns have steps of their own. A plain convolution has
  // one phase, of step 1; a transposed one has stride × stride phases, of in_step 1.
  struct Phase {
    int first_row = 0;
    int first_column = 0;
    std::vector<Tap> taps;
    int tap_columns = 0;  // in each row of taps; unused if transposed
    Tap smallest = {0, 0};
    Tap largest = {0, 0};
    AlignedFloats weights;
    bool weights_stay_cached = true;
    bool takes_rows = false;  // instead of lists, if pixels lie side by side
    bool rows_take_borders = false;
    bool skips_taps = false;      // those outside the picture for all pixels of a list
    bool groups_by_taps = false;  // puts only pixels with the same taps inside on one list
    std::vector<ConvBlock> blocks;
    std::vector<ConvBlock> row_blocks;  // for whole rows of taps; empty if they cannot be taken
    DepthwiseBlock depthwise;
  };
  struct BorderPixel {
    int index;  // in its list
    int image;  // the centre of its taps in the input
    int row;
    int column;
  };
  struct Frame;  // the views of one Run
  struct Place;  // where new values are written
  struct BlockOfPhase;
  struct WorkItem;  // some pixels of a phase by some of its blocks
  struct Span;
  struct NextWeights;
  struct List;
  struct Shares {
    int pixels;
    int blocks;
  };

  void AddPhase(const ConvArgs& args, int row_phase, int column_phase);
  void ChooseTapsToSkip(const ConvArgs& args, Phase& phase) const;
  bool CanTakeRowsOfTaps(const ConvSpec& spec) const;
  void PackBlocks(const ConvArgs& args, const std::vector<int>& kernel_taps, Phase& phase);
  void PackDepthwise(const ConvArgs& args, const std::vector<int>& kernel_taps, Phase& phase);
  // How many parts to cut pixels and blocks into, so that every thread gets enough.
  Shares SharesOf(int pixels, int threads) const;
  int BlockCount() const;
  int PixelsOnStage() const;     // of one thread
  size_t FloatsOnStage() const;  // of one pixel
  size_t StageFloats() const;    // of one thread
  size_t MostTaps() const;       // of a phase
  size_t PointerFloats() const;  // of one thread: scratch memory for the pointers of a list
  size_t TapFloats() const;      // likewise, and for the numbers of its taps

  // Computes the pixels with these numbers, on all threads.
  void RunShared(const Frame& frame, Range pixels, const Place& place, ThreadPool& pool,
                 float* taps) const;
  // The same, but stores only changes. `stage` is scratch memory.
  void RunTested(const Frame& frame, const ChangeTest& test, ThreadPool& pool, float* taps,
                 float* stage) const;
  // Computes at most PixelsOnStage pixels on one thread, and restores the old values of those that
  // did not change.
  void RunCompared(const Frame& frame, const ChangeTest& test, Range pixels, const float** taps,
                   float* stage) const;
  // Stores those that changed, from the stage at `place`.
  void StoreChanged(const Frame& frame, const PixelTest& test, Range pixels,
                    const Place& place) const;
  // How many of the item's pixels to run through all its blocks before the next ones.
  int PixelsAtOnce(const WorkItem& item) const;
  // What the next list's pixels read first, if they continue this span from column `next` of the
  // grid.
  FetchAhead InputsAfter(const ConstImageView& input, const Phase& phase, const Span& span,
                         int next) const;
  // The weights for a list's `ahead`, to be fetched while that many pixels are computed.
  NextWeights WeightsAfter(const WorkItem& item, int block, Range pixels) const;
  void RunItem(const Frame& frame, const WorkItem& item, const Place& place,
               const float** taps) const;
  // Adds the pixels of a run that belong to the item's phase; runs each list that fills up.
  void AddRun(const Frame& frame, const WorkItem& item, const Place& place, int image,
              const PixelRun& run, int number, List& list) const;
  // Prefetches what the pixels below a run read and write but the run itself did not. Short runs
  // end before the hardware can predict the next one.
  void FetchRowBelow(const Frame& frame, const Phase& phase, int image, const PixelRun& run) const;
  // The columns of a phase's grid whose taps all lie within the input's columns.
  Range InsideColumns(const ConstImageView& input, const Phase& phase) const;
  // The input columns under these columns of the grid, clipped to the input; 0 is under the first
  // tap of the first column.
  Range ColumnsUnder(const ConstImageView& input, const Phase& phase, Range columns) const;
  // The part of these columns that RunRow takes.
  Range ColumnsOfRow(const ConstImageView& input, const Phase& phase, Range columns) const;
  void AddSpan(const Frame& frame, const WorkItem& item, const Span& span, List& list) const;
  void RunRow(const Frame& frame, const WorkItem& item, const Span& span) const;
  // Whether row_blocks can be used.
  bool TakesRowsOfTaps(const ConstImageView& input, const Phase& phase) const;
  // Runs the kernels on the list and empties it.
  void RunList(const Frame& frame, const WorkItem& item, List& list) const;
  // Points to the input under one tap of each pixel, as if the picture had no border.
  const float** FillTap(const ConstImageView& input, const Tap& tap, const List& list,
                        size_t index) const;
  // Returns how many taps are left.
  int FillTaps(const ConstImageView& input, const Phase& phase, const List& list) const;
  // One bit per tap of the pixel whose taps lie around this one.
  static uint64_t TapsInside(const ConstImageView& input, const Phase& phase, const Tap& anchor);
  void FillRowsOfTaps(const ConstImageView& input, const Phase& phase, const List& list) const;

  const PixelKernels& kernels_;
  int groups_;
  int in_channels_;
  int out_channels_;
  bool is_depthwise_;
  int row_dilation_;
  int column_dilation_;
  int in_step_rows_ = 1;
  int in_step_columns_ = 1;
  int step_rows_ = 1;
  int step_columns_ = 1;
  std::vector<Phase> phases_;
  AlignedFloats bias_;        // padded like the blocks; empty: none
  AlignedFloats slopes_;      // likewise
  std::vector<float> zeros_;  // a pixel outside the picture
  PixelEpilogue epilogue_;
};

}  // namespace cacheinf::cpu

#endif  // CACHEINF_SPARSE_OPS_CPU_CONV_H_
