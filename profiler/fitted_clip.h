#ifndef CACHEINF_PROFILER_FITTED_CLIP_H_
#define CACHEINF_PROFILER_FITTED_CLIP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/picture_view.h"
#include "common/model/graph/graph.h"

namespace cacheinf {

// Successive frames as a model takes them.
struct FittedClip {
  std::string source;
  int width = 0;  // of the model's picture
  int height = 0;
  int channels = 0;
  Rectangle place;  // the part that shows the frames
  std::vector<std::vector<uint8_t>> pictures;
  double fit_ms = 0;  // median

  PictureView picture(size_t index) const {
    return {pictures[index].data(), width, height, channels};
  }
};

// Reads the first frames of a source (frame_source.h), all of the first one's size. Throws
// InputError if there are too few frames to follow a change (kLeastClipFrames), or the model takes
// none of them.
inline constexpr int kLeastClipFrames = 8;
FittedClip ReadClip(const std::string& source, const Graph& graph, int frames, const Clock& clock);

// Generated motion: half of the frames with a still camera, half with one held in a hand.
std::vector<std::string> GeneratedClips(int frames);

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_FITTED_CLIP_H_
