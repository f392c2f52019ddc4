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

// Computes ConvArgs up to rounding (cpu/winograd.h). The reference computes ConvArgs.
struct WinogradArgs : ConvArgs {};

// Fetches the pixels that are asked for and not held.
struct WarpCall {
  WarpArgs args;
  ConstMaskView held;
  MaskView wanted;  // memory for what Wanting finds

  // The next call's arguments. Overwrites `wanted`.
  WarpArgs Wanting(const ActivePixels& asked) const;
};

using OperatorArgs =
    std::variant<ConvArgs, WinogradArgs, PoolArgs, AdaptivePoolArgs, ResizeArgs, DepthToSpaceArgs,
                 SpaceToDepthArgs, ActivationArgs, ScaleShiftArgs, BinaryArgs, CopyArgs, GatherArgs,
                 PadArgs, LinearArgs, MatMulArgs, LayerNormArgs, GroupNormArgs, SoftmaxArgs,
                 ArgMaxArgs, TopKArgs, GatherElementsArgs, ReduceArgs, DecodeBoxesArgs,
                 NonMaxSuppressionArgs, WarpCall>;

struct OperatorFamily {
  std::string name;
  bool takes_only_rows = false;  // computes whole rows, whichever pixels are asked for
  // Packs weights and the like for a call, once. Returns null if the family lacks the operator.
  std::function<PreparedCall(const OperatorArgs&)> prepare;
  // How far convolutions round their inputs and weights; 0: they have the reference's bits.
  double conv_rounding = 0.0;
};

OperatorFamily ReferenceFamily();

class CaseMemory;

struct CaseOptions {
  bool has_one_image = false;  // computes only the first image of a batch of maps
  bool is_perturbed = false;   // changes some numbers of every input map
  bool is_packed = false;      // no gaps between pixels, rows and images, as in an executor
};

// A case ready for one family: operands from the case's seed, an output filled with a mark.
struct PreparedCase {
  std::shared_ptr<CaseMemory> memory;
  PreparedCall run;  // empty if the family lacks the operator

  // All numbers that `run` may write, and the gaps between them that it must not.
  const std::vector<float>& output() const;
  // The map of which `run` computes any pixels; of rank 0 if there is none.
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

// Small cases of every form, with odd sizes.
const std::vector<OperatorCase>& OperatorCases();

// One case for each kind of operator, of a size that networks have.
const std::vector<OperatorCase>& TimedCases();

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SPARSE_OPS_CASES_H_
