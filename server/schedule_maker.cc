#include "server/schedule_maker.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <map>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "common/base/cache_folder.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/printable.h"
#include "common/base/status_line.h"
#include "common/codec/picture_codec.h"
#include "common/config/configured_model.h"
#include "common/plan/profile.h"
#include "common/plan/schedule.h"
#include "profiler/obtain_profile.h"
#include "profiler/rough_profile.h"
#include "scheduler/schedule_solver.h"

namespace cacheinf {
namespace {

constexpr double kSecondsToMeasure = 20;
constexpr std::chrono::milliseconds kLookForStop(20);
// Time without a served frame.
constexpr std::chrono::milliseconds kQuiet(500);
constexpr std::chrono::seconds kLongestPutOff(60);
constexpr double kMostSecondsToSolve = 600;  // where frames leave little time
// Robots look at more plans than the nearest, so fewer steps are enough than in the tool.
constexpr size_t kBandwidths = 8;
constexpr size_t kShares = 6;

constexpr size_t kMostSchedules = 256;
constexpr ptrdiff_t kMostLeft = 8;  // orders that nobody waits for
constexpr ptrdiff_t kMostLeftOfKey = 2;
constexpr char kScheduleEnding[] = ".schedule.json";

// Counts time as measuring time of a robot's key, from its construction to its end.
class TimeSpent {
 public:
  TimeSpent(RobotAccounts& accounts, const std::string& key, const Clock& clock)
      : accounts_(accounts), key_(key), clock_(clock) {}
  ~TimeSpent() { accounts_.NoteMeasuring(key_, clock_.Now() - begin_); }
  TimeSpent(const TimeSpent&) = delete;
  TimeSpent& operator=(const TimeSpent&) = delete;

 private:
  RobotAccounts& accounts_;
  const std::string& key_;
  const Clock& clock_;
  const std::chrono::nanoseconds begin_ = clock_.Now();
};

// Returns the schedule solved earlier from the same profiles, if any.
std::optional<std::string> KnownSchedule(const std::filesystem::path& file, const Profile& robot,
                                         const Profile& server) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  try {
    const Schedule schedule = LoadSchedule(file);
    CheckIsOf(schedule, file.string(), robot, server);
    return ToJsonText(schedule);
  } catch (const InputError& error) {
    LogWarning(error.what());
    return std::nullopt;
  }
}

std::filesystem::path FileOf(const std::filesystem::path& folder, const Profile& robot,
                             const Profile& server) {
  return folder / fmt::format("{:016x}-{:016x}{}", FingerprintOf(robot), FingerprintOf(server),
                              kScheduleEnding);
}

// Returns whether it is kept; warns if not.
bool TryToKeep(const std::filesystem::path& file, const std::string& text) {
  try {
    WriteCacheFile(file, text);
    return true;
  } catch (const InputError& error) {
    LogWarning(
        fmt::format("{}: it is made again for the next robot; make room, or name another "
                    "folder by --models",
                    error.what()));
    return false;
  }
}

// With it a robot chooses between being alone and all codecs; nothing is solved.
std::string RoughSchedule(const Profile& robot, const Profile& server) {
  Schedule schedule = MakeSchedule(robot, server, 1, 1);
  schedule.buckets.front().is_solved = true;
  return ToJsonText(schedule);
}

// Solves on a thread that gets a tenth of what frames get from a busy processor: else frames would
// take twice as long meanwhile.
bool SolveBesideFrames(const Profile& robot, const Profile& server, const SolverOptions& options,
                       Schedule& schedule) {
  constexpr int kNice = 10;
  const auto solve = [&] {
    setpriority(PRIO_PROCESS, 0, kNice);  // on Linux, of this thread alone
    return SolveSchedule(robot, server, options, schedule);
  };
  return std::async(std::launch::async, solve).get();
}

}  // namespace

