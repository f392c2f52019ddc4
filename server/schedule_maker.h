#ifndef CACHEINF_SERVER_SCHEDULE_MAKER_H_
#define CACHEINF_SERVER_SCHEDULE_MAKER_H_

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

#include "common/base/clock.h"
#include "common/config/robot_config.h"
#include "common/exec/compiled_model.h"
#include "common/pair/messages.h"
#include "common/plan/profile.h"

namespace cacheinf {

// Makes schedules for robots: measures what their models cost on this machine, and solves. Keeps
// profiles and schedules in a folder, so that nothing is measured or solved twice.
class ScheduleMaker {
 public:
  // `slowdown`: the server takes this many times as long as measured. The clock must outlive this.
  ScheduleMaker(std::filesystem::path folder, RobotConfig::Backend backend, int threads,
                double slowdown, const Clock& clock);

  // Implements Session::Solve. Serves one robot after the other: times measured side by side would
  // be worth nothing. Gives up on a robot that leaves while it waits its turn.
  std::string Make(const std::shared_ptr<const CompiledModel>& model,
                   const message::Settings& settings, const std::string& robot_profile,
                   const std::atomic<bool>& stop);

 private:
  Profile ServerProfile(const std::shared_ptr<const CompiledModel>& model,
                        const message::Settings& settings, const Profile& robot,
                        const std::atomic<bool>& stop) const;

  const std::filesystem::path folder_;
  const RobotConfig::Backend backend_;
  const int threads_;
  const double slowdown_;
  const Clock& clock_;
  std::timed_mutex mutex_;
};

}  // namespace cacheinf

#endif  // CACHEINF_SERVER_SCHEDULE_MAKER_H_
