#ifndef CACHEINF_CLIENT_ANSWER_PICTURE_FILE_H_
#define CACHEINF_CLIENT_ANSWER_PICTURE_FILE_H_

#include <filesystem>
#include <opencv2/core.hpp>

namespace cacheinf {

// Writes a PNG file. False if it cannot be written completely.
bool WritePictureFile(const std::filesystem::path& path, const cv::Mat& picture);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_ANSWER_PICTURE_FILE_H_
