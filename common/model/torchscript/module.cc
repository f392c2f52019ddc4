// The content of the module cacheinf-torch.so.

#include <ATen/Parallel.h>

#include "common/model/torchscript/importer.h"
#include "common/model/torchscript/libtorch.h"

extern "C" __attribute__((visibility("default"))) const cacheinf::LibTorch* CacheInfLibTorch() {
  static constexpr cacheinf::LibTorch kLibTorch = {
      &cacheinf::torchscript::Import, &cacheinf::torchscript::MakeForeignOperator,
      [](int threads) { at::set_num_threads(threads); }};
  return &kLibTorch;
}
