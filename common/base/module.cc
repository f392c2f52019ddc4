#include "common/base/module.h"

#include <dlfcn.h>

#include <string>

#include "common/base/error.h"

namespace cacheinf {

const void* LoadModule(const char* module, const char* entry, const char* what) {
  void* const loaded = dlopen(module, RTLD_NOW | RTLD_LOCAL);
  void* const function = loaded == nullptr ? nullptr : dlsym(loaded, entry);
  if (function == nullptr) {
    throw InputError(std::string(what) + " cannot be loaded: " + dlerror() + " (" + module +
                     " is installed beside cacheinf-robot: put that folder into LD_LIBRARY_PATH)");
  }
  return reinterpret_cast<const void* (*)()>(function)();
}

}  // namespace cacheinf
