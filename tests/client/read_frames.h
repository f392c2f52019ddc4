#ifndef CACHEINF_TESTS_CLIENT_READ_FRAMES_H_
#define CACHEINF_TESTS_CLIENT_READ_FRAMES_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/source/frame_source.h"

namespace cacheinf {

// All frames of a source.
inline std::vector<Frame> ReadFrames(const std::string& name) {
  const SteadyClock clock;
  const auto source = OpenSource(name, clock);
  std::vector<Frame> frames;
  while (std::optional<Frame> frame = source->Next()) frames.push_back(*std::move(frame));
  return frames;
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_CLIENT_READ_FRAMES_H_
