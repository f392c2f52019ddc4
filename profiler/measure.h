#ifndef CACHEINF_PROFILER_MEASURE_H_
#define CACHEINF_PROFILER_MEASURE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/codec/slice_codec.h"
#include "common/config/tracker_config.h"
#include "common/exec/backend.h"
#include "common/exec/model_state.h"
#include "common/model/graph/graph.h"
#include "common/plan/profile.h"
#include "common/reuse/settings.h"
#include "profiler/fitted_clip.h"

namespace cacheinf {

struct Measurement {
  Side side = Side::kRobot;
  ReuseSettings settings;
  TrackerConfig tracker;
  SliceCodec slice_codec = SliceCodec::kZstd;
  int most_scores = 0;              // that a server sends of the first output; 0: all
  std::vector<std::string> codecs;  // of pictures; those that this machine lacks are left out
  double seconds = 60;              // longer only if a few frames take that long
  std::vector<FittedClip> clips;
  // How an answer is read out of the outputs; empty: they are copied.
  std::function<void(const ModelState& state)> read_answer = {};
  // Now and then: the share that is done, and the seconds that are left. False ends it; then
  // nothing is to be relied upon.
  std::function<bool(double done, double left_s)> on_progress = {};
};

// Times every operator inside real frames, and inside frames made to compute other shares, in
// rounds of all kinds, so that nobody's hour is another's minute. A round's times are held against
// what a whole frame took in it; rounds that a busy machine disturbed do not count. The last
// quarter of every clip is held out and says how well times are predicted.
//
// Fills what is measured; what it is of (model, machine, build …) is the caller's to say. Throws
// InputError if the settings do not fit the model. REQUIRES: a validated graph that takes pictures,
// with its schemes chosen, and a clip at least. The clock outlives this.
Profile Measure(std::shared_ptr<const Graph> graph, std::unique_ptr<Backend> backend,
                const Measurement& measurement, const Clock& clock);

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_MEASURE_H_
