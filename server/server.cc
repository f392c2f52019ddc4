#include "server/server.h"

#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/failure.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/slowed_clock.h"
#include "common/codec/still_picture.h"
#include "common/config/configured_model.h"
#include "common/link/channel.h"
#include "common/link/emulated_link.h"
#include "common/pair/model_store.h"
#include "common/pair/robot_accounts.h"
#include "common/pair/session.h"
#include "profiler/machine.h"
#include "profiler/scheme_choice.h"
#include "server/schedule_maker.h"
#include "server/turns.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// An idle server looks for new robots, `stop` and what is prepared each time that its idle time has
// grown by 2 %, within these limits.
constexpr int kLooksPerSilence = 50;
constexpr nanoseconds kFirstLook = milliseconds(5);
constexpr nanoseconds kLastLook = milliseconds(50);
// With several robots, also for messages.
constexpr nanoseconds kFirstLookAtMany = std::chrono::microseconds(200);
constexpr nanoseconds kLastLookAtMany = milliseconds(5);
constexpr nanoseconds kLastWords = milliseconds(500);  // for the last messages to leave
constexpr milliseconds kBreath(100);                   // of the door, when it cannot be opened

// Passes new robots from the thread that waits for them to the one that computes.
class Door {
 public:
  explicit Door(const AcceptRobot& accept) : thread_([this, accept] { Watch(accept); }) {}
  ~Door() {
    is_closed_ = true;
    thread_.join();
  }
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  std::vector<std::unique_ptr<Link>> Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(links_, {});
  }

 private:
  void Watch(const AcceptRobot& accept) {
    while (!is_closed_) {
      try {
        std::unique_ptr<Link> link = accept();
        if (!link) continue;
        const std::lock_guard lock(mutex_);
        links_.push_back(std::move(link));
      } catch (const std::exception& error) {
        LogWarning("robots cannot come in: " + SentenceOf(error));
        std::this_thread::sleep_for(kBreath);
      }
    }
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Link>> links_;
  std::atomic<bool> is_closed_ = false;
  std::thread thread_;  // last member: it uses all others
};

// Writes FOLDER/000017.png, and makes FOLDER for the first one.
void WritePicture(const fs::path& folder, int64_t frame, const PictureView& picture,
                  const PictureSpec& spec) {
  std::vector<uint8_t> pixels(picture.pixels, picture.pixels + picture.byte_count());
  if (spec.channels == PictureSpec::Channels::kRgb) {
    for (size_t i = 0; i < pixels.size(); i += 3) std::swap(pixels[i], pixels[i + 2]);
  }
  std::vector<uint8_t> png;
  AppendPng(pixels.data(), {picture.width, picture.height, picture.channels, true}, &png);
  fs::create_directories(folder);
  WriteFile(folder / fmt::format("{:06}.png", frame),
            {reinterpret_cast<const char*>(png.data()), png.size()});
}

// Writes one robot's pictures until one cannot be written. The robot is still served.
class PictureDump {
 public:
  explicit PictureDump(fs::path folder) : folder_(std::move(folder)) {}

  void operator()(int64_t frame, const PictureView& picture, const PictureSpec& spec) {
    if (has_failed_) return;
    try {
      WritePicture(folder_, frame, picture, spec);
    } catch (const std::exception& error) {
      has_failed_ = true;
      LogError(fmt::format("no more pictures of this robot are written: {}", error.what()));
    }
  }

 private:
  const fs::path folder_;
  bool has_failed_ = false;
};

struct Guest {
  Guest(std::unique_ptr<Link> link, const Clock& link_clock, ModelStore& store, SlowWork& slow_work,
        const Clock& clock, Session::Options options)
      : channel(std::move(link), link_clock),
        session(channel, store, slow_work, clock, std::move(options)) {
    try {
      channel.StartPumping();
    } catch (const std::exception& error) {
      has_thread = false;
      session.Leave(SentenceOf(error));
    }
  }

  Channel channel;
  Session session;
  bool has_thread = true;
  bool is_announced = false;
  std::optional<nanoseconds> left_at;
};

Quotas QuotasOf(const ServerConfig& config) {
  constexpr double kMegabyte = 1 << 20;
  return {.memory_bytes = static_cast<uint64_t>(config.robot_memory_mb * kMegabyte),
          .disk_bytes = static_cast<uint64_t>(config.robot_disk_mb * kMegabyte),
          .measuring = std::chrono::duration_cast<nanoseconds>(
              std::chrono::duration<double>(config.robot_measuring_s))};
}

class Server {
 public:
  Server(const ServerConfig& config, const Clock& clock)
      : config_(config),
        clock_(clock),
        emulation_(ParseEmulation(config.emulate)),
        computing_clock_(emulation_.slowdown, clock),
        pool_(std::make_shared<ThreadPool>(config.threads == 0 ? CoresToUse(DescribeMachine())
                                                               : config.threads)),
        store_(
            config.models, [this] { return MakeBackend(); },
            [this](Graph& graph, bool takes_fastest, const std::atomic<bool>& stop) {
              Tune(graph, takes_fastest, stop);
            },
            config.trust_robots),
        accounts_(QuotasOf(config), clock),
        schedules_(fs::path(config.models) / "schedules", config.backend, pool_->threads(),
                   emulation_.slowdown, clock, accounts_),
        turns_(computing_clock_) {
    if (config.dump_pictures.empty()) return;
    std::error_code error;
    fs::create_directories(config.dump_pictures, error);
    if (error)
      throw InputError(
          fmt::format("{}: cannot be made: {}", config.dump_pictures, error.message()));
  }

