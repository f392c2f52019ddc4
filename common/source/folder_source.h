#ifndef CACHEINF_COMMON_SOURCE_FOLDER_SOURCE_H_
#define CACHEINF_COMMON_SOURCE_FOLDER_SOURCE_H_

#include <filesystem>
#include <memory>

#include "common/source/frame_source.h"

namespace cacheinf {

// Goes by the extension.
bool IsPictureFile(const std::filesystem::path& path);

// The .npy files of a folder, or else its pictures, in the order of their names.
// Throws InputError if it has neither, or both.
std::unique_ptr<FrameSource> OpenFolder(const std::filesystem::path& folder);

// A video of one frame.
std::unique_ptr<FrameSource> OpenPictureFile(const std::filesystem::path& path);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_SOURCE_FOLDER_SOURCE_H_
