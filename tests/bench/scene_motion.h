#ifndef CACHEINF_TESTS_BENCH_SCENE_MOTION_H_
#define CACHEINF_TESTS_BENCH_SCENE_MOTION_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "common/model/picture.h"
#include "common/source/frame_source.h"
#include "tests/bench/replay.h"
#include "tests/bench/timing.h"

namespace cacheinf {

// Moves answers to the frames of a camera that shows a clip, as a robot that looks at every frame
// does (common/answer/moved_answer.h). It takes no time that anything counts.
class SceneMotion {
 public:
  explicit SceneMotion(const std::vector<Frame>& clip);

  // REQUIRES: `from` is before `to`.
  SharedContent Moved(const SharedContent& answer, int64_t from, int64_t to);

  // What moving an answer by a frame takes here, in the median so far; 0 where nothing moves.
  double move_ms() const { return move_ms_.ms.empty() ? 0 : move_ms_.Median(); }

  Mover mover() {
    return [this](const SharedContent& answer, int64_t from, int64_t to) {
      return Moved(answer, from, to);
    };
  }

 private:
  const Picture& FrameAt(int64_t captured) const;
  std::vector<SharedContent> Follow(const SharedContent& answer, int64_t from, size_t frames);

  std::vector<Picture> frames_;
  // By the answer and its frame: how it looks one frame later, two, and so on.
  std::map<std::pair<SharedContent, int64_t>, std::vector<SharedContent>> known_;
  Samples move_ms_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_SCENE_MOTION_H_
