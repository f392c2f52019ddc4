#ifndef CACHEINF_COMMON_BASE_BUILD_ID_H_
#define CACHEINF_COMMON_BASE_BUILD_ID_H_

#include <string>

namespace cacheinf {

// The linker's build id of the program or library (Python's module, say) that this is linked into:
// hexadecimal digits that differ if it is built from other code. Empty if the linker wrote none.
std::string BuildId();

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_BUILD_ID_H_
