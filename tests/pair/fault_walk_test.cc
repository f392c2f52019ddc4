// Robots and servers that die, stop, hang, or talk over a link that is black, narrow or mad.
// Everything runs in one thread, on a clock that the test moves. Whatever happens, every frame is
// answered, with the bits of a dense run, and the server is back soon after.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <list>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/frame_executor.h"
#include "common/backend/host/cpu_backend.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/config/robot_config.h"
#include "common/exec/compiled_model.h"
#include "common/exec/model_state.h"
#include "common/link/channel.h"
#include "common/link/link.h"
#include "common/pair/model_store.h"
#include "common/pair/session.h"
#include "common/pair/slow_work.h"
#include "common/plan/plan.h"
#include "tests/link/loopback.h"
#include "tests/testing/clip.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/networks.h"
#include "tests/testing/outputs.h"

namespace cacheinf::faults {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Time = std::chrono::nanoseconds;

constexpr milliseconds kTick(1);
constexpr milliseconds kPeriod(100);
constexpr milliseconds kDeadline(90);
constexpr milliseconds kDelay(2);
constexpr double kUsualRate = 20e6 / 8;
constexpr double kNarrowRate = 0.1e6 / 8;
constexpr Rectangle kAll = {{0, kHeight}, {0, kWidth}};

class Server {
 public:
  Server(fs::path folder, const ManualClock& clock, uint32_t seed)
      : folder_(std::move(folder)), clock_(clock) {
    weather.script.shape = {{{std::chrono::hours(1), kUsualRate}}, kDelay};
    weather.script.seed = seed;
    Start();
  }

  ConnectToServer door() {
    return [this]() -> std::unique_ptr<Link> {
      if (!store_ || is_stopped || weather.is_held[0]) return nullptr;
      auto [robot, server] = MakeLoopback(weather, clock_);
      knocking_.push_back(std::move(server));
      return std::move(robot);
    };
  }

  void Start() {
    store_.emplace(folder_, [this] {
      if (lacks_memory && store_) throw std::bad_alloc();
      return std::make_unique<CpuBackend>();
    });
  }
  void Die() {
    weather.CutAll();
    guests_.clear();
    knocking_.clear();
    store_.reset();
  }

  // Leaves no model, or nothing but damaged ones.
  void Spoil(bool removes) const {
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (removes) {
        fs::remove(entry.path());
      } else {
        std::fstream(entry.path(), std::ios::in | std::ios::out | std::ios::binary) << "garbage";
      }
    }
  }

  // Makes the wall clock seem to have jumped, for code that keeps files by their age.
  void JumpInTime(std::chrono::hours by) const {
    for (const auto& entry : fs::directory_iterator(folder_)) {
      fs::last_write_time(entry.path(), fs::last_write_time(entry.path()) - by);
    }
  }

  void Tick() {
    if (!store_ || is_stopped) return;
    for (Guest& guest : guests_) guest.channel.Pump();
    if (is_hung) return;
    for (std::unique_ptr<Link>& link : knocking_) {
      guests_.emplace_back(std::move(link), *store_, slow_work_, clock_);
    }
    knocking_.clear();
    for (Guest& guest : guests_) {
      while (guest.session.Advance()) continue;
      while (slow_work_.is_busy()) std::this_thread::sleep_for(std::chrono::microseconds(20));
      guest.channel.Pump();
    }
    std::erase_if(guests_, [](const Guest& guest) {
      return guest.session.is_over() &&
             (guest.channel.IsFlushed() || !guest.channel.fault().empty());
    });
  }

  LoopbackWeather weather;
  bool is_stopped = false;
  bool is_hung = false;       // the thread that computes
  bool lacks_memory = false;  // for any other robot

 private:
  struct Guest {
    Guest(std::unique_ptr<Link> link, ModelStore& store, SlowWork& slow_work, const Clock& clock)
        : channel(std::move(link), clock), session(channel, store, slow_work, clock) {}
    Channel channel;
    Session session;
  };

  const fs::path folder_;
  const ManualClock& clock_;
  std::optional<ModelStore> store_;
  SlowWork slow_work_;
  std::list<Guest> guests_;
  std::vector<std::unique_ptr<Link>> knocking_;
};

struct Answered {
  Time began{};
  Time took{};
  bool is_served = false;
};

