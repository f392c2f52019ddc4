#ifndef CACHEINF_COMMON_BASE_BUILD_ID_H_
#define CACHEINF_COMMON_BASE_BUILD_ID_H_

#include <string>

namespace cacheinf {

// What the linker wrote into the running program: hexadecimal digits that differ where a program
// was built from other code. Empty if it wrote nothing.
std::string BuildId();

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_BUILD_ID_H_
