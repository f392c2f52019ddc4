#include "common/model/torchscript/libtorch.h"

#include <mutex>

#include "common/base/module.h"
#include "common/model/torchscript/torchscript.h"

namespace cacheinf {
namespace {

struct Shared {
  std::mutex mutex;
  const LibTorch* loaded = nullptr;
  int threads = 0;  // 0: as many as LibTorch likes
};

Shared& TheOne() {
  static Shared shared;
  return shared;
}

}  // namespace

const LibTorch& LoadLibTorch() {
  Shared& shared = TheOne();
  const std::lock_guard lock(shared.mutex);
  if (shared.loaded == nullptr) {
    shared.loaded = static_cast<const LibTorch*>(
        LoadModule("cacheinf-torch.so", "CacheInfLibTorch", "LibTorch, which this model needs,"));
    if (shared.threads > 0) shared.loaded->set_threads(shared.threads);
  }
  return *shared.loaded;
}

void SetTorchThreads(int threads) {
  Shared& shared = TheOne();
  const std::lock_guard lock(shared.mutex);
  shared.threads = threads;
  if (shared.loaded != nullptr) shared.loaded->set_threads(threads);
}

Graph ImportTorchScript(const std::filesystem::path& path, const LoadOptions& options) {
  return LoadLibTorch().import(path, options);
}

}  // namespace cacheinf
