#include "profiler/fitted_clip.h"

#include <fmt/core.h>

#include <memory>
#include <optional>
#include <utility>

#include "common/base/error.h"
#include "common/base/median.h"
#include "common/model/picture.h"
#include "common/source/frame_source.h"
#include "profiler/fit.h"

namespace cacheinf {
namespace {

// Limit for pictures held in memory.
constexpr size_t kMostClipBytes = size_t{512} << 20;

}  // namespace

FittedClip ReadClip(const std::string& source, const Graph& graph, int frames, const Clock& clock) {
  if (graph.picture.width == 0) {
    throw InputError(fmt::format(
        "model '{}' takes tensors, but only a model that takes pictures can be profiled",
        graph.name));
  }
  const std::unique_ptr<FrameSource> opened = OpenSource(source, clock);
  FittedClip clip;
  clip.source = source;
  std::optional<PictureFit> fit;
  std::vector<double> fit_ms;
  while (static_cast<int>(clip.pictures.size()) < frames) {
    const std::optional<Frame> frame = opened->Next();
    if (!frame) break;
    const Picture& picture = frame->picture;
    if (picture.empty()) throw InputError(fmt::format("{} gives no pictures", source));
    if (!fit) fit.emplace(graph.picture, picture.width, picture.height);
    if (fit->columns().frame_size != picture.width || fit->rows().frame_size != picture.height) {
      break;
    }
    clip.width = fit->spec().width;
    clip.height = fit->spec().height;
    clip.channels = fit->channels();
    clip.place = fit->place();
    const size_t bytes = PictureView{nullptr, clip.width, clip.height, clip.channels}.byte_count();
    if ((clip.pictures.size() + 1) * bytes > kMostClipBytes) break;
    std::vector<uint8_t> pixels(bytes);
    const auto begin = clock.Now();
    fit->Resize(picture, {0, clip.height}, pixels.data());
    fit_ms.push_back(Milliseconds(clock.Now() - begin));
    clip.pictures.push_back(std::move(pixels));
  }
  if (static_cast<int>(clip.pictures.size()) < kLeastClipFrames) {
    throw InputError(fmt::format("{} gives {} frames of one size, but a profile needs {}", source,
                                 clip.pictures.size(), kLeastClipFrames));
  }
  clip.fit_ms = MedianOf(std::move(fit_ms));
  return clip;
}

std::vector<std::string> GeneratedClips(int frames) {
  std::vector<std::string> sources;
  for (const char* camera : {"still", "handheld"}) {
    sources.push_back(
        fmt::format("generated:seed=7,frames={},width=640,height=480,noise=2,camera={}",
                    (frames + 1) / 2, camera));
  }
  return sources;
}

}  // namespace cacheinf
