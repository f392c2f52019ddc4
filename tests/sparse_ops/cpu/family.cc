#include "tests/sparse_ops/cpu/family.h"

#include <memory>

#include "sparse_ops/cpu/aligned_floats.h"
#include "sparse_ops/cpu/change_test.h"
#include "sparse_ops/cpu/conv.h"
#include "sparse_ops/cpu/cpu.h"
#include "sparse_ops/cpu/products.h"
#include "sparse_ops/cpu/warp.h"
#include "sparse_ops/cpu/winograd.h"

namespace cacheinf {
namespace {

std::shared_ptr<cpu::AlignedFloats> Scratch(size_t floats) {
  return std::make_shared<cpu::AlignedFloats>(floats);
}

ImageView AsMap(const ImageView& output) { return output; }
ImageView AsMap(const TensorView& output) {
  return output.rank == 4 ? AsImage(output) : ImageView{nullptr, 1, 1, 1, 1, 0, 0, 0};
}

template <typename Args>
std::function<PreparedCall(const Args&)> OnPool(void (*kernel)(const Args&, const ActivePixels&,
                                                               ThreadPool&),
                                                ThreadPool& pool) {
  return [kernel, &pool](const Args& args) -> PreparedCall {
    const ImageView output = AsMap(args.output);
    const auto scratch =
        Scratch(cpu::TestScratchFloats(output.width, output.channels, pool.threads()));
    return [=, &pool](const ActivePixels& pixels, const ChangeTest* test) {
      if (test == nullptr) return kernel(args, pixels, pool);
      ThreadPool alone(1);
      cpu::RunWithTest(output, pixels, *test, pool, scratch->data(),
                       [&](const ActivePixels& part) { kernel(args, part, alone); });
    };
  };
}

}  // namespace

OperatorFamily CpuFamily(ThreadPool& pool) {
  OperatorFamily family;
  family.name = "cpu";
  family.conv = [&pool](const ConvArgs& args) -> PreparedCall {
    const auto conv = std::make_shared<cpu::Conv>(args);
    const auto scratch = Scratch(conv->ScratchFloatsWithTest(pool.threads()));
    return [&pool, args, conv, scratch](const ActivePixels& pixels, const ChangeTest* test) {
      conv->Run(args.input, args.residual, args.output, pixels, test, pool, scratch->data());
    };
  };
  family.winograd = [&pool](const ConvArgs& args) -> PreparedCall {
    const auto winograd = std::make_shared<cpu::Winograd>(args);
    const auto scratch = Scratch(winograd->ScratchFloats(args.output, pool.threads()));
    return [&pool, args, winograd, scratch](const ActivePixels& pixels, const ChangeTest* test) {
      winograd->Run(args.input, args.residual, args.output, pixels, test, pool, scratch->data());
    };
  };
  family.pool = OnPool(cpu::Pool, pool);
  family.adaptive_pool = OnPool(cpu::AdaptivePool, pool);
  family.resize = OnPool(cpu::Resize, pool);
  family.depth_to_space = OnPool(cpu::DepthToSpace, pool);
  family.space_to_depth = OnPool(cpu::SpaceToDepth, pool);
  family.activation = OnPool(cpu::Activation, pool);
  family.scale_shift = OnPool(cpu::ScaleShift, pool);
  family.binary = OnPool(cpu::Binary, pool);
  family.copy = OnPool(cpu::Copy, pool);
  family.gather = OnPool(cpu::Gather, pool);
  family.pad = OnPool(cpu::Pad, pool);
  family.layer_norm = OnPool(cpu::LayerNorm, pool);
  family.softmax = OnPool(cpu::Softmax, pool);
  family.arg_max = OnPool(cpu::ArgMax, pool);
  family.reduce = OnPool(cpu::Reduce, pool);
  family.group_norm = [&pool](const GroupNormArgs& args) -> PreparedCall {
    return [&pool, args](const ActivePixels&, const ChangeTest*) { cpu::GroupNorm(args, pool); };
  };
  family.decode_boxes = [&pool](const DecodeBoxesArgs& args) -> PreparedCall {
    return [&pool, args](const ActivePixels&, const ChangeTest*) { cpu::DecodeBoxes(args, pool); };
  };
  family.non_max_suppression = [](const NonMaxSuppressionArgs& args) -> PreparedCall {
    return [args](const ActivePixels&, const ChangeTest*) { cpu::NonMaxSuppression(args); };
  };
  family.linear = [&pool](const LinearArgs& args) -> PreparedCall {
    const auto linear = std::make_shared<cpu::Linear>(args);
    const auto scratch = Scratch(linear->ScratchFloats(pool.threads()));
    return [&pool, args, linear, scratch](const ActivePixels&, const ChangeTest*) {
      linear->Run(args, pool, scratch->data());
    };
  };
  family.mat_mul = [&pool](const MatMulArgs& args) -> PreparedCall {
    const auto scratch = Scratch(cpu::MatMulScratchFloats(args));
    return [&pool, args, scratch](const ActivePixels&, const ChangeTest*) {
      cpu::MatMul(args, pool, scratch->data());
    };
  };
  family.halo_fetch = [&pool](const WarpCall& warp) -> PreparedCall {
    return [&pool, warp](const ActivePixels& pixels, const ChangeTest*) {
      cpu::HaloFetch(warp.args, warp.needed, warp.active, pixels.rows, warp.out_of_view, pool);
    };
  };
  family.warp_and_merge = [&pool](const WarpCall& warp) -> PreparedCall {
    return [&pool, warp](const ActivePixels& pixels, const ChangeTest*) {
      cpu::WarpAndMerge(warp.args, warp.active, pixels.rows, warp.out_of_view, pool);
    };
  };
  return family;
}

}  // namespace cacheinf
