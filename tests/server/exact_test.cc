// Mode cacheinf under the policy exact, robot and server as programs: whatever a schedule offers,
// every answer has the bits of the robot's own dense run.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "common/backend/host/cpu_backend.h"
#include "common/base/file.h"
#include "common/config/cache_config.h"
#include "common/exec/compiled_model.h"
#include "common/exec/model_state.h"
#include "common/model/graph/graph.h"
#include "common/model/graph/pack.h"
#include "common/plan/curve.h"
#include "common/plan/plan.h"
#include "common/plan/profile.h"
#include "common/plan/profiled_graph.h"
#include "common/plan/schedule.h"
#include "common/reuse/reuse.h"
#include "common/reuse/settings.h"
#include "tests/plan/profiles.h"
#include "tests/plan/schedules.h"
#include "tests/server/programs.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/networks.h"
#include "tests/testing/process.h"
#include "tests/testing/quantised_networks.h"

namespace cacheinf {
namespace {

constexpr int kManyFrames = 300;
constexpr std::chrono::minutes kMostTime(2);

class Exact : public FolderTest {
 protected:
  explicit Exact(const Network& network = TenNetworks().front())
      : graph_(MakeNetwork(network, 64, 96)) {}

  void SetUp() override { WritePack(*graph_, folder_ / "model"); }

  Arguments Robot(const std::string& name, const Arguments& more) const {
    return DumpingRobot(folder_, Generated(kManyFrames), name, more);
  }

  // Every codec is in the schedule. The lossy ones seem to cost next to nothing, and the server to
  // be a hundred times as fast as the robot.
  void WriteSchedule(const std::string& planner, const Plan& plan,
                     const std::vector<std::string>& codecs) const {
    CacheConfig cache;
    cache.policy = CacheConfig::Policy::kExact;
    StateOptions options = OptionsFor(Resolve(cache, {}), *graph_);
    options.trades = true;
    const ModelState state(
        std::make_shared<const CompiledModel>(graph_, std::make_unique<CpuBackend>()), options);
    std::vector<ProfiledOperator> operators = DescribeOperators(*graph_, state.layout());
    for (ProfiledOperator& op : operators) SetCosts(op, 10);
    ProfilePair pair = PairOf(std::move(operators), /*speedup=*/100, /*picture_bytes=*/18'432);
    pair.robot.codecs.clear();
    for (const std::string& codec : codecs) {
      const bool is_lossless = codec == "raw" || codec == "png" || codec == "blocks:raw";
      pair.robot.codecs.push_back({codec, Curve::Constant(is_lossless ? 18'000 : 100), 0.1, 0.1});
    }
    pair.server.codecs = pair.robot.codecs;
    Schedule schedule = ScheduleOf(pair, planner);
    schedule.mbit = {0, 1000};
    schedule.robot_work = schedule.server_work = {1};
    schedule.buckets.resize(2);
    for (Schedule::Bucket& bucket : schedule.buckets) bucket.is_solved = true;
    schedule.buckets[1].plan = plan;
    WriteFile(folder_ / "schedule.json", ToJsonText(schedule));
  }

  // Runs the robot alone and with a server, which must give the same bits. Returns what both print.
  std::string RunBoth(const Arguments& more = {}) const {
    Process alone(Robot("dense", {"--mode", "dense"}));
    EXPECT_EQ(alone.Wait(kMostTime), 0) << alone.output();
    Process both(Together(Robot("together",
                                Arguments{"--mode", "cacheinf", "--server", "mpi", "--server-wait",
                                          "10", "--schedule", folder_ / "schedule.json"} +
                                    more),
                          Server(folder_ / "models", {"--once"})),
                 kEnvironment);
    EXPECT_EQ(both.Wait(kMostTime), 0) << both.output();
    EXPECT_EQ(FilesIn(folder_ / "together"), FilesIn(folder_ / "dense"));
    return both.output();
  }

  std::ptrdiff_t FramesServed() const {
    return std::ranges::count_if(LinesOf(folder_ / "together.jsonl"), IsServed);
  }

  const std::shared_ptr<const Graph> graph_;
};

const std::vector<std::string> kLossy = {"jpeg:85", "jpeg:100", "blocks:90", "video"};

TEST_F(Exact, WithEveryCodecInTheScheduleAllAnswersHaveTheBitsOfADenseRun) {
  std::vector<std::string> codecs = kLossy;
  codecs.insert(codecs.end(), {"raw", "png", "blocks:raw"});
  WriteSchedule("cacheinf", {.kind = Plan::Kind::kRemote, .codec = "video"}, codecs);
  const std::string printed = RunBoth();
  EXPECT_GE(FramesServed(), kManyFrames / 10) << printed;
}

TEST_F(Exact, WithoutAPlanThatKeepsTheBitsTheRobotIsAloneAndSaysSo) {
  WriteSchedule("cacheinf", {.kind = Plan::Kind::kRemote, .codec = "video"}, kLossy);
  const std::string printed = RunBoth();
  EXPECT_EQ(FramesServed(), 0);
  EXPECT_NE(printed.find("schedule.json: the robot may follow none of its plans with a server, and "
                         "answers alone: the policy is exact, and the codec jpeg:85 is lossy"),
            std::string::npos)
      << printed;
}

// Residual sums in 8 bits.
class ExactInEightBits : public Exact {
 protected:
  ExactInEightBits() : Exact(ThreeQuantisedNetworks()[1]) {}
};

TEST_F(ExactInEightBits, PlansOfAScheduleGiveTheBitsOfADenseRun) {
  WriteSchedule("cacheinf", {.kind = Plan::Kind::kRemote, .codec = "raw"}, {"raw", "png"});
  const std::string printed = RunBoth();
  EXPECT_GE(FramesServed(), kManyFrames / 10) << printed;
}

TEST_F(Exact, APlannersOnlyPlanIsNotFollowedIfItsSlicesAreLossy) {
  WriteSchedule("hp", {.kind = Plan::Kind::kSplit, .cuts = {{-1, 500}}}, {"raw"});
  const std::string printed = RunBoth({"--slice-codec", "fp16"});
  EXPECT_EQ(FramesServed(), 0);
  EXPECT_NE(printed.find("the slice codec fp16 is lossy"), std::string::npos) << printed;
}

}  // namespace
}  // namespace cacheinf
