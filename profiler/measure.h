#ifndef CACHEINF_PROFILER_MEASURE_H_
#define CACHEINF_PROFILER_MEASURE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/backend/backend.h"
#include "common/base/clock.h"
#include "common/exec/model_state.h"
#include "common/model/graph/graph.h"
#include "common/pair/shared_settings.h"
#include "common/plan/profile.h"
#include "profiler/fitted_clip.h"

namespace cacheinf {

struct Measurement {
  Profile heading;  // what the profile is of: side, model, machine, build …
  SharedSettings settings;
  std::vector<std::string> codecs;  // of pictures; those that this machine lacks are left out
  double seconds = 60;              // longer only if a few frames take longer
  std::vector<FittedClip> clips;
  // Reads an answer from the outputs; empty: they are copied.
  std::function<void(const ModelState& state)> read_answer = {};
  // Called now and then with the share that is done and the seconds left. Returning false ends the
  // measurement; its result is then meaningless.
  std::function<bool(double done, double left_s)> on_progress = {};
};

// Times every operator inside real frames, and inside frames made to compute other shares. Each
// round has all kinds, so that no kind meets a slower hour of the machine. A round's times are
// related to its whole frames; rounds that a busy machine disturbed do not count. The last quarter
// of every clip is held out and says how well times are predicted.
//
// Returns the heading, with the measurements filled in. Throws InputError if the settings do not
// fit the model. REQUIRES: a validated graph that takes pictures, with its schemes chosen, and at
// least one clip.
Profile Measure(std::shared_ptr<const Graph> graph, std::unique_ptr<Backend> backend,
                const Measurement& measurement, const Clock& clock);

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_MEASURE_H_
