#include "tests/sparse_ops/cpu_family.h"

#include <memory>

#include "sparse_ops/cpu/aligned_floats.h"
#include "sparse_ops/cpu/conv.h"

namespace cacheinf {

OperatorFamily CpuFamily(ThreadPool& pool) {
  OperatorFamily family;
  family.name = "cpu";
  family.is_sparse = true;
  family.conv = [&pool](const ConvArgs& args) -> PreparedCall {
    const auto conv = std::make_shared<cpu::Conv>(args);
    const auto scratch = std::make_shared<cpu::AlignedFloats>(conv->ScratchFloats(pool.threads()));
    return [&pool, args, conv, scratch](const ActivePixels& pixels, const ChangeTest*) {
      conv->Run(args.input, args.residual, args.output, pixels, pool, scratch->data());
    };
  };
  return family;
}

}  // namespace cacheinf
