#ifndef CACHEINF_COMMON_BASE_BUILD_ID_H_
#define CACHEINF_COMMON_BASE_BUILD_ID_H_

#include <string>

namespace cacheinf {

// The linker's build id of the running program: hexadecimal digits that differ for programs built
// from other code. Empty if the linker wrote none.
std::string BuildId();

// Programs of the same one compute the same bits: CacheInf's version.
std::string BitsId();

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_BUILD_ID_H_
