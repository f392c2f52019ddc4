#ifndef CACHEINF_CLIENT_ANSWER_PICTURE_FILE_H_
#define CACHEINF_CLIENT_ANSWER_PICTURE_FILE_H_

#include <filesystem>
#include <opencv2/core.hpp>

namespace cacheinf {

// As PNG. False if the file cannot be written whole.
bool WritePictureFile(const std::filesystem::path& path, const cv::Mat& picture);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_ANSWER_PICTURE_FILE_H_
