#ifndef CACHEINF_COMMON_BASE_BUILD_ID_H_
#define CACHEINF_COMMON_BASE_BUILD_ID_H_

#include <string>

namespace cacheinf {

// The linker's build id of the program that this is linked into, or of the library, such as
// Python's module: hexadecimal digits that differ where it is built from other code. Empty if the
// linker wrote none.
std::string BuildId();

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_BUILD_ID_H_
