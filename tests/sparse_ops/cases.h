#ifndef CACHEINF_TESTS_SPARSE_OPS_CASES_H_
#define CACHEINF_TESTS_SPARSE_OPS_CASES_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sparse_ops/active_pixels.h"
#include "sparse_ops/ops.h"
#include "sparse_ops/warp.h"

// One table of operator cases for every family of kernels. The same calls check a family against
// the reference, bit for bit except for Winograd's, and time it.

namespace cacheinf {

// Computes the active pixels of the output it was prepared for, with a change test or without one.
using PreparedCall = std::function<void(const ActivePixels& pixels, const ChangeTest* change)>;

// What `ConvArgs` computes but for rounding (cpu/winograd.h); the reference takes it for that.
struct WinogradArgs : ConvArgs {};

// A fetch of the pixels that are asked for but not held.
struct WarpCall {
  WarpArgs args;
  ConstMaskView held;
  MaskView wanted;  // memory for those that are left

  // Of the next call.
  WarpArgs Wanting(const ActivePixels& asked) const;
};

using OperatorArgs =
    std::variant<ConvArgs, WinogradArgs, PoolArgs, AdaptivePoolArgs, ResizeArgs, DepthToSpaceArgs,
                 SpaceToDepthArgs, ActivationArgs, ScaleShiftArgs, BinaryArgs, CopyArgs, GatherArgs,
                 PadArgs, LinearArgs, MatMulArgs, LayerNormArgs, GroupNormArgs, SoftmaxArgs,
                 ArgMaxArgs, ReduceArgs, DecodeBoxesArgs, NonMaxSuppressionArgs, WarpCall>;

// A family of kernels.
struct OperatorFamily {
  std::string name;
  bool takes_only_rows = false;  // whatever pixels of them are asked for, all are computed
  // Packs weights and the like for a call, once. Null: the family has no such operator.
  std::function<PreparedCall(const OperatorArgs&)> prepare;
  // How far convolutions round their inputs and weights; 0: they have the reference's bits.
  double conv_rounding = 0.0;
};

OperatorFamily ReferenceFamily();

class CaseMemory;

struct CaseOptions {
  bool has_one_image = false;  // of a map, only the first image of the batch is computed
  bool is_perturbed = false;   // some numbers of every input map are others
  bool is_packed = false;      // no gaps between pixels, rows and images, as executors lay out
};

// A case made ready for one family: operands from the case's seed, an output full of a mark.
struct PreparedCase {
  std::shared_ptr<CaseMemory> memory;
  PreparedCall run;  // empty if the family has no such operator

  // All numbers that `run` may write, and the gaps around them that it must not.
  const std::vector<float>& output() const;
  // The map of which `run` can be asked for any pixels; of rank 0 if there is none.
  const TensorView& map() const;
  Range rows() const;  // of the map; {0, 1} without one
  int columns() const;
};

class OperatorCase {
 public:
  using Build =
      std::function<PreparedCase(const OperatorFamily& family, const CaseOptions& options)>;

  OperatorCase(std::string case_name, Build build)
      : name(std::move(case_name)), build_(std::move(build)) {}

  PreparedCase Prepare(const OperatorFamily& family, const CaseOptions& options = {}) const {
    return build_(family, options);
  }

  std::string name;

 private:
  Build build_;
};

// Small, with every form and odd size.
const std::vector<OperatorCase>& OperatorCases();

// One a kind of operator, of a size that networks have.
const std::vector<OperatorCase>& TimedCases();

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SPARSE_OPS_CASES_H_
