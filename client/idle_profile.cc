#include "client/idle_profile.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <filesystem>
#include <future>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "client/robot_setup.h"
#include "common/base/cache_folder.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/codec/picture_codec.h"
#include "common/link/emulated_link.h"
#include "common/pair/shared_settings.h"
#include "profiler/obtain_profile.h"
#include "profiler/rough_profile.h"

namespace cacheinf {
namespace {

constexpr double kSecondsToMeasure = 20;

ProfileRequest RequestOf(const std::shared_ptr<const CompiledModel>& model,
                         const RobotConfig& config) {
  ProfileRequest request;
  request.graph = {model, &model->graph()};
  request.threads = ThreadsToUse(config);
  request.make_backend = [config] { return MakeBackend(config); };
  request.backend = NameOf(config.backend);
  request.settings = SharedSettingsOf(config, model->graph());
  request.codecs = CodecsToChooseFrom(config);
  request.seconds = kSecondsToMeasure;
  request.read_answer = AnswerReading(model->graph(), config);
  return request;
}

// Stands still until Resume, and between Pause and Resume: whoever asks for the time waits. So code
// that measures by it pauses at once, wherever it is, and measures no pause.
class PausedClock final : public Clock {
 public:
  struct Ended : std::exception {};

  explicit PausedClock(const Clock& clock) : clock_(clock), paused_at_(clock.Now()) {}

  // Throws Ended after End.
  std::chrono::nanoseconds Now() const override {
    std::unique_lock lock(mutex_);
    has_changed_.wait(lock, [&] { return is_ended_ || !is_paused_; });
    if (is_ended_) throw Ended();
    return clock_.Now() - paused_;
  }

  void Resume() {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(is_paused_, false)) return;
    paused_ += clock_.Now() - paused_at_;
    has_changed_.notify_all();
  }
  void Pause() {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(is_paused_, true)) paused_at_ = clock_.Now();
  }
  void End() {
    const std::lock_guard lock(mutex_);
    is_ended_ = true;
    has_changed_.notify_all();
  }

 private:
  const Clock& clock_;
  mutable std::mutex mutex_;
  mutable std::condition_variable has_changed_;
  std::chrono::nanoseconds paused_at_;
  std::chrono::nanoseconds paused_{0};
  bool is_paused_ = true;
  bool is_ended_ = false;
};

// Returns whether it is kept; warns if not. An empty file: nothing is to be kept.
bool TryToKeep(const Profile& profile, const std::filesystem::path& file) {
  if (file.empty()) return false;
  try {
    WriteCacheFile(file, ToJsonText(profile));
    return true;
  } catch (const InputError& error) {
    LogWarning(
        fmt::format("{}: the robot measures itself again at the next start; set "
                    "$CACHEINF_CACHE to a folder that can be written",
                    error.what()));
    return false;
  }
}

}  // namespace

// The configured codec is the usual one of its kind.
std::vector<std::string> CodecsToChooseFrom(const RobotConfig& config) {
  if (config.server.address.empty()) return {};
  const bool is_exact = config.cache.policy == CacheConfig::Policy::kExact;
  std::vector<std::string> codecs = is_exact ? LosslessPictureCodecs() : DefaultPictureCodecs();
  const PictureCodec own = ParsePictureCodec(config.server.codec);
  const bool is_listed = std::ranges::any_of(
      codecs, [&](const std::string& codec) { return ParsePictureCodec(codec) == own; });
  const bool may_add = own.is_lossless() || !is_exact;
  if (!is_listed && may_add) codecs.insert(codecs.begin(), config.server.codec);
  return codecs;
}

class IdleProfile::Measuring {
 public:
  // An empty file: nothing is kept.
  Measuring(ProfileRequest request, std::filesystem::path file, double slowdown, const Clock& clock)
      : request_(std::move(request)), file_(std::move(file)), slowdown_(slowdown), clock_(clock) {}
  ~Measuring() { clock_.End(); }

  void Resume() {
    if (!measured_.valid())
      measured_ = std::async(std::launch::async, [this] { return Measure(); });
    clock_.Resume();
  }
  void Pause() { clock_.Pause(); }

  bool is_done() const {
    return measured_.valid() &&
           measured_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  // REQUIRES: is_done().
  Profile Take() { return measured_.get(); }

  double done() const { return done_; }

 private:
  Profile Measure() {
    (void)clock_.Now();  // what comes first takes time that is not measured
    const auto on_progress = [this](double done, double) {
      done_ = done;
      return true;
    };
    const auto obtained = ObtainProfile(request_, file_, false, clock_, on_progress);
    const bool is_kept = obtained.is_in_file || TryToKeep(obtained.profile, file_);
    LogInfo(fmt::format("the robot has measured itself; its model's profile is {}",
                        is_kept ? file_.string() : "not kept"));
    return SlowedDown(obtained.profile, slowdown_);
  }

  const ProfileRequest request_;
  const std::filesystem::path file_;
  const double slowdown_;
  PausedClock clock_;
  std::atomic<double> done_ = 0;
  std::future<Profile> measured_;  // last member: the thread uses all others
};

IdleProfile::IdleProfile(const std::shared_ptr<const CompiledModel>& model,
                         const RobotConfig& config, const Clock& clock) {
  ProfileRequest request = RequestOf(model, config);
  const std::filesystem::path folder = CacheFolder() / "profiles";
  const std::string name = NameOf(request);
  const std::filesystem::path file = folder / (name + ".profile.json");
  // Kept, so that a server knows the robot again.
  const std::filesystem::path rough_file = folder / (name + ".rough.json");
  const double slowdown = ParseEmulation(config.server.emulate).slowdown;
  first_ = KnownProfile(request, file);
  const bool is_measured = first_.has_value();
  if (!first_) first_ = KnownProfile(request, rough_file);
  bool may_keep = true;
  if (!first_) {
    first_ = RoughProfile(request, model, clock);
    may_keep = TryToKeep(*first_, rough_file);
  }
  first_ = SlowedDown(*first_, slowdown);
  if (is_measured) return;
  measuring_ = std::make_unique<Measuring>(
      std::move(request), may_keep ? file : std::filesystem::path(), slowdown, clock);
}

IdleProfile::~IdleProfile() = default;

void IdleProfile::Resume() {
  if (measuring_) measuring_->Resume();
}

void IdleProfile::Pause() {
  if (measuring_) measuring_->Pause();
}

std::optional<Profile> IdleProfile::Take() {
  if (first_) return std::exchange(first_, std::nullopt);
  if (!measuring_ || !measuring_->is_done()) return std::nullopt;
  const std::unique_ptr<Measuring> done = std::move(measuring_);
  try {
    return done->Take();
  } catch (const std::exception& error) {
    LogWarning(fmt::format("the robot cannot measure itself: {}", error.what()));
    return std::nullopt;
  }
}

std::string IdleProfile::progress() const {
  if (!measuring_ || measuring_->done() == 0) return "";
  return fmt::format("measures itself: {:.0f} %", 100 * measuring_->done());
}

}  // namespace cacheinf
