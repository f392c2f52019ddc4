// Robot and server share rows of networks with 8-bit maps, as with floats.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "common/codec/slice_codec.h"
#include "common/exec/change_policy.h"
#include "common/pair/shared_settings.h"
#include "common/plan/profiled_graph.h"
#include "common/plan/split.h"
#include "tests/pair/cuts.h"
#include "tests/pair/session_world.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/inside_state.h"
#include "tests/testing/quantised_networks.h"
#include "tests/testing/refusal.h"
#include "tests/testing/walk_pair.h"

namespace cacheinf {
namespace {

class EightBitWalks : public testing::TestWithParam<Network> {};

INSTANTIATE_TEST_SUITE_P(Of, EightBitWalks, testing::ValuesIn(ThreeQuantisedNetworks()),
                         [](const auto& info) { return std::string(info.param.name); });

int EightBitMapsOf(const Graph& graph) {
  int count = 0;
  for (const Value& value : graph.values) count += value.is_eight_bit() ? 1 : 0;
  return count;
}

TEST_P(EightBitWalks, EveryCutGivesTheBitsOfADenseRun) {
  WalkPair pair(GetParam());
  ASSERT_GT(EightBitMapsOf(pair.graph()), 10) << "hardly anything is quantised";
  pair.Begin();
  const std::vector<int> places = PlacesOfCuts(pair.robot());
  for (const int place : places) {
    for (const int share : {0, 500}) {
      const std::vector<Cut> cuts = {{place, share}};
      SCOPED_TRACE(testing::Message() << "cut behind " << place << ", share " << share);
      for (int frame = 0; frame < 2; ++frame) {
        pair.Frame(cuts);
        ASSERT_NO_FATAL_FAILURE(pair.ExpectDenseAnswer());
        ASSERT_NO_FATAL_FAILURE(pair.ExpectDenseBitsWhereHeld(pair.robot()));
        ASSERT_NO_FATAL_FAILURE(pair.ExpectDenseBitsWhereHeld(pair.server()));
      }
    }
  }
  EXPECT_GT(pair.slices(), places.size());
}

TEST_P(EightBitWalks, SomeCutsWhateverIsLateOrLostGiveTheBitsOfADenseRun) {
  WalkPair pair(GetParam());
  pair.Begin();
  const std::vector<int> places = PlacesOfCuts(pair.robot());
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE(testing::Message() << "frame " << i);
    std::mt19937& random = pair.random();
    if (random() % 20 == 0) pair.ReplaceServer();
    const bool gives_up = random() % 4 == 0;
    pair.Frame(RandomCuts(places, random), random() % 6 != 0, gives_up ? random() % 100 : SIZE_MAX);
    ASSERT_NO_FATAL_FAILURE(pair.ExpectDenseAnswer());
  }
}

TEST_P(EightBitWalks, UnderChangeBothSidesKeepThePromise) {
  WalkPair pair(GetParam(), {{}, Keep::kAll},
                {.kind = ChangePolicy::Kind::kChange, .threshold = 0.3f});
  pair.Begin();
  const std::vector<int> places = PlacesOfCuts(pair.robot());
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE(testing::Message() << "frame " << i);
    pair.Frame(RandomCuts(places, pair.random()));
    if (pair.is_whole()) {
      ASSERT_NO_FATAL_FAILURE(pair.ExpectDenseAnswer());
    }
    for (ModelState* side : {&pair.robot(), &pair.server()}) {
      EXPECT_FALSE(InsideState::CheckStored(*side, 200, static_cast<uint32_t>(i)))
          << (side == &pair.robot() ? "robot" : "server");
    }
  }
}

TEST_P(EightBitWalks, ARowOfAMapCountsAByteANumber) {
  const auto graph = MakeNetwork(GetParam(), kHeight, kWidth);
  const std::vector<ProfiledOperator> operators =
      DescribeOperators(*graph, MakeLayout(*graph, {}, Keep::kAll));
  int checked = 0;
  for (size_t id = 0; id < operators.size(); ++id) {
    const Value& value = graph->value(graph->operators[id].outputs[0]);
    if (!value.is_eight_bit()) continue;
    EXPECT_LT(operators[id].row_bytes, WidthOf(value) * (value.channels + 4)) << value.name;
    EXPECT_GE(operators[id].row_bytes, WidthOf(value) * value.channels) << value.name;
    ++checked;
  }
  EXPECT_GT(checked, 10);
}

class EightBitSessions : public FolderTest, public testing::WithParamInterface<Network> {
 protected:
  static void Share(SessionWorld& world) {
    world.Connect();
    world.AnswerUntilReady();
    std::mt19937 random(4);
    uint64_t bytes = 0;
    for (int i = 0; i < 40 && world.connection().fault().empty(); ++i) {
      if (i % 4 == 0) world.robot().SetCuts(RandomCuts(world.places(), random));
      world.Answer();
      if (world.robot().part()) bytes += world.robot().part()->sent_bytes;
      world.TakeTurns(20);
    }
    EXPECT_EQ(world.connection().fault(), "");
    EXPECT_GT(world.robot().counts().together, 20);
    EXPECT_GT(bytes, 1000u);
  }
};

INSTANTIATE_TEST_SUITE_P(Of, EightBitSessions, testing::ValuesIn(ThreeQuantisedNetworks()),
                         [](const auto& info) { return std::string(info.param.name); });

// Model, settings, spreads and slices are taken from messages. Under exact every answer is
// compared with a dense one.
TEST_P(EightBitSessions, RobotAndServerShareFramesOverALink) {
  SessionWorld exact(GetParam(), folder_ / "exact");
  Share(exact);
  SessionWorld by_change(GetParam(), folder_ / "change",
                         {.kind = ChangePolicy::Kind::kChange, .threshold = 0.3f});
  Share(by_change);
}

TEST(EightBitSlicesTest, OnlyCodecsThatLoseNothingCarryRows) {
  const auto graph = MakeNetwork(ThreeQuantisedNetworks()[0], kHeight, kWidth);
  for (const SliceCodec codec : {SliceCodec::kRaw, SliceCodec::kZstd}) {
    EXPECT_EQ(RefusalOf([&] { CheckCarriesRows(codec, *graph); }), "");
  }
  for (const SliceCodec codec : {SliceCodec::kFp16, SliceCodec::kFp16Zstd}) {
    EXPECT_EQ(
        RefusalOf([&] { CheckCarriesRows(codec, *graph); }),
        std::string("the slice codec ") + NameOf(codec) +
            " rounds floats, and rows of 8-bit maps are none: set slice_codec to zstd or raw");
  }
  const auto floats = MakeNetwork(TenNetworks()[0], kHeight, kWidth);
  EXPECT_EQ(RefusalOf([&] { CheckCarriesRows(SliceCodec::kFp16, *floats); }), "");
}

}  // namespace
}  // namespace cacheinf
