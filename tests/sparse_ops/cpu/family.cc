#include "tests/sparse_ops/cpu/family.h"

#include <memory>

#include "sparse_ops/cpu/aligned_floats.h"
#include "sparse_ops/cpu/change_test.h"
#include "sparse_ops/cpu/conv.h"
#include "sparse_ops/cpu/cpu.h"
#include "sparse_ops/cpu/products.h"
#include "sparse_ops/cpu/winograd.h"
#include "tests/sparse_ops/case_table.h"

namespace cacheinf {
namespace {

std::shared_ptr<cpu::AlignedFloats> Scratch(size_t floats) {
  return std::make_shared<cpu::AlignedFloats>(floats);
}

ImageView AsMap(const ImageView& output) { return output; }
ImageView AsMap(const TensorView& output) {
  return output.rank == 4 ? AsImage(output) : ImageView{nullptr, 1, 1, 1, 1, 0, 0, 0};
}

struct CpuPreparer {
  PreparedCall operator()(const ConvArgs& args) const {
    const auto conv = std::make_shared<cpu::Conv>(args);
    const auto scratch = Scratch(conv->ScratchFloatsWithTest(pool.threads()));
    return [&pool = pool, args, conv, scratch](const ActivePixels& pixels, const ChangeTest* test) {
      conv->Run(args.input, args.residual, args.output, pixels, test, pool, scratch->data());
    };
  }
  PreparedCall operator()(const WinogradArgs& args) const {
    const auto winograd = std::make_shared<cpu::Winograd>(args);
    const auto scratch = Scratch(winograd->ScratchFloats(args.output, pool.threads()));
    return [&pool = pool, args, winograd, scratch](const ActivePixels& pixels,
                                                   const ChangeTest* test) {
      winograd->Run(args.input, args.residual, args.output, pixels, test, pool, scratch->data());
    };
  }
  PreparedCall operator()(const LinearArgs& args) const {
    const auto linear = std::make_shared<cpu::Linear>(args);
    const auto scratch = Scratch(linear->ScratchFloats(pool.threads()));
    return [&pool = pool, args, linear, scratch](const ActivePixels&, const ChangeTest*) {
      linear->Run(args, pool, scratch->data());
    };
  }
  PreparedCall operator()(const MatMulArgs& args) const {
    const auto scratch = Scratch(cpu::MatMulScratchFloats(args));
    return [&pool = pool, args, scratch](const ActivePixels&, const ChangeTest*) {
      cpu::MatMul(args, pool, scratch->data());
    };
  }
  PreparedCall operator()(const WarpCall& warp) const {
    return [&pool = pool, warp](const ActivePixels& pixels, const ChangeTest*) {
      cpu::Compute(warp.Wanting(pixels), pool);
    };
  }
  template <typename Args>
  PreparedCall operator()(const Args& args) const {
    if constexpr (kIsNeverLocal<Args>) {
      return [&pool = pool, args](const ActivePixels&, const ChangeTest*) {
        cpu::Compute(args, pool);
      };
    } else {
      const ImageView output = AsMap(args.output);
      const auto scratch =
          Scratch(cpu::TestScratchFloats(output.width, output.channels, pool.threads()));
      return [=, &pool = pool](const ActivePixels& pixels, const ChangeTest* test) {
        if (test == nullptr) return cpu::Compute(args, pixels, pool);
        ThreadPool alone(1);
        cpu::RunWithTest(output, pixels, *test, pool, scratch->data(),
                         [&](const ActivePixels& part) { cpu::Compute(args, part, alone); });
      };
    }
  }

  ThreadPool& pool;
};

}  // namespace

OperatorFamily CpuFamily(ThreadPool& pool) {
  return {"cpu", /*takes_only_rows=*/false,
          [&pool](const OperatorArgs& args) { return std::visit(CpuPreparer{pool}, args); }};
}

}  // namespace cacheinf
