#ifndef CACHEINF_CLIENT_IDLE_PROFILE_H_
#define CACHEINF_CLIENT_IDLE_PROFILE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/config/robot_config.h"
#include "common/exec/compiled_model.h"
#include "common/plan/profile.h"

namespace cacheinf {

// The picture codecs that a robot's plans choose from, if it has a server: the usual ones and its
// own. An exact robot takes only lossless ones.
std::vector<std::string> CodecsToChooseFrom(const RobotConfig& config);

// What a robot's model costs on its machine: at once rough figures, unless an earlier run has
// measured it; then figures measured on another thread while the robot has nothing to do. Keeps
// both in the cache folder, if it can be written; else warns.
class IdleProfile {
 public:
  // Takes a few frames' time if no earlier run has left rough figures. The clock must outlive this.
  // REQUIRES: a model that takes pictures.
  IdleProfile(const std::shared_ptr<const CompiledModel>& model, const RobotConfig& config,
              const Clock& clock);
  ~IdleProfile();  // gives up what is not measured yet

  // Measures until Pause, unless all is measured. Neither call waits: the operator under way is
  // finished.
  void Resume();
  void Pause();

  // Returns each profile once, the first one at once.
  std::optional<Profile> Take();

  // Whether nothing is left to measure, or to take.
  bool is_measured() const { return !measuring_; }

  // "measures itself: 40 %"; empty if it does not.
  std::string progress() const;

 private:
  class Measuring;

  std::optional<Profile> first_;
  std::unique_ptr<Measuring> measuring_;  // null: it was known, or is done
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_IDLE_PROFILE_H_
