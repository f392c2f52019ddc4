#ifndef CACHEINF_COMMON_BASE_MODULE_H_
#define CACHEINF_COMMON_BASE_MODULE_H_

namespace cacheinf {

// Loads a module of ours, which is a library that few runs need and that lies where programs are,
// and calls its function `entry`. Throws InputError if it cannot be loaded; `what` then says what
// is missing, as in "LibTorch, which this model needs,".
const void* LoadModule(const char* module, const char* entry, const char* what);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_MODULE_H_
