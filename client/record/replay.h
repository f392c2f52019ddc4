#ifndef CACHEINF_CLIENT_RECORD_REPLAY_H_
#define CACHEINF_CLIENT_RECORD_REPLAY_H_

#include <cstdint>
#include <filesystem>
#include <string>

#include "common/base/clock.h"

namespace cacheinf {

struct ReplayReport {
  int64_t frames = 0;
  int64_t differing = 0;         // frames with other bits or another error than recorded
  std::string first_difference;  // for people
  std::string reason;            // why it was recorded
  std::string detail;
  std::string not_replayed;     // for people: what failed outside the robot; empty: nothing
  bool is_other_build = false;  // than the build that recorded

  bool agrees() const { return differing == 0; }
};

// Runs a recording's frames again, with what the robot was told at the time. Throws InputError, in
// one sentence, if the folder is not a recording, the model is not the recorded one, or the schemes
// of its layers do not fit it.
ReplayReport Replay(const std::filesystem::path& folder, const Clock& clock);

// Returns a few lines for people.
std::string ToText(const ReplayReport& report);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_RECORD_REPLAY_H_
