#ifndef CACHEINF_PROFILER_ROUGH_PROFILE_H_
#define CACHEINF_PROFILER_ROUGH_PROFILE_H_

#include <memory>

#include "common/base/clock.h"
#include "common/exec/compiled_model.h"
#include "common/plan/profile.h"
#include "profiler/obtain_profile.h"

namespace cacheinf {

// Returns what a whole frame takes: the fastest of a few, of which the first does not count.
// REQUIRES: a model that takes pictures.
double TimeDenseFrame(const std::shared_ptr<const CompiledModel>& model, const Clock& clock);

// Returns what the request's profile may be like, until it is measured: a whole frame's time,
// shared out to operators by what they compute, its answer, and tables of what codecs take. The
// model is the request's graph, compiled for its backend.
Profile RoughProfile(const ProfileRequest& request,
                     const std::shared_ptr<const CompiledModel>& model, const Clock& clock);

// Returns what a server's profile may be like, until it is measured: the robot's, on a machine as
// much faster or slower as a whole frame of `dense_ms` is.
Profile RoughServerProfile(const Profile& robot, double dense_ms);

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_ROUGH_PROFILE_H_