class World {
 public:
  World(const fs::path& folder, Plan::Kind plan, int servers, uint32_t seed)
      : plan_(plan), random_(seed) {
    for (int i = 0; i < servers; ++i) {
      servers_.emplace_back(folder / std::to_string(i), clock_, seed + static_cast<uint32_t>(i));
    }
    StartRobot();
  }
  ~World() {
    for (Server& server : servers_) server.weather.CutAll();
  }

  void StartRobot() { robots_.push_back(std::make_unique<Robot>(*this, random_())); }
  // Kills the last robot, also in the middle of a frame.
  void KillRobot() {
    const auto last = std::find_if(robots_.rbegin(), robots_.rend(),
                                   [](const auto& robot) { return !robot->is_killed; });
    if (last != robots_.rend()) (*last)->is_killed = true;
  }

  // Answers frames until so much time has passed, or `ends`.
  void Run(
      Time time, const std::function<bool()>& ends = [] { return false; }) {
    const Time end = clock_.Now() + time;
    while (clock_.Now() < end && !ends() && !testing::Test::HasFailure()) {
      const Time next = clock_.Now() + kPeriod;
      // Robots come and go between frames.
      for (size_t i = 0; i < robots_.size(); ++i) {
        if (!robots_[i]->is_killed) Answer(*robots_[i], i == 0);
      }
      while (clock_.Now() < next) Tick();
      std::erase_if(robots_, [](const auto& robot) { return robot->is_killed; });
    }
  }

  // Calls `begin` as soon as so many packets have moved.
  void CallAt(int64_t packets, std::function<void()> begin) {
    at_packets_ = packets;
    begin_ = std::move(begin);
  }

  // Which server has faults; at first the first one.
  void Befall(size_t number) { number_ = number; }
  Server& server() { return *std::next(servers_.begin(), static_cast<long>(number_)); }
  const std::vector<Answered>& answered() const { return answered_; }
  Time now() const { return clock_.Now(); }

 private:
  struct Robot {
    Robot(World& world, uint32_t seed)
        : executor(world.model_, world.Config(), world.clock_, world.clock_, world.Doors(), seed),
          clip(kHeight, kWidth, /*step=*/0, seed) {
      executor.SetPlaceOfFrames(kAll);
    }
    FrameExecutor executor;
    Clip clip;
    bool is_killed = false;
  };

  RobotConfig Config() const {
    RobotConfig config;
    config.mode =
        plan_ == Plan::Kind::kSplit ? RobotConfig::Mode::kSplit : RobotConfig::Mode::kRemote;
    config.cache.policy = CacheConfig::Policy::kExact;
    config.cache.stem = 0;
    config.server.codec = "raw";
    config.server.slice_codec = SliceCodec::kRaw;
    if (plan_ == Plan::Kind::kSplit) config.server.cuts = {"picture:0.5"};
    return config;
  }
  ConnectToServers Doors() {
    ConnectToServers doors;
    for (Server& server : servers_) doors.push_back(server.door());
    return doors;
  }

  void Tick() {
    clock_.Advance(kTick);
    for (Server& server : servers_) server.Tick();
    for (const auto& robot : robots_) {
      if (!robot->is_killed) robot->executor.Pump();
    }
    if (begin_ && server().weather.packets >= at_packets_) std::exchange(begin_, nullptr)();
  }

  void Answer(Robot& robot, bool counts) {
    robot.clip.Change(1 + static_cast<int>(random_() % 8), 1 + static_cast<int>(random_() % 8));
    FrameExecutor& executor = robot.executor;
    const Time began = clock_.Now();
    ASSERT_TRUE(executor.MeetServer());
    executor.Decide(
        {.index = robot.clip.decision().number, .picture = robot.clip.picture(), .place = kAll}, {},
        began + kDeadline);
    executor.Begin();
    while (!executor.Step()) {
      Tick();
      if (robot.is_killed) return;
      ASSERT_LT(clock_.Now() - began, seconds(3)) << "a frame is not answered";
    }
    const Execution& done = executor.Commit();
    if (counts) answered_.push_back({began, clock_.Now() - began, done.server.has_value()});
    ASSERT_EQ(OutputsOf(executor.outputs()), DenseOutputs(dense_, robot.clip.picture()))
        << "frame " << robot.clip.decision().number;
  }

