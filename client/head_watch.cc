#include "client/head_watch.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "client/robot_setup.h"
#include "common/base/error.h"
#include "common/base/log.h"

namespace cacheinf {

void HeadWatch::Before(const Frame& frame) {
  if (is_over_ || frames_ < next_trial_) return;
  if (frame.picture.empty()) return;
  if (!trials_) trials_.emplace(config_, std::exchange(network_, {}), ThreadsToUse(config_));
  is_over_ = !trials_->is_needed();
  if (!is_over_ && !trials_->Fits(frame.picture)) return;  // the robot skips it
  if (!is_over_) {
    const HeadTrial trial = trials_->Try(frame.picture);
    if (!trial.contradiction.empty()) {
      throw InputError(DescribeContradiction(trial, config_.model));
    }
    if (frames_ == 0 && !trial.unconfirmed.empty()) LogWarning(trial.unconfirmed);
    is_over_ = trial.has_evidence;
  }
  next_trial_ = std::max<int64_t>(1, 2 * frames_);
  if (!is_over_ && frames_ <= kFirstFrames && next_trial_ > kFirstFrames) {
    LogWarning(
        fmt::format("nothing in the first {} frames tells whether the outputs are read right: if "
                    "the frames hold what the model knows, see what cacheinf-profile check says of "
                    "decoder.kind and preprocess",
                    frames_ + 1));
  }
  if (is_over_) trials_.reset();
}

void HeadWatch::After(const AnswerReader& reader) {
  ++frames_;
  if (frames_ == kFirstFrames && !reader.Doubt().empty()) {
    LogWarning(reader.Doubt() + "; see the picture that cacheinf-profile check draws");
  }
  if (has_warned_ || reader.contradiction().empty()) return;
  const std::string text =
      fmt::format("{}: its answers contradict decoder.kind \"{}\": {}; see cacheinf-profile check",
                  config_.model, NameOf(reader.kind()), reader.contradiction());
  if (frames_ <= kFirstFrames) throw InputError(text);
  has_warned_ = true;
  LogWarning(text);
}

}  // namespace cacheinf
