#ifndef CACHEINF_PROFILER_OBTAIN_PROFILE_H_
#define CACHEINF_PROFILER_OBTAIN_PROFILE_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/backend/backend.h"
#include "common/base/clock.h"
#include "common/config/model_config.h"
#include "common/exec/model_state.h"
#include "common/model/graph/graph.h"
#include "common/pair/shared_settings.h"
#include "common/plan/profile.h"

namespace cacheinf {

// The picture codecs that plans choose from by default; of each kind the usual quality first.
std::vector<std::string> DefaultPictureCodecs();
// The same for a robot that needs every picture's bits.
std::vector<std::string> LosslessPictureCodecs();

// What to profile.
struct ProfileRequest {
  Side side = Side::kRobot;
  std::shared_ptr<const Graph> graph;  // with its schemes chosen
  std::function<std::unique_ptr<Backend>()> make_backend;
  std::string backend;
  int threads = 1;
  SharedSettings settings;         // the robot's, also on the server
  std::vector<std::string> clips;  // sources; none: generated motion
  int frames = 120;                // of each
  std::vector<std::string> codecs = DefaultPictureCodecs();
  std::vector<double> watts;  // computing, sending, waiting; empty: unknown
  double seconds = 60;
  // See Measurement.
  std::function<void(const ModelState& state)> read_answer = {};
  // Reads answers, so that a robot's clips show agreement; none: they do not.
  std::optional<DecoderConfig> decoder = {};
};

// Names the profile's file: 16 hexadecimal digits that differ if model, settings, clips with their
// files, frames, codecs, machine or build do.
std::string NameOf(const ProfileRequest& request);

// Returns a profile of the request without any measurements.
Profile Heading(const ProfileRequest& request);

// Returns the file's profile if it fits the request, and was measured for as many seconds at least.
std::optional<Profile> KnownProfile(const ProfileRequest& request,
                                    const std::filesystem::path& file);

struct ObtainedProfile {
  Profile profile;
  bool was_known = false;   // read from the file, not measured
  bool is_in_file = false;  // as it is; else the caller writes it, if it is to be kept
};

// Returns the file's profile, with the watts of this request, if it is known (KnownProfile) and
// need not be measured again; else measures it. `on_progress` as in Measurement: false ends it.
// Throws Stopped if it was ended, InputError if the request does not fit the model.
ObtainedProfile ObtainProfile(const ProfileRequest& request, const std::filesystem::path& file,
                              bool measure_again, const Clock& clock,
                              const std::function<bool(double done, double left_s)>& on_progress);

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_OBTAIN_PROFILE_H_
