#include "common/source/folder_source.h"

#include <fmt/core.h>

#include <algorithm>
#include <opencv2/imgcodecs.hpp>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/npy.h"
#include "common/source/opencv_picture.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

std::string LowerExtension(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension;
}

Tensor ReadTensor(const fs::path& path) {
  NpyArray array = ReadNpy(path);
  auto* values = std::get_if<std::vector<float>>(&array.values);
  if (values == nullptr || array.shape.empty() || values->empty()) {
    throw InputError(fmt::format("{}: not a float32 array with numbers in it", path.string()));
  }
  return Tensor(array.shape, std::move(*values));
}

// One frame a file. A file that cannot be read is skipped.
class FileSource final : public FrameSource {
 public:
  FileSource(fs::path name, std::vector<fs::path> files, bool has_tensors)
      : name_(std::move(name)), files_(std::move(files)), has_tensors_(has_tensors) {}

  std::optional<Frame> Next() override {
    std::string reason;
    while (next_ < files_.size()) {
      Frame frame;
      frame.index = static_cast<int64_t>(next_);
      const fs::path& file = files_[next_++];
      frame.name = file.string();
      try {
        if (has_tensors_) {
          frame.tensor = ReadTensor(file);
        } else {
          frame.picture = ReadPictureFile(file, cv::IMREAD_COLOR | cv::IMREAD_ANYDEPTH);
        }
        return frame;
      } catch (const InputError& error) {
        reason = error.what();
        LogWarning(fmt::format("frame {} skipped: {}", frame.index, reason));
        ++skipped_;
      }
    }
    if (skipped_ == static_cast<int64_t>(files_.size())) {
      throw InputError(fmt::format("source {}: no frame can be read ({})", name_.string(), reason));
    }
    return std::nullopt;
  }

  int64_t skipped() const override { return skipped_; }
  bool is_live() const override { return false; }
  bool has_tensors() const override { return has_tensors_; }
  double frame_rate() const override { return 0; }

 private:
  fs::path name_;
  std::vector<fs::path> files_;
  bool has_tensors_;
  size_t next_ = 0;
  int64_t skipped_ = 0;
};

}  // namespace

bool IsPictureFile(const fs::path& path) {
  static const std::vector<std::string> kExtensions = {".jpg", ".jpeg", ".png",  ".bmp", ".ppm",
                                                       ".pgm", ".tif",  ".tiff", ".webp"};
  return std::ranges::find(kExtensions, LowerExtension(path)) != kExtensions.end();
}

std::unique_ptr<FrameSource> OpenFolder(const fs::path& folder) {
  std::vector<fs::path> tensors;
  std::vector<fs::path> pictures;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (LowerExtension(entry.path()) == ".npy") tensors.push_back(entry.path());
    if (IsPictureFile(entry.path())) pictures.push_back(entry.path());
  }
  if (error) throw InputError(fmt::format("source {}: {}", folder.string(), error.message()));
  if (tensors.empty() && pictures.empty()) {
    throw InputError(
        fmt::format("source {}: the folder has neither pictures nor .npy files", folder.string()));
  }
  if (!tensors.empty() && !pictures.empty()) {
    throw InputError(
        fmt::format("source {}: the folder has both pictures and .npy files", folder.string()));
  }
  const bool has_tensors = !tensors.empty();
  std::vector<fs::path>& files = has_tensors ? tensors : pictures;
  std::ranges::sort(files);
  return std::make_unique<FileSource>(folder, std::move(files), has_tensors);
}

std::unique_ptr<FrameSource> OpenPictureFile(const fs::path& path) {
  return std::make_unique<FileSource>(path, std::vector<fs::path>{path}, /*has_tensors=*/false);
}

}  // namespace cacheinf