  const Plan::Kind plan_;
  std::mt19937 random_;
  ManualClock clock_;
  const std::shared_ptr<const CompiledModel> model_ = std::make_shared<const CompiledModel>(
      MakeNetwork(TenNetworks().front(), kHeight, kWidth), std::make_unique<CpuBackend>());
  ModelState dense_{model_};
  std::list<Server> servers_;
  std::vector<std::unique_ptr<Robot>> robots_;
  std::vector<Answered> answered_;
  size_t number_ = 0;
  int64_t at_packets_ = 0;
  std::function<void()> begin_;
};

// While this is set, no file holds more than half a model.
void FillDisk(bool is_full) {
  static const rlimit kRoomy = [] {
    rlimit roomy;
    getrlimit(RLIMIT_FSIZE, &roomy);
    return roomy;
  }();
  std::signal(SIGXFSZ, is_full ? SIG_IGN : SIG_DFL);
  rlimit limit = kRoomy;
  if (is_full) limit.rlim_cur = 32 << 10;
  setrlimit(RLIMIT_FSIZE, &limit);
}

// What happens, and for how long.
struct Fault {
  const char* name;
  std::function<void(World&)> begin;
  std::function<void(World&)> end;
  milliseconds least;
  milliseconds most;
};

Fault Mad(const char* name, double LoopbackScript::*probability) {
  return {name, [probability](World& world) { world.server().weather.script.*probability = .2; },
          [probability](World& world) { world.server().weather.script.*probability = 0; },
          milliseconds(100), milliseconds(400)};
}

