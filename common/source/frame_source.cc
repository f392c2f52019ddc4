#include "common/source/frame_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "common/base/error.h"
#include "common/source/folder_source.h"
#include "common/source/scene_source.h"
#include "common/source/video_source.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGenerated = "generated";
constexpr size_t kMostCameraDigits = 4;

bool IsCamera(const std::string& spec) {
  return spec.size() <= kMostCameraDigits &&
         std::all_of(spec.begin(), spec.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::unique_ptr<FrameSource> OpenSource(const std::string& spec, const Clock& clock) {
  if (spec.empty()) throw InputError("no source is given");
  if (spec == kGenerated) return OpenSceneSource("");
  if (spec.starts_with(std::string(kGenerated) + ":")) {
    return OpenSceneSource(spec.substr(kGenerated.size() + 1));
  }
  if (IsCamera(spec)) return OpenCamera(std::stoi(spec), clock);
  if (spec.find('!') != std::string::npos) return OpenPipeline(spec, clock);
  if (spec.find("://") != std::string::npos) return OpenVideo(spec);

  std::error_code error;
  const fs::file_status status = fs::status(spec, error);
  if (!fs::exists(status)) throw InputError(fmt::format("source {}: no such file or folder", spec));
  if (fs::is_directory(status)) return OpenFolder(spec);
  if (IsPictureFile(spec)) return OpenPictureFile(spec);
  return OpenVideo(spec);
}

}  // namespace cacheinf
