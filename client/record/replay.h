#ifndef CACHEINF_CLIENT_RECORD_REPLAY_H_
#define CACHEINF_CLIENT_RECORD_REPLAY_H_

#include <cstdint>
#include <filesystem>
#include <string>

#include "common/base/clock.h"

namespace cacheinf {

struct ReplayReport {
  int64_t frames = 0;
  int64_t differing = 0;         // of these, with other bits or another error than recorded
  std::string first_difference;  // for people
  std::string reason;            // why it was recorded
  std::string detail;
  std::string not_replayed;     // for people: what failed outside the robot; or empty
  bool is_other_build = false;  // than the one that recorded

  bool agrees() const { return differing == 0; }
};

// Runs the frames of a recording again, as the robot was told when it recorded them. Throws
// InputError, in one sentence, if the folder is no recording, the model is not the recorded one, or
// the schemes of its layers do not fit it.
ReplayReport Replay(const std::filesystem::path& folder, const Clock& clock);

// For people: a few lines.
std::string ToText(const ReplayReport& report);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_RECORD_REPLAY_H_