const std::vector<Fault>& Faults() {
  static const std::vector<Fault> faults = {
      {"ServerDies", [](World& world) { world.server().Die(); },
       [](World& world) { world.server().Start(); }, milliseconds(100), milliseconds(3000)},
      {"ServerStops", [](World& world) { world.server().is_stopped = true; },
       [](World& world) { world.server().is_stopped = false; }, milliseconds(100),
       milliseconds(4000)},
      {"ServerHangs", [](World& world) { world.server().is_hung = true; },
       [](World& world) { world.server().is_hung = false; }, milliseconds(100), milliseconds(5000)},
      {"Black", [](World& world) { world.server().weather.Hold(true); },
       [](World& world) { world.server().weather.Hold(false); }, milliseconds(5000),
       milliseconds(5000)},
      {"Narrow", [](World& world) { world.server().weather.bytes_per_second = kNarrowRate; },
       [](World& world) { world.server().weather.bytes_per_second = kUsualRate; },
       milliseconds(5000), milliseconds(5000)},
      Mad("Flips", &LoopbackScript::corruption),
      Mad("Loses", &LoopbackScript::loss),
      Mad("Duplicates", &LoopbackScript::duplication),
      Mad("Reorders", &LoopbackScript::reordering),
      {"ModelIsGone",
       [](World& world) {
         world.server().Die();
         world.server().Spoil(/*removes=*/true);
       },
       [](World& world) { world.server().Start(); }, milliseconds(100), milliseconds(500)},
      {"ModelIsDamaged",
       [](World& world) {
         world.server().Die();
         world.server().Spoil(/*removes=*/false);
       },
       [](World& world) { world.server().Start(); }, milliseconds(100), milliseconds(500)},
      {"DiskIsFull",
       [](World& world) {
         world.server().Die();
         world.server().Spoil(/*removes=*/true);
         world.server().Start();
         FillDisk(true);
       },
       [](World& /*world*/) { FillDisk(false); }, milliseconds(2000), milliseconds(2600)},
      {"NoMemoryForAnotherRobot",
       [](World& world) {
         world.server().Die();
         world.server().Start();
         world.server().lacks_memory = true;
       },
       [](World& world) { world.server().lacks_memory = false; }, milliseconds(2000),
       milliseconds(2600)},
      {"WallClockJumps",
       [](World& world) { world.server().JumpInTime(std::chrono::hours(100'000)); },
       [](World& world) {
         world.server().Die();
         world.server().Start();
         world.server().JumpInTime(std::chrono::hours(-200'000));
       },
       milliseconds(100), milliseconds(500)},
      {"RobotDies", [](World& world) { world.KillRobot(); },
       [](World& world) { world.StartRobot(); }, milliseconds(100), milliseconds(500)},
      {"AnotherRobotOfThisNameComes", [](World& world) { world.StartRobot(); },
       [](World& world) { world.KillRobot(); }, milliseconds(100), milliseconds(3000)},
  };
  return faults;
}

class FaultWalk : public FolderTest, public testing::WithParamInterface<Fault> {
 protected:
  FaultWalk() { SetLogLevel(LogLevel::kError); }
  ~FaultWalk() override { SetLogLevel(LogLevel::kInfo); }

  // Lets the fault happen once. Adds the frames outside its time, and 2 s, to the sums.
  void Walk(uint32_t seed, const std::optional<int64_t>& at_packet) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", at packet " << at_packet.value_or(-1));
    std::mt19937 random(seed);
    if (HasFailure()) return;
    const auto kind = seed % 2 == 0 ? Plan::Kind::kRemote : Plan::Kind::kSplit;
    World world(folder_ / std::to_string(seed), kind, 1, seed);
    const Fault& fault = GetParam();
    const auto spread = static_cast<uint32_t>((fault.most - fault.least).count() + 1);
    const Time lasts = fault.least + milliseconds(random() % spread);
    std::optional<Time> begun_at;
    const auto begin = [&] {
      begun_at = world.now();
      fault.begin(world);
    };
    if (at_packet) {
      world.CallAt(*at_packet, begin);
      world.Run(seconds(10), [&] { return begun_at.has_value(); });
    } else {
      world.Run(seconds(2) + milliseconds(random() % 500));
      begin();
    }
    ASSERT_TRUE(begun_at);
    world.Run(*begun_at + lasts - world.now());
    fault.end(world);
    const Time is_well_at = world.now() + seconds(2);
    world.Run(seconds(5));
    if (std::string(fault.name) == "Narrow") {
      EXPECT_EQ(world.server().weather.links, 1) << "the pair stays connected";
    }
    for (const Answered& frame : world.answered()) {
      const bool is_before = frame.began > seconds(1) && frame.began + kPeriod < *begun_at;
      if (!is_before && frame.began < is_well_at) continue;
      ++frames_;
      served_ += frame.is_served ? 1 : 0;
    }
  }

  void ExpectServed(int walks) const {
    EXPECT_GE(frames_, walks * 25);
    EXPECT_GE(served_, frames_ * 95 / 100) << served_ << " of " << frames_;
  }

  int frames_ = 0;
  int served_ = 0;
};

TEST_P(FaultWalk, EveryFrameIsAnsweredAndTheServerIsBackSoon) {
  for (uint32_t seed = 1; seed <= 2; ++seed) Walk(seed, std::nullopt);
  for (uint32_t seed = 3; seed <= 4; ++seed) Walk(seed, 7 * seed);
  ExpectServed(4);
}

class SlowFaultWalk : public FaultWalk {};

TEST_P(SlowFaultWalk, EveryFrameIsAnsweredAndTheServerIsBackSoon) {
  for (uint32_t seed = 1; seed <= 50; ++seed) Walk(seed, std::nullopt);
  for (uint32_t seed = 51; seed <= 150; ++seed) Walk(seed, seed - 50);
  ExpectServed(150);
}

constexpr auto kName = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Of, FaultWalk, testing::ValuesIn(Faults()), kName);
INSTANTIATE_TEST_SUITE_P(Of, SlowFaultWalk, testing::ValuesIn(Faults()), kName);

// Faults of any kind, one after the other; each befalls one of two servers.
class LongWalk : public FolderTest {
 protected:
  LongWalk() { SetLogLevel(LogLevel::kError); }
  ~LongWalk() override { SetLogLevel(LogLevel::kInfo); }

  void Walk(uint32_t seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const auto kind = seed % 2 == 0 ? Plan::Kind::kRemote : Plan::Kind::kSplit;
    World world(folder_ / std::to_string(seed), kind, 2, seed);
    world.Run(seconds(2));
    for (int i = 0; i < 8 && !HasFailure(); ++i) {
      const Fault& fault = Faults()[random() % Faults().size()];
      SCOPED_TRACE(fault.name);
      world.Befall(random() % 2);
      fault.begin(world);
      world.Run(fault.least + milliseconds(random() % 1000));
      fault.end(world);
      world.Run(milliseconds(random() % 4000));
    }
    world.Run(seconds(25));
    EXPECT_TRUE(world.answered().back().is_served);
  }
};
class SlowLongWalk : public LongWalk {};

TEST_F(LongWalk, EveryFrameIsAnsweredAndAServerIsThereInTheEnd) {
  for (uint32_t seed = 1; seed <= 2; ++seed) Walk(seed);
}
TEST_F(SlowLongWalk, EveryFrameIsAnsweredAndAServerIsThereInTheEnd) {
  for (uint32_t seed = 3; seed <= 100; ++seed) Walk(seed);
}

class TwoServersWalk : public FaultWalk {
 protected:
  // Lets the fault befall the first of two servers. Returns how long it takes until the second one
  // answers a frame.
  Time WithoutServer(uint32_t seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const auto kind = seed % 2 == 0 ? Plan::Kind::kRemote : Plan::Kind::kSplit;
    World world(folder_ / std::to_string(seed), kind, 2, seed);
    world.Run(seconds(3) + milliseconds(random() % 500));
    EXPECT_TRUE(world.answered().back().is_served);
    const Time begun_at = world.now();
    GetParam().begin(world);
    const auto is_back = [&] {
      return world.answered().back().began > begun_at && world.answered().back().is_served;
    };
    world.Run(seconds(10), is_back);
    EXPECT_TRUE(is_back());
    return world.now() - begun_at;
  }
  void ExpectSecond(uint32_t seeds) {
    const bool is_told = std::string(GetParam().name) == "ServerDies";
    for (uint32_t seed = 1; seed <= seeds; ++seed) {
      EXPECT_LE(WithoutServer(seed), is_told ? seconds(2) : seconds(4));
    }
  }
};
class SlowTwoServersWalk : public TwoServersWalk {};

TEST_P(TwoServersWalk, TheSecondOneAnswersSoonAfterTheFirstIsGone) { ExpectSecond(2); }
TEST_P(SlowTwoServersWalk, TheSecondOneAnswersSoonAfterTheFirstIsGone) { ExpectSecond(100); }

const auto kDeaths = testing::ValuesIn(Faults().begin(), Faults().begin() + 3);
INSTANTIATE_TEST_SUITE_P(Of, TwoServersWalk, kDeaths, kName);
INSTANTIATE_TEST_SUITE_P(Of, SlowTwoServersWalk, kDeaths, kName);

class FlappingTest : public FolderTest {
 protected:
  FlappingTest() { SetLogLevel(LogLevel::kError); }
  ~FlappingTest() override { SetLogLevel(LogLevel::kInfo); }

  // Lets the link come and go every two seconds, or go for ever. Returns how many frames are late.
  int64_t Late(Plan::Kind plan, bool comes_back, bool is_told) {
    World world(folder_ / std::to_string(count_++), plan, 1, 1);
    world.Run(seconds(2));
    Server& server = world.server();
    const size_t before = world.answered().size();
    for (int i = 0; i < 15; ++i) {
      server.weather.Hold(true);
      if (is_told) server.weather.CutAll();
      world.Run(seconds(2));
      server.weather.Hold(!comes_back);
      world.Run(seconds(2));
    }
    const auto is_late = [](const Answered& frame) { return frame.took > kDeadline + 2 * kTick; };
    const auto frames = std::span(world.answered()).subspan(before);
    EXPECT_GT(frames.size(), 400u);
    const int64_t late = std::ranges::count_if(frames, is_late);
    server.weather.Hold(false);
    world.Run(seconds(25));
    EXPECT_TRUE(world.answered().back().is_served) << "it is trusted again";
    return late;
  }

  int count_ = 0;
};

// A server that falls silent in the middle of a frame makes that one late, a few times: then the
// robot does not trust it.
TEST_F(FlappingTest, ALinkThatComesAndGoesMakesNoFramesLate) {
  for (const auto plan : {Plan::Kind::kRemote, Plan::Kind::kSplit}) {
    const int64_t alone = Late(plan, /*comes_back=*/false, /*is_told=*/true);
    EXPECT_LE(Late(plan, true, /*is_told=*/true), alone);
    EXPECT_LE(Late(plan, true, /*is_told=*/false), alone + 3);
  }
}

}  // namespace
}  // namespace cacheinf::faults
