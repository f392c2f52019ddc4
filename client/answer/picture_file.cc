#include "client/answer/picture_file.h"

#include <cstdint>
#include <fstream>
#include <opencv2/imgcodecs.hpp>
#include <vector>

namespace cacheinf {

bool WritePictureFile(const std::filesystem::path& path, const cv::Mat& picture) {
  // imwrite would not tell of a full disk.
  std::vector<uint8_t> bytes;
  try {
    if (!cv::imencode(".png", picture, bytes)) return false;
  } catch (const cv::Exception&) {
    return false;
  }
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  file.close();
  return !file.fail();
}

}  // namespace cacheinf