ScheduleMaker::ScheduleMaker(std::filesystem::path folder, RobotConfig::Backend backend,
                             int threads, double slowdown, const Clock& clock,
                             RobotAccounts& accounts)
    : folder_(std::move(folder)),
      backend_(backend),
      threads_(threads),
      slowdown_(slowdown),
      clock_(clock),
      accounts_(accounts) {}

ScheduleMaker::~ScheduleMaker() { stops_ = true; }

// What to make a schedule from, and who waits for it.
struct ScheduleMaker::Order {
  bool IsFor(const Order& other) const {
    return profile_file == other.profile_file && FingerprintOf(robot) == FingerprintOf(other.robot);
  }

  Profile robot;
  ProfileRequest request;  // for the server's profile
  std::filesystem::path profile_file;
  std::string key;  // of the robot that asked first
  int waiting = 1;
  bool is_begun = false;
  std::promise<std::string> promise = {};
  std::shared_future<std::string> made = promise.get_future();
};

std::string ScheduleMaker::Make(const std::shared_ptr<const CompiledModel>& model,
                                const message::Settings& settings, const std::string& robot_profile,
                                const std::function<void(const std::string&)>& send_rough,
                                const std::atomic<bool>& stop, const std::string& key) {
  Order order;
  order.key = key;
  order.robot = ParseProfile(robot_profile, "the robot's profile");
  ProfileRequest& request = order.request;
  request.side = Side::kServer;
  request.graph = {model, &model->graph()};
  request.make_backend = [this] {
    CpuBackendOptions cpu;
    cpu.threads = threads_;
    return MakeBackend(backend_, cpu);
  };
  request.backend = NameOf(backend_);
  request.threads = threads_;
  request.settings = settings.shared;
  request.codecs.clear();
  for (const ProfiledCodec& codec : order.robot.codecs) {
    // A pipeline can do anything, and robots are not trusted.
    if (ParsePictureCodec(codec.codec).gst_pipeline.empty()) request.codecs.push_back(codec.codec);
  }
  request.seconds = kSecondsToMeasure;
  order.profile_file = folder_ / (NameOf(request) + ".profile.json");
  const std::optional<Profile> known = KnownProfile(request, order.profile_file);
  if (known) {
    const Profile server = SlowedDown(*known, slowdown_);
    if (auto text = KnownSchedule(FileOf(folder_, order.robot, server), order.robot, server)) {
      return *text;
    }
    send_rough(RoughSchedule(order.robot, server));
  } else {
    send_rough(RoughSchedule(order.robot, RoughServerProfile(order.robot, DenseMs(order))));
  }
  const std::shared_ptr<const Order> asked = Ask(std::move(order));
  while (asked->made.wait_for(kLookForStop) != std::future_status::ready) {
    if (!stop) continue;
    LetGo(*asked);
    throw InputError("the robot has left");
  }
  return asked->made.get();
}

// Measures it for the first robot, while nothing else is measured.
double ScheduleMaker::DenseMs(const Order& order) {
  const std::string model = order.profile_file.string();
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = dense_ms_.find(model); known != dense_ms_.end()) return known->second;
  }
  const ProfileRequest& request = order.request;
  const auto here = std::make_shared<const CompiledModel>(request.graph, request.make_backend());
  const double dense_ms = slowdown_ * TimeDenseFrame(here, clock_);
  const std::lock_guard lock(mutex_);
  return dense_ms_[model] = dense_ms;
}

size_t ScheduleMaker::pending() const {
  const std::lock_guard lock(mutex_);
  return pending_.size();
}

// Robots that ask for the same share it.
std::shared_ptr<ScheduleMaker::Order> ScheduleMaker::Ask(Order order) {
  const std::lock_guard lock(mutex_);
  for (const std::shared_ptr<Order>& other : pending_) {
    if (!other->IsFor(order)) continue;
    ++other->waiting;
    return other;
  }
  if (!is_working_) {
    work_ = std::async(std::launch::async, [this] { Work(); });
    is_working_ = true;
  }
  return pending_.emplace_back(std::make_shared<Order>(std::move(order)));
}

