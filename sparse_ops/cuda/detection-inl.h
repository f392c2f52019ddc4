#ifndef CACHEINF_SPARSE_OPS_CUDA_DETECTION_INL_H_
#define CACHEINF_SPARSE_OPS_CUDA_DETECTION_INL_H_

#include "sparse_ops/cuda/detection_kernels.h"
#include "sparse_ops/cuda/operators.h"

namespace cacheinf::cuda {

void Compute(const auto& to, const DecodeBoxesArgs& args, const Pixels& pixels) {
  const TensorView& output = args.output;
  const DecodeRows kernel = {args.heads,
                             args.head_count,
                             args.apply_sigmoid,
                             static_cast<int>(output.dims[0]),
                             static_cast<int>(output.dims[1]),
                             output.data,
                             output.strides[0],
                             output.strides[1],
                             pixels.count};
  to.Launch({DividedUp(output.dims[0] * output.dims[1], DecodeRows::kThreads)}, kernel);
}

void Compute(const auto& to, const NonMaxSuppressionArgs& args, const Pixels& pixels) {
  const TensorView& output = args.output;
  if (output.dims[0] == 0) return;
  static_assert(sizeof(int) == sizeof(float), "the count lies where a number will");
  int* const count = reinterpret_cast<int*>(output.data);
  to.Launch({1}, ClearCount{count, pixels.count});
  const bool has_heads = args.heads != nullptr;
  const CollectCandidates collect = {args.heads,
                                     args.head_count,
                                     args.input.data,
                                     args.input.strides[0],
                                     args.input.strides[1],
                                     has_heads ? 0 : static_cast<int>(args.input.dims[0]),
                                     has_heads ? args.classes : args.input_classes(),
                                     args.has_objectness,
                                     args.score_threshold,
                                     args.scratch,
                                     count,
                                     pixels.count};
  to.Launch({CollectCandidates::kBlocks}, collect);
  const KeepBestCandidates keep = {
      args.scratch,
      count,
      args.overlap_threshold,
      static_cast<int>(output.dims[0]),
      output.data,
      output.strides[0],
      output.strides[1],
      args.extras == 0
          ? nullptr
          : args.input.data + (args.input.dims[1] - args.extras) * args.input.strides[1],
      args.input.strides[0],
      args.input.strides[1],
      args.extras,
      pixels.count};
  to.Launch({1}, keep, KeepBestCandidates::kSharedBytes);
}

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_DETECTION_INL_H_
