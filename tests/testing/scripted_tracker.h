#ifndef CACHEINF_TESTS_TESTING_SCRIPTED_TRACKER_H_
#define CACHEINF_TESTS_TESTING_SCRIPTED_TRACKER_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "common/tracker/tracker.h"

namespace cacheinf {

// A camera that moves to the right and down, in pixels.
inline Motion Translation(double x, double y) {
  Motion motion;
  motion.reference_from_frame.m[0][2] = x;
  motion.reference_from_frame.m[1][2] = y;
  return motion;
}

// Returns the given motions, one per frame; then repeats the last, or the identity if there are
// none. It looks at no picture: an empty script is a camera that is known not to move.
class ScriptedTracker final : public Tracker {
 public:
  explicit ScriptedTracker(std::vector<Motion> script = {}) : script_(std::move(script)) {}

  void SetReference(const PictureView&) override { ++references_; }
  void SetReferenceToLastFrame() override { ++references_; }

  Motion Track(const PictureView&) override {
    if (script_.empty()) return {};
    return script_[next_ + 1 < script_.size() ? next_++ : next_];
  }

  // How often the reference was set.
  int references() const { return references_; }

 private:
  std::vector<Motion> script_;
  size_t next_ = 0;
  int references_ = 0;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_SCRIPTED_TRACKER_H_