// Drops the oldest orders that nobody waits for, if there are too many.
void ScheduleMaker::LetGo(const Order& left) {
  const std::lock_guard lock(mutex_);
  const auto place =
      std::ranges::find_if(pending_, [&](const auto& order) { return order.get() == &left; });
  if (place == pending_.end()) return;
  --(*place)->waiting;
  const auto drop_beyond = [this](ptrdiff_t most, const auto& counts) {
    const auto may_go = [&](const auto& order) {
      return order->waiting == 0 && !order->is_begun && counts(*order);
    };
    if (std::ranges::count_if(pending_, may_go) <= most) return;
    pending_.erase(std::ranges::find_if(pending_, may_go));
  };
  drop_beyond(kMostLeftOfKey, [key = left.key](const Order& order) { return order.key == key; });
  drop_beyond(kMostLeft, [](const Order&) { return true; });
}

// Makes one after the other, first what somebody waits for.
void ScheduleMaker::Work() {
  std::unique_lock lock(mutex_);
  while (!pending_.empty() && !stops_) {
    auto next = std::ranges::find_if(pending_, [](const auto& each) { return each->waiting > 0; });
    if (next == pending_.end()) next = pending_.begin();
    const std::shared_ptr<Order> order = *next;
    order->is_begun = true;
    lock.unlock();
    try {
      order->promise.set_value(Finish(*order));
    } catch (...) {
      order->promise.set_exception(std::current_exception());
    }
    lock.lock();
    std::erase(pending_, order);
  }
  is_working_ = false;
}

std::string ScheduleMaker::Finish(const Order& order) {
  const Profile& robot = order.robot;
  accounts_.CheckMeasuring(order.key);
  if (!KnownProfile(order.request, order.profile_file)) WaitForQuiet();
  const TimeSpent spent(accounts_, order.key, clock_);
  StatusLine status(clock_);
  const auto on_progress = [&](double done, double left_s) {
    status.Show([&] {
      return fmt::format("measuring model '{}' for a schedule: {:.0f} %, about {:.0f} s left",
                         Printable(robot.model), 100 * done, left_s);
    });
    return !stops_;
  };
  const ObtainedProfile measured =
      ObtainProfile(order.request, order.profile_file, false, clock_, on_progress);
  if (!measured.is_in_file) TryToKeep(order.profile_file, ToJsonText(measured.profile));
  const Profile server = SlowedDown(measured.profile, slowdown_);
  const std::filesystem::path file = FileOf(folder_, robot, server);
  if (const auto known = KnownSchedule(file, robot, server)) return *known;
  LogInfo(fmt::format("solving a schedule for model '{}'", Printable(robot.model)));
  Schedule schedule = MakeSchedule(robot, server, kBandwidths, kShares);
  SolverOptions options;
  options.time_limit_s = kMostSecondsToSolve;
  options.stop = &stops_;
  if (!SolveBesideFrames(robot, server, options, schedule)) {
    throw InputError(stops_ ? "the server stops" : "solving takes too long");
  }
  std::string text = ToJsonText(schedule);
  if (!TryToKeep(file, text)) return text;
  RemoveOldSchedules();
  LogInfo(fmt::format("the schedule for model '{}' is kept in {}", Printable(robot.model),
                      file.string()));
  return text;
}

// Robots can ask for any number of schedules.
void ScheduleMaker::RemoveOldSchedules() const {
  std::multimap<std::filesystem::file_time_type, std::filesystem::path> schedules;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    if (!entry.path().string().ends_with(kScheduleEnding)) continue;
    schedules.emplace(entry.last_write_time(error), entry.path());
  }
  while (schedules.size() > kMostSchedules) {
    std::filesystem::remove(schedules.begin()->second, error);
    schedules.erase(schedules.begin());
  }
}

void ScheduleMaker::WaitForQuiet() const {
  const auto latest = clock_.Now() + kLongestPutOff;
  while (!stops_ && clock_.Now() < latest && clock_.Now() - served_at_.load() < kQuiet) {
    std::this_thread::sleep_for(kLookForStop);
  }
}

}  // namespace cacheinf
