#ifndef CACHEINF_SERVER_SCHEDULE_MAKER_H_
#define CACHEINF_SERVER_SCHEDULE_MAKER_H_

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "common/base/clock.h"
#include "common/config/robot_config.h"
#include "common/exec/compiled_model.h"
#include "common/pair/messages.h"
#include "common/pair/robot_accounts.h"

namespace cacheinf {

// Makes schedules for robots: at once a rough one, from the robot's profile and a few frames here;
// then it measures what the model costs on this machine, and solves. Keeps profiles and schedules
// in a folder, so that nothing is measured or solved twice. Even if a robot leaves, its schedule is
// made, and waits for this robot or the next one. But only the last few schedules for which nobody
// waits are made.
class ScheduleMaker {
 public:
  // `slowdown`: the server takes this many times as long as measured. Clock and accounts must
  // outlive this.
  ScheduleMaker(std::filesystem::path folder, RobotConfig::Backend backend, int threads,
                double slowdown, const Clock& clock, RobotAccounts& accounts);
  ~ScheduleMaker();  // gives up what is not finished

  // Implements Session::Solve. Works for one robot after the other: times measured side by side
  // would be worthless. Also throws InputError if robots with this key have used their time.
  std::string Make(const std::shared_ptr<const CompiledModel>& model,
                   const message::Settings& settings, const std::string& robot_profile,
                   const std::function<void(const std::string& schedule)>& send_rough,
                   const std::atomic<bool>& stop, const std::string& key = "");

  // How many schedules have been asked for and are not made yet.
  size_t pending() const;

  // Call when frames are served. Puts off measuring for a while: measuring and serving would take
  // time from each other.
  void NoteServing() { served_at_ = clock_.Now(); }

 private:
  struct Order;

  double DenseMs(const Order& order);
  std::shared_ptr<Order> Ask(Order order);
  void LetGo(const Order& left);
  void Work();
  std::string Finish(const Order& order);
  void WaitForQuiet() const;
  void RemoveOldSchedules() const;

  const std::filesystem::path folder_;
  const RobotConfig::Backend backend_;
  const int threads_;
  const double slowdown_;
  const Clock& clock_;
  RobotAccounts& accounts_;
  std::atomic<bool> stops_ = false;
  std::atomic<std::chrono::nanoseconds> served_at_{std::chrono::nanoseconds::min() / 2};
  mutable std::mutex mutex_;                   // guards what follows
  std::map<std::string, double> dense_ms_;     // by profile_file
  std::list<std::shared_ptr<Order>> pending_;  // in the order of asking
  bool is_working_ = false;
  std::future<void> work_;  // last member: it uses all others
};

}  // namespace cacheinf

#endif  // CACHEINF_SERVER_SCHEDULE_MAKER_H_
