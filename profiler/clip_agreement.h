#ifndef CACHEINF_PROFILER_CLIP_AGREEMENT_H_
#define CACHEINF_PROFILER_CLIP_AGREEMENT_H_

#include <functional>
#include <memory>
#include <vector>

#include "common/base/clock.h"
#include "common/config/model_config.h"
#include "common/exec/compiled_model.h"
#include "common/pair/shared_settings.h"
#include "common/plan/profile.h"
#include "profiler/fitted_clip.h"

namespace cacheinf {

// Generated shapes say nothing about what a camera sees.
bool ShowsAgreement(const FittedClip& clip);

// Fills in the profile's agreements with dense answers, from the clips that show them: those of its
// codecs (plan_trial.h), and of the robot's cache under these settings, frame by frame with the
// refresh after each. Takes about so many seconds, unless all frames are judged earlier; but judges
// some frames of each clip. `go_on` hears the seconds left; returning false ends it. REQUIRES: a
// clip that shows it, and settings that fit the model.
void JudgeOnClips(const std::shared_ptr<const CompiledModel>& model, const SharedSettings& settings,
                  const DecoderConfig& decoder, const std::vector<FittedClip>& clips,
                  double seconds, const Clock& clock,
                  const std::function<bool(double left_s)>& go_on, Profile* profile);

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_CLIP_AGREEMENT_H_
