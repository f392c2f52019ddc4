#ifndef CACHEINF_PROFILER_ROUGH_PROFILE_H_
#define CACHEINF_PROFILER_ROUGH_PROFILE_H_

#include <memory>

#include "common/base/clock.h"
#include "common/exec/compiled_model.h"
#include "common/plan/profile.h"
#include "profiler/obtain_profile.h"

namespace cacheinf {

// Returns the time of a whole frame: the fastest of a few, not counting the first. REQUIRES: a
// model that takes pictures.
double TimeDenseFrame(const std::shared_ptr<const CompiledModel>& model, const Clock& clock);

// Returns a guess at the request's profile, until it is measured: a whole frame's time, shared out
// among operators by what they compute, its answer, and tables of what codecs take. The model is
// the request's graph, compiled for its backend.
Profile RoughProfile(const ProfileRequest& request,
                     const std::shared_ptr<const CompiledModel>& model, const Clock& clock);

// Returns a guess at a server's profile, until it is measured: the robot's, scaled so that a whole
// frame takes `dense_ms`.
Profile RoughServerProfile(const Profile& robot, double dense_ms);

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_ROUGH_PROFILE_H_
