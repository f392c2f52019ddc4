#ifndef CACHEINF_SPARSE_OPS_REFERENCE_REFERENCE_H_
#define CACHEINF_SPARSE_OPS_REFERENCE_REFERENCE_H_

#include "sparse_ops/active_pixels.h"
#include "sparse_ops/ops.h"

// Every operator, slow and obvious: the definition of its arithmetic. All other kernels are checked
// against it bit for bit. Nothing here allocates memory.

namespace cacheinf {

struct WarpArgs;

namespace reference {

// Compute all pixels of the rows in which active ones lie.
void Compute(const ConvArgs& args, const ActivePixels& pixels);
void Compute(const PoolArgs& args, const ActivePixels& pixels);
void Compute(const AdaptivePoolArgs& args, const ActivePixels& pixels);
void Compute(const ResizeArgs& args, const ActivePixels& pixels);
void Compute(const DepthToSpaceArgs& args, const ActivePixels& pixels);
void Compute(const SpaceToDepthArgs& args, const ActivePixels& pixels);
void Compute(const QuantiseArgs& args, const ActivePixels& pixels);
void Compute(const DequantiseArgs& args, const ActivePixels& pixels);
void Compute(const QuantConvArgs& args, const ActivePixels& pixels);
void Compute(const TableArgs& args, const ActivePixels& pixels);
void Compute(const QuantBinaryArgs& args, const ActivePixels& pixels);
void Compute(const QuantPoolArgs& args, const ActivePixels& pixels);

// Compute the whole output.
void Compute(const ActivationArgs& args);
void Compute(const FakeQuantiseArgs& args);
void Compute(const ScaleShiftArgs& args);
void Compute(const BinaryArgs& args);
void Compute(const CopyArgs& args);
void Compute(const GatherArgs& args);
void Compute(const GatherElementsArgs& args);
void Compute(const PadArgs& args);
void Compute(const LayerNormArgs& args);
void Compute(const SoftmaxArgs& args);
void Compute(const ArgMaxArgs& args);
void Compute(const TopKArgs& args);
void Compute(const ReduceArgs& args);
void Compute(const LinearArgs& args);
void Compute(const MatMulArgs& args);
void Compute(const QuantLinearArgs& args);
void Compute(const GroupNormArgs& args);
void Compute(const DecodeBoxesArgs& args);
void Compute(const NonMaxSuppressionArgs& args);
void Compute(const WarpArgs& args);

// Computes the active pixels of a map; all of any other tensor. REQUIRES: for a map, an operator
// that is pointwise in rows and columns.
void Compute(const auto& args, const ActivePixels& pixels) {
  const TensorView& output = args.output;
  const bool is_whole = output.rank != 4 || (!pixels.is_sparse && pixels.rows == AllPixels(output));
  if (is_whole) return Compute(args);
  if (!pixels.is_sparse) {
    return Compute(CutPixels(args, pixels.rows, {0, static_cast<int>(output.dims[3])}));
  }
  for (int i = 0; i < pixels.run_count; ++i) {
    const PixelRun& run = pixels.runs[i];
    Compute(CutPixels(args, {run.row, run.row + 1}, {run.begin, run.end}));
  }
}

}  // namespace reference
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_REFERENCE_REFERENCE_H_
