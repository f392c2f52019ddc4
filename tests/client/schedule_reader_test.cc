#include "client/schedule_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/backend/host/cpu_backend.h"
#include "common/base/error.h"
#include "common/codec/compressed_text.h"
#include "common/exec/compiled_model.h"
#include "common/exec/model_state.h"
#include "common/plan/profiled_graph.h"
#include "common/plan/schedule.h"
#include "tests/plan/profiles.h"
#include "tests/plan/schedules.h"
#include "tests/testing/networks.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

using std::chrono::steady_clock;

class ScheduleReaderTest : public testing::Test {
 protected:
  // A schedule with this many steps per axis; all its plans split behind the picture.
  std::string TextOf(int steps, const char* planner = "cacheinf") const {
    std::vector<ProfiledOperator> operators = DescribeOperators(*graph_, state_.layout());
    for (ProfiledOperator& op : operators) SetCosts(op, 1);
    const ProfilePair pair = PairOf(std::move(operators), 4, 1000);
    Schedule schedule = ScheduleOf(pair, planner);
    for (int step = 1; step <= steps; ++step) {
      schedule.mbit.push_back(step);
      schedule.robot_work.push_back(static_cast<double>(step) / steps);
    }
    schedule.server_work = schedule.robot_work;
    Schedule::Bucket bucket;
    bucket.is_solved = true;
    bucket.plan = {.kind = Plan::Kind::kSplit, .cuts = {{-1, 500}}};
    schedule.buckets.assign(static_cast<size_t>(steps) * steps * steps, bucket);
    return ToJsonText(schedule);
  }

  ScheduleReader Reader(std::function<void(const Plan&)> check = [](const Plan&) {}) const {
    return {*graph_, state_.layout(), {[](const Plan&) { return ""; }, std::move(check)}};
  }

  const std::shared_ptr<const Graph> graph_ = MakeNetwork(TenNetworks().front(), 64, 96);
  const ModelState state_{
      std::make_shared<const CompiledModel>(graph_, std::make_unique<CpuBackend>())};
};

// Most of the reading is done beside the frames' thread.
TEST_F(ScheduleReaderTest, AServersScheduleIsReadBesideTheFrames) {
  const std::vector<uint8_t> compressed = CompressText(TextOf(24));
  double least_share = 1;
  for (int attempt = 0; attempt < 5 && least_share > 0.1; ++attempt) {
    ScheduleReader reader = Reader();
    const auto begin = steady_clock::now();
    steady_clock::duration longest{};
    std::unique_ptr<PlanChooser> chooser;
    const auto timed = [&](const auto& call) {
      const auto call_begin = steady_clock::now();
      call();
      longest = std::max(longest, steady_clock::now() - call_begin);
    };
    timed([&] { reader.Begin(compressed); });
    while (chooser == nullptr) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      timed([&] { chooser = reader.Take(); });
    }
    const std::chrono::duration<double> all = steady_clock::now() - begin;
    least_share = std::min(least_share, std::chrono::duration<double>(longest) / all);
    EXPECT_EQ(reader.Take(), nullptr) << "only once";
  }
  EXPECT_LT(least_share, 0.1);
}

TEST_F(ScheduleReaderTest, WhatIsReadIsTheSchedulesChooser) {
  ScheduleReader reader = Reader();
  const std::string text = TextOf(2);
  reader.Begin(CompressText(text));
  reader.Begin(CompressText(text));  // as when the robot meets the server again
  const PlanChooser::Link link = {.is_up = true, .to_server = {2}};
  const Plan expected = reader.Read(text, "a file")->Choose(link);
  for (int i = 0; i < 2; ++i) {
    std::unique_ptr<PlanChooser> chooser;
    while (chooser == nullptr) chooser = reader.Take();
    EXPECT_EQ(chooser->Choose(link), expected);
  }
  EXPECT_EQ(reader.Take(), nullptr);
}

TEST_F(ScheduleReaderTest, AnotherPlannersScheduleIsFollowedAsItStands) {
  const auto first_of = [&](const char* planner) {
    const std::unique_ptr<PlanChooser> chooser = Reader().Read(TextOf(2, planner), "a file");
    return chooser->Choose({.is_up = true, .to_server = {0.001}, .to_robot = {0.001}}).kind;
  };
  // Over such a link nothing is worth sending.
  EXPECT_EQ(first_of("cacheinf"), Plan::Kind::kLocal);
  EXPECT_EQ(first_of("hp"), Plan::Kind::kSplit);
}

TEST_F(ScheduleReaderTest, WhatCannotBeFollowedIsRefusedInASentence) {
  const auto refusal = [](ScheduleReader reader, std::vector<uint8_t> compressed) -> std::string {
    reader.Begin(std::move(compressed));
    return RefusalOf([&] {
      while (reader.Take() == nullptr) std::this_thread::yield();
    });
  };
  const std::string text = TextOf(2);
  EXPECT_EQ(refusal(Reader(), {1, 2, 3}).find("the server's schedule: "), 0u);
  EXPECT_EQ(refusal(Reader(), CompressText("{}")),
            "the server's schedule: not a schedule of cacheinf-schedule; solve it again "
            "(cacheinf-schedule solve)");
  const auto no_splits = [](const Plan& plan) {
    if (plan.kind == Plan::Kind::kSplit) throw InputError("it splits");
  };
  EXPECT_EQ(refusal(Reader(no_splits), CompressText(text)), "it splits");
}

}  // namespace
}  // namespace cacheinf
