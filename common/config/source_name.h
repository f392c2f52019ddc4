#ifndef CACHEINF_COMMON_CONFIG_SOURCE_NAME_H_
#define CACHEINF_COMMON_CONFIG_SOURCE_NAME_H_

#include <string>

// What a source's name is (OpenSource), by its letters alone.

namespace cacheinf {

// Whether it is a camera's number. A folder may have the same name.
bool IsCamera(const std::string& source);

// Whether it is a file or folder: no camera's number, address, pipeline or generator.
bool IsFileOrFolder(const std::string& source);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CONFIG_SOURCE_NAME_H_
