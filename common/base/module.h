#ifndef CACHEINF_COMMON_BASE_MODULE_H_
#define CACHEINF_COMMON_BASE_MODULE_H_

namespace cacheinf {

// Loads a module of ours, a library that few runs need and that lies beside the programs, and calls
// its function `entry`. Throws InputError if it cannot be loaded; `what` then says what is missing,
// as in "LibTorch, which this model needs,".
const void* LoadModule(const char* module, const char* entry, const char* what);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_MODULE_H_
