#include "sparse_ops/global_pool.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sparse_ops/function.h"

namespace cacheinf {

GlobalPoolResult CompareMeans(const GlobalPoolArgs& args, GlobalPoolState& state) {
  const ImageView output = AsImage(args.output);
  const auto pixels = static_cast<float>(args.input.dims[2] * args.input.dims[3]);
  GlobalPoolResult result;
  result.is_written = !state.has_output;
  int i = 0;
  for (int n = 0; n < output.batch; ++n) {
    for (int channel = 0; channel < output.channels; ++channel, ++i) {
      state.means[i] = static_cast<float>(state.sums[i]) / pixels;
      const float move = state.has_output
                             ? std::fabs(state.means[i] - output.Pixel(n, 0, 0)[channel])
                             : std::numeric_limits<float>::infinity();
      if (args.moves != nullptr) args.moves[i] = move;
      result.largest_move = Combine(BinaryKind::kMaximum, result.largest_move, move);
      if (!(move <= args.bound)) result.is_written = true;
    }
  }
  if (result.is_written) {
    for (int n = 0; n < output.batch; ++n) {
      std::copy_n(state.means + int64_t{n} * output.channels, output.channels,
                  output.Pixel(n, 0, 0));
    }
  }
  state.has_output = true;
  return result;
}

}  // namespace cacheinf
