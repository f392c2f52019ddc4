#include "common/source/frame_source.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <thread>
#include <utility>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/source/folder_source.h"
#include "common/source/reopening_source.h"
#include "common/source/scene_source.h"
#include "common/source/video_source.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGenerated = "generated";
constexpr size_t kMostCameraDigits = 4;

bool IsCamera(const std::string& spec) {
  return spec.size() <= kMostCameraDigits &&
         std::ranges::all_of(spec, [](char c) { return c >= '0' && c <= '9'; });
}

// "rtsp" for "RTSP://host/path"; empty if it is not an address.
std::string SchemeOf(const std::string& spec) {
  const size_t end = spec.find("://");
  if (end == std::string::npos) return "";
  std::string scheme = spec.substr(0, end);
  std::transform(scheme.begin(), scheme.end(), scheme.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return scheme;
}

bool IsStream(const std::string& scheme) {
  constexpr std::array<std::string_view, 7> kSchemes = {"rtsp", "rtsps", "rtmp", "rtmps",
                                                        "rtp",  "srt",   "udp"};
  return std::ranges::find(kSchemes, scheme) != kSchemes.end();
}

// Whether a pipeline ends by itself.
bool HasEnd(const std::string& pipeline) {
  return pipeline.find("filesrc") != std::string::npos ||
         pipeline.find("num-buffers") != std::string::npos;
}

// Sleeps until the time or the run is over.
ReopeningSource::Pause PauseOf(const CameraPatience& patience) {
  return [is_over = patience.is_over](std::chrono::nanoseconds time) {
    constexpr std::chrono::milliseconds kLongestSleep{50};
    const auto end = std::chrono::steady_clock::now() + time;
    while (!(is_over && is_over()) && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(kLongestSleep);
    }
  };
}

std::unique_ptr<FrameSource> OpenLive(std::string name, ReopeningSource::Open open,
                                      const Clock& clock, const CameraPatience& patience) {
  if (patience.longest.count() == 0) return open();
  return std::make_unique<ReopeningSource>(std::move(name), std::move(open), clock, patience,
                                           PauseOf(patience));
}

// The source says what it is only once it is open.
std::unique_ptr<FrameSource> OpenFromWeb(const std::string& address, const Clock& clock,
                                         const CameraPatience& patience) {
  std::unique_ptr<FrameSource> source = OpenWhenThere(
      "stream " + address, [&] { return OpenVideoOrStream(address, clock); }, clock, patience,
      PauseOf(patience));
  if (!source->is_live()) return source;
  const auto opened = std::make_shared<std::unique_ptr<FrameSource>>(std::move(source));
  const auto open = [opened, address, &clock] {
    return *opened ? std::move(*opened) : OpenStream(address, clock);
  };
  return OpenLive("stream " + address, open, clock, patience);
}

}  // namespace

std::unique_ptr<FrameSource> OpenSource(const std::string& spec, const Clock& clock,
                                        const CameraPatience& patience) {
  if (spec.empty()) throw InputError("no source is given");
  if (spec == kGenerated) return OpenSceneSource("");
  if (spec.starts_with(std::string(kGenerated) + ":")) {
    return OpenSceneSource(spec.substr(kGenerated.size() + 1));
  }
  if (IsCamera(spec)) {
    const auto open = [number = std::stoi(spec), &clock] { return OpenCamera(number, clock); };
    return OpenLive("camera " + spec, open, clock, patience);
  }
  std::error_code error;
  if (spec.find('!') != std::string::npos && !fs::exists(spec, error)) {
    const auto open = [spec, &clock] { return OpenPipeline(spec, clock); };
    return HasEnd(spec) ? open()
                        : OpenLive(fmt::format("pipeline \"{}\"", spec), open, clock, patience);
  }
  const std::string scheme = SchemeOf(spec);
  if (IsStream(scheme)) {
    const auto open = [spec, &clock] { return OpenStream(spec, clock); };
    return OpenLive("stream " + spec, open, clock, patience);
  }
  if (scheme == "http" || scheme == "https") return OpenFromWeb(spec, clock, patience);
  if (!scheme.empty()) return OpenVideo(spec);

  const fs::file_status status = fs::status(spec, error);
  if (!fs::exists(status)) throw InputError(fmt::format("source {}: no such file or folder", spec));
  if (fs::is_directory(status)) return OpenFolder(spec);
  if (IsPictureFile(spec)) return OpenPictureFile(spec);
  if (fs::is_fifo(status)) LogInfo(fmt::format("source {} is a pipe: waiting for a writer", spec));
  return OpenVideo(spec);
}

}  // namespace cacheinf