  int Serve(const AcceptRobot& accept, const std::function<bool()>& stop) {
    const nanoseconds begin = clock_.Now();
    const std::chrono::duration<double> wait(config_.wait_s);
    Door door(accept);
    while (!stop()) {
      for (std::unique_ptr<Link>& link : door.Take()) {
        try {
          Welcome(std::move(link));
        } catch (const std::exception& error) {
          LogWarning("a robot was not served: " + SentenceOf(error));
        }
      }
      if (Advance()) {
        busy_at_ = clock_.Now();
      } else {
        Pause();
      }
      SayGoodbye();
      if (!config_.once) continue;
      if (served_ > 0 && guests_.empty()) break;
      if (served_ == 0 && config_.wait_s > 0 && clock_.Now() - begin > wait) break;
    }
    Close();
    return served_;
  }

 private:
  std::unique_ptr<Backend> MakeBackend() const {
    CpuBackendOptions cpu;
    cpu.pool = pool_;
    return cacheinf::MakeBackend(config_.backend, cpu);
  }

  // Implements ModelStore::Tune.
  void Tune(Graph& graph, bool takes_fastest, const std::atomic<bool>& stop) const {
    const int threads = pool_->threads();
    if (IsOnGpu(config_.backend)) {
      ChooseTiles(
          config_.backend, threads, [this] { return MakeBackend(); }, clock_, stop, graph);
    } else if (config_.backend == RobotConfig::Backend::kCpu && takes_fastest) {
      ChooseFastestSchemes(threads, clock_, stop, graph);
    }
  }

  void Welcome(std::unique_ptr<Link> link) {
    if (config_.once && served_ > 0) {
      LogInfo("a robot was not served: this server serves one, with --once");
      return;
    }
    const Link::Peer robot = link->peer();
    if (emulation_.link) link = EmulateLink(std::move(link), *emulation_.link, clock_);
    RemoteServer::OnPicture on_picture;
    if (!config_.dump_pictures.empty()) {
      on_picture = PictureDump(fs::path(config_.dump_pictures) / std::to_string(++dumped_));
    }
    const auto solve = [this, key = robot.key](const auto& model, const message::Settings& settings,
                                               const std::string& robot_profile,
                                               const auto& send_rough,
                                               const std::atomic<bool>& stop) {
      return schedules_.Make(model, settings, robot_profile, send_rough, stop, key);
    };
    const auto on_greeting = [this](const Session& newcomer) { EvictForerunners(newcomer); };
    Guest& guest =
        guests_.emplace_back(std::move(link), clock_, store_, slow_work_, computing_clock_,
                             Session::Options{.on_picture = std::move(on_picture),
                                              .solve = solve,
                                              .robot = robot,
                                              .accounts = &accounts_,
                                              .on_greeting = on_greeting});
    turns_.Add(guest.session);
  }

  // A robot that comes again has lost its link, whether or not this end knows.
  void EvictForerunners(const Session& newcomer) {
    for (Guest& guest : guests_) {
      if (&guest.session == &newcomer || guest.session.is_over()) continue;
      if (guest.session.IsOfSameRobot(newcomer)) guest.session.Evict("the robot has come again");
    }
  }

  bool Advance() {
    if (!turns_.Take()) return false;
    schedules_.NoteServing();
    for (Guest& guest : guests_) {
      if (!guest.session.has_robot() || guest.is_announced) continue;
      guest.is_announced = true;
      ++served_;
      LogInfo(fmt::format("robot \"{}\" is served", guest.session.robot()));
    }
    return true;
  }

  void Pause() {
    const nanoseconds now = clock_.Now();
    const nanoseconds look = (now - busy_at_) / kLooksPerSilence;
    if (guests_.size() == 1) {
      guests_.front().session.Wait(std::clamp(look, kFirstLook, kLastLook));
    } else {
      std::this_thread::sleep_for(guests_.empty()
                                      ? std::clamp(look, kFirstLook, kLastLook)
                                      : std::clamp(look, kFirstLookAtMany, kLastLookAtMany));
    }
    computing_clock_.EndWait();
  }

  // Lets go of robots that have left, or have heard why they must.
  void SayGoodbye() {
    const nanoseconds now = clock_.Now();
    std::erase_if(guests_, [this, now](Guest& guest) {
      if (!guest.session.is_over()) return false;
      if (!guest.has_thread) guest.channel.Pump();
      if (!guest.left_at) {
        guest.left_at = now;
        LogInfo(
            guest.is_announced
                ? fmt::format("robot \"{}\" left: {}", guest.session.robot(), guest.session.end())
                : fmt::format("a robot was not served: {}", guest.session.end()));
      }
      const bool may_go = guest.channel.IsFlushed() || !guest.channel.fault().empty() ||
                          now > *guest.left_at + kLastWords;
      if (may_go) turns_.Remove(guest.session);
      return may_go;
    });
  }

  void Close() {
    for (Guest& guest : guests_) guest.session.Leave("the server stops");
    const nanoseconds deadline = clock_.Now() + kLastWords;
    for (const Guest& guest : guests_) guest.channel.Flush(deadline);
    SayGoodbye();
  }

  const ServerConfig& config_;
  const Clock& clock_;
  const Emulation emulation_;
  const SlowedClock computing_clock_;  // of the computing thread
  const std::shared_ptr<ThreadPool> pool_;
  ModelStore store_;
  RobotAccounts accounts_;
  ScheduleMaker schedules_;
  SlowWork slow_work_;  // uses the three above
  std::list<Guest> guests_;
  Turns turns_;     // of `guests_`
  int dumped_ = 0;  // robots whose pictures are dumped
  int served_ = 0;
  nanoseconds busy_at_{};  // last
};

}  // namespace

int ServeRobots(const AcceptRobot& accept, const ServerConfig& config, const Clock& clock,
                const std::function<bool()>& stop) {
  return Server(config, clock).Serve(accept, stop);
}

}  // namespace cacheinf
