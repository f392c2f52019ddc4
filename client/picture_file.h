#ifndef CACHEINF_CLIENT_PICTURE_FILE_H_
#define CACHEINF_CLIENT_PICTURE_FILE_H_

#include <filesystem>
#include <opencv2/core.hpp>

namespace cacheinf {

// Whether the extension names a format that pictures can be written in.
bool IsPictureFileName(const std::filesystem::path& path);

// In the format that the path's extension names. False if that is none, or it cannot be written.
bool WritePictureFile(const std::filesystem::path& path, const cv::Mat& picture);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_PICTURE_FILE_H_
