#include "common/model/torchscript/libtorch.h"

#include <dlfcn.h>

#include <mutex>
#include <string>

#include "common/base/error.h"
#include "common/model/torchscript/torchscript.h"

namespace cacheinf {
namespace {

// Where programs are, which is what they are linked to look through.
constexpr const char* kModule = "cacheinf-torch.so";

struct Shared {
  std::mutex mutex;
  const LibTorch* loaded = nullptr;
  int threads = 0;  // 0: as many as LibTorch likes
};

Shared& TheOne() {
  static Shared shared;
  return shared;
}

const LibTorch* Load() {
  void* const module = dlopen(kModule, RTLD_NOW | RTLD_LOCAL);
  void* const entry = module == nullptr ? nullptr : dlsym(module, "CacheInfLibTorch");
  if (entry == nullptr) {
    throw InputError(std::string("LibTorch, which this model needs, cannot be loaded: ") +
                     dlerror() + " (" + kModule +
                     " is installed beside cacheinf-robot: put that folder into LD_LIBRARY_PATH)");
  }
  return reinterpret_cast<const LibTorch* (*)()>(entry)();
}

}  // namespace

const LibTorch& LoadLibTorch() {
  Shared& shared = TheOne();
  const std::lock_guard lock(shared.mutex);
  if (shared.loaded == nullptr) {
    shared.loaded = Load();
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
