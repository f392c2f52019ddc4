// A robot that measures itself while it has nothing else to do.

#include "client/idle_profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "client/robot_setup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/exec/compiled_model.h"
#include "common/plan/profile.h"
#include "common/plan/schedule.h"
#include "profiler/obtain_profile.h"
#include "tests/client/demo_config.h"
#include "tests/testing/folder_test.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;

class IdleProfileTest : public FolderTest {
 protected:
  IdleProfileTest() {
    setenv("CACHEINF_CACHE", folder_.c_str(), 1);
    config_.mode = RobotConfig::Mode::kCacheinf;
    config_.server.address = "mpi";
  }
  ~IdleProfileTest() override { unsetenv("CACHEINF_CACHE"); }

  static bool IsRough(const Profile& profile) { return profile.median_error == 0; }

  // Waits until the progress shows another figure.
  static bool GoesOn(const IdleProfile& profile, milliseconds at_most) {
    const std::string before = profile.progress();
    const auto end = std::chrono::steady_clock::now() + at_most;
    while (std::chrono::steady_clock::now() < end) {
      if (profile.progress() != before) return true;
      std::this_thread::sleep_for(milliseconds(5));
    }
    return false;
  }

  RobotConfig config_ = DemoConfig("1x3x64x96");
  const SteadyClock clock_{};
  const std::shared_ptr<const CompiledModel> model_ = Compile(LoadGraph(config_, false), config_);
};

TEST_F(IdleProfileTest, RoughFiguresAreThereAtOnceAndTheSameTheNextTime) {
  IdleProfile profile(model_, config_, clock_);
  const std::optional<Profile> first = profile.Take();
  ASSERT_TRUE(first);
  EXPECT_TRUE(IsRough(*first));
  EXPECT_FALSE(profile.Take());
  EXPECT_EQ(profile.progress(), "");
  const std::optional<Profile> next = IdleProfile(model_, config_, clock_).Take();
  ASSERT_TRUE(next);
  EXPECT_EQ(FingerprintOf(*next), FingerprintOf(*first)) << "a server would not know the robot";
}

TEST_F(IdleProfileTest, ListsEveryQualityAndWhatTheUserNames) {
  const auto codecs = [&](const std::string& own) {
    config_.server.codec = own;
    const Profile profile = IdleProfile(model_, config_, clock_).Take().value();
    std::vector<std::string> names;
    for (const ProfiledCodec& codec : profile.codecs) names.push_back(codec.codec);
    return names;
  };
  const std::vector<std::string> usual = codecs("jpeg");  // another name of jpeg:85
  EXPECT_EQ(usual, DefaultPictureCodecs());
  for (const std::string quality :
       {"jpeg:95", "jpeg:85", "jpeg:70", "video:crf=18", "video", "video:crf=28"}) {
    EXPECT_EQ(std::ranges::count(usual, quality), 1) << quality;
  }
  std::vector<std::string> expected = usual;
  expected.insert(expected.begin(), "jpeg:60");
  EXPECT_EQ(codecs("jpeg:60"), expected);
  config_.cache.policy = CacheConfig::Policy::kExact;
  EXPECT_EQ(codecs("jpeg:60"), LosslessPictureCodecs());
}

TEST_F(IdleProfileTest, MeasuresWhileTheRobotIsIdleAndLeavesAtOnce) {
  std::optional<IdleProfile> profile(std::in_place, model_, config_, clock_);
  EXPECT_FALSE(GoesOn(*profile, milliseconds(300)));
  profile->Resume();
  EXPECT_TRUE(GoesOn(*profile, std::chrono::seconds(60)));
  profile->Pause();
  std::this_thread::sleep_for(milliseconds(100));  // the operator under way ends
  EXPECT_FALSE(GoesOn(*profile, milliseconds(700)));
  profile->Resume();
  EXPECT_TRUE(GoesOn(*profile, std::chrono::seconds(60)));
  const auto begin = std::chrono::steady_clock::now();
  profile.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
}

// A hundred times as quick as time.
class QuickClock final : public Clock {
 public:
  std::chrono::nanoseconds Now() const override { return 100 * clock_.Now(); }

 private:
  SteadyClock clock_;
};

TEST_F(IdleProfileTest, MeasuresWhereNothingCanBeKept) {
  setenv("CACHEINF_CACHE", "/proc/nowhere", 1);
  config_.server.address = "";  // no codecs to measure
  const QuickClock clock;
  SetLogLevel(LogLevel::kWarning);
  testing::internal::CaptureStderr();
  IdleProfile profile(model_, config_, clock);
  std::optional<Profile> taken = profile.Take();
  ASSERT_TRUE(taken);
  EXPECT_TRUE(IsRough(*taken));
  profile.Resume();
  taken.reset();
  for (int i = 0; i < 6'000 && !taken; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
    taken = profile.Take();
  }
  SetLogLevel(LogLevel::kOff);
  const std::string log = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(taken) << log;
  EXPECT_FALSE(IsRough(*taken));
  const size_t warning = log.find("the robot measures itself again at the next start");
  EXPECT_NE(warning, log.npos) << log;
  EXPECT_NE(log.find("$CACHEINF_CACHE"), log.npos) << log;
  EXPECT_EQ(log.find("at the next start", warning + 50), log.npos) << "it is said twice: " << log;
}

using SlowIdleProfileTest = IdleProfileTest;

// A fifth of the time is idle, so it takes 100 s.
TEST_F(SlowIdleProfileTest, PausesAreNotMeasured) {
  IdleProfile profile(model_, config_, clock_);
  const std::optional<Profile> rough = profile.Take();
  std::optional<Profile> measured;
  for (int turn = 0; turn < 15'000 && !measured; ++turn) {
    profile.Resume();
    std::this_thread::sleep_for(milliseconds(5));
    profile.Pause();
    std::this_thread::sleep_for(milliseconds(20));
    measured = profile.Take();
  }
  ASSERT_TRUE(measured);
  EXPECT_FALSE(IsRough(*measured));
  EXPECT_EQ(profile.progress(), "");
  const auto dense_ms = [](const Profile& of) {
    double sum = 0;
    for (const ProfiledOperator& op : of.operators) sum += op.dense_ms;
    return sum;
  };
  EXPECT_NEAR(dense_ms(*measured) / dense_ms(*rough), 1, 0.5);
  const std::optional<Profile> known = IdleProfile(model_, config_, clock_).Take();
  EXPECT_EQ(FingerprintOf(known.value()), FingerprintOf(*measured));
}

}  // namespace
}  // namespace cacheinf
