#ifndef CACHEINF_SPARSE_OPS_GLOBAL_POOL_H_
#define CACHEINF_SPARSE_OPS_GLOBAL_POOL_H_

#include "sparse_ops/views.h"

// A global average pool that follows a map of which some pixels change: it keeps the sums, takes
// the old values of those pixels out and puts the new ones in. A network's gates (squeeze and
// excite) that hang on it need computing again only when it has moved.
//
// A frame is
//
//   GlobalPoolTakeOut(args, pixels, state);   // while the map still holds the old values
//   … the map's active pixels are computed …
//   GlobalPoolUpdate(args, pixels, state);    // with the same pixels
//
// reference/global_pool.h is the definition as code; cpu/global_pool.h gives the same bits.
//
// Arithmetic
//   A whole sum is that of ops.h over rows and columns, in single precision, which is then kept as
//   a double; taking out and putting in subtract and add the pixels' numbers to it one after the
//   other, as doubles, each rounded on its own, in the order of the list. mean = float(sum) / count
//   in single precision. So after a whole sum the means have the bits of Reduce (and of
//   AdaptivePool to one pixel); after any other update they depend on the updates before. An
//   execution that promises dense bits uses Reduce.
//   With S the largest sum of absolute values of a channel since its whole sum, and k the numbers
//   taken out and put in since then, a sum is off by no more than that whole sum was, + k S / 2^53:
//   a thousand frames of all pixels of a 20 × 20 map add up to less than one float rounding.

namespace cacheinf {

struct GlobalPoolArgs {
  // Of so many updates one sums the whole map: 1 each, 2 every other, ….
  int whole_every = 100;

  // The output is left as it is while no mean has moved away from it by more than this.
  float bound = 0.0f;

  ConstTensorView input;   // a map
  TensorView output;       // the same batch and channels, of one pixel
  float* moves = nullptr;  // [batch × channels], or null: |mean - output| before it is written
};

// REQUIRES: whole_every >= 1; contiguous channels.
struct GlobalPoolState {
  double* sums = nullptr;  // [batch × channels]
  float* means = nullptr;  // [batch × channels], of the map as it is, whatever the bound
  int updates_left = 0;    // before the next whole sum; set to 0 to ask for one, say because values
                           // were taken out and the frame was given up
  bool has_output = false;  // whether an update has written the output; set to false to have the
                            // next one write it
};

struct GlobalPoolResult {
  bool was_whole = false;     // the means are those of a dense pool, bit for bit
  bool is_written = false;    // a move was greater than the bound, or NaN, or there was no output
  float largest_move = 0.0f;  // NaN if any is; infinity if there was no output
};

// The end of an update in every family: makes the means of the sums, and brings them to the output
// if it is to be written.
GlobalPoolResult CompareMeans(const GlobalPoolArgs& args, GlobalPoolState& state);

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_GLOBAL_POOL_H_
