// A pair on a link of 0.1 Mbit/s, or one that collapses to that; and a model that arrives in parts.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/backend/host/cpu_backend.h"
#include "common/base/error.h"
#include "common/base/file.h"
#include "common/model/graph/pack.h"
#include "common/pair/messages.h"
#include "common/pair/model_store.h"
#include "common/plan/plan_chooser.h"
#include "tests/link/channel_pair.h"
#include "tests/pair/session_world.h"
#include "tests/plan/chooser_frames.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kNarrow[] = "100kbit,3ms";

class NarrowTest : public SessionTest {
 protected:
  // Answers two frames a second while the model is on its way, until the server has it or so much
  // has arrived.
  static void BringModel(SessionWorld& world, uint64_t at_most = ~uint64_t{0}) {
    const auto begin = world.now();
    while (!world.connection().has_model() &&
           world.channels().robot.statistics().acknowledged < at_most) {
      world.Answer();  // expects the bits of a dense run
      world.TakeTurns(5000);
      ASSERT_EQ(world.connection().fault(), "");
      ASSERT_FALSE(world.session().is_over()) << world.session().end();
      ASSERT_LT(world.now() - begin, seconds(120));
    }
  }
};

TEST_F(NarrowTest, TheModelComesWhileFramesAreAnsweredAndGoesOnAfterABreak) {
  SessionWorld world(Yolo(), folder_);
  const uint64_t all = world.pack().size;
  world.Connect(kNarrow);
  BringModel(world, all / 2);
  ASSERT_FALSE(world.connection().has_model());
  const std::string progress = world.connection().WhyNotReady();
  EXPECT_TRUE(progress.starts_with("the model is on its way to the server, ")) << progress;
  EXPECT_TRUE(progress.ends_with(" kB have left")) << progress;

  world.Connect(kNarrow);
  BringModel(world);
  EXPECT_TRUE(world.connection().has_model());
  EXPECT_NE(world.connection().WhyNotReady(), progress);
  EXPECT_LT(world.channels().robot.statistics().sent.payload, all * 6 / 10 + (40 << 10));
  EXPECT_EQ(world.robot().counts().together, 0);

  // What fits through the link is shared.
  world.AnswerUntilReady();
  EXPECT_GT(world.robot().counts().together, 0);
  EXPECT_EQ(world.connection().fault(), "");
  EXPECT_EQ(world.connection().WhyNotReady(), "");
}

TEST_F(NarrowTest, ARobotOfTheReleaseBeforeBringsAllOfTheModel) {
  SessionWorld world(Yolo(), folder_);
  world.Connect(kNarrow);
  BringModel(world, world.pack().size / 2);
  world.Connect("20mbit,3ms", {kWire.oldest, kWire.oldest});
  BringModel(world);
  EXPECT_TRUE(world.connection().has_model());
  EXPECT_GT(world.channels().robot.statistics().sent.payload, world.pack().size);
}

// The bandwidth is what the robot's own channel reports, from frame to frame.
TEST_F(NarrowTest, APlanThatReliesOnTheLinkIsLeftWhenItCollapses) {
  constexpr milliseconds kPeriod(50);
  constexpr seconds kCollapse(2);
  LoopbackScript script;
  script.shape.delay = milliseconds(2);
  script.shape.bandwidth = {{kCollapse, 20 * 125e3}, {seconds(100), 0.1 * 125e3}};
  ChannelPair channels(script);
  // 100 ms alone, 25 with the server.
  PlanChooser chooser = ChooserOf(Profiles(10));
  std::optional<std::chrono::nanoseconds> left_at;
  Plan plan;
  for (int frame = 0; !left_at && channels.clock.Now() < 2 * kCollapse; ++frame) {
    const ChannelStatistics known = channels.robot.statistics();
    PlanChooser::OneWay to_server;
    if (known.bandwidth) {
      to_server = {known.bandwidth->bits_per_second / 1e6,
                   Milliseconds(known.bandwidth->age) / 1e3};
    }
    plan = chooser.Choose({.is_up = true, .to_server = to_server, .round_trip_ms = 4});
    const bool is_remote = plan.kind == Plan::Kind::kRemote;
    if (channels.clock.Now() > kCollapse && !is_remote) left_at = channels.clock.Now();
    if (!is_remote) {
      chooser.Note(AsPredicted(chooser, plan, 1));
      channels.RunFor(kPeriod);
      continue;
    }
    const auto bytes = static_cast<size_t>(chooser.prediction().up_bytes);
    channels.robot.Send({0, frame, std::vector<uint8_t>(bytes)});
    channels.RunFor(kPeriod);
    if (channels.clock.Now() < kCollapse) chooser.Note(AsPredicted(chooser, plan, 1));
    channels.robot.GiveUp(frame);
  }
  ASSERT_TRUE(left_at) << ToText(plan);
  EXPECT_LE(*left_at, kCollapse + milliseconds(300));
}

class HalfModelTest : public SessionTest {
 protected:
  static message::ModelPiece Piece(const std::vector<uint8_t>& bytes, uint64_t begin,
                                   uint64_t end) {
    return {
        begin,
        {bytes.begin() + static_cast<int64_t>(begin), bytes.begin() + static_cast<int64_t>(end)}};
  }
  // A model, whose bytes are in `bytes_`.
  message::Fingerprint Make(const std::string& name) {
    Graph graph = *MakeNetwork(Yolo(), kHeight, kWidth);
    graph.name = name;
    const MappedFile pack = PackForServers(graph);
    const auto* const begin = reinterpret_cast<const uint8_t*>(pack.data.get());
    bytes_.assign(begin, begin + pack.size);
    return FingerprintOf(pack);
  }
  ModelStore MakeStore() const {
    return ModelStore(folder_, [] { return std::make_unique<CpuBackend>(); });
  }
  uint64_t Kept(const message::Fingerprint& model, const std::string& key) const {
    return ModelStore::Incoming(store_, model, key, true).taken();
  }

  std::vector<uint8_t> bytes_;
  ModelStore store_{folder_, [] { return std::make_unique<CpuBackend>(); }};
};

TEST_F(HalfModelTest, IsKeptForItsKeyAloneUntilItIsOld) {
  const message::Fingerprint model = Make("model");
  EXPECT_FALSE(ModelStore::Incoming(store_, model, "arm", true).Take(Piece(bytes_, 0, 1000)));
  EXPECT_EQ(Kept(model, "arm"), 1000);
  EXPECT_EQ(Kept(model, "leg"), 0);
  EXPECT_EQ(Kept(model, ""), 0);
  MakeStore();
  EXPECT_EQ(Kept(model, "arm"), 1000) << "another server's, or this one's after a restart";
  for (const auto& entry : fs::directory_iterator(folder_)) {
    fs::last_write_time(entry.path(), fs::file_time_type::clock::now() - std::chrono::hours(25));
  }
  MakeStore();
  EXPECT_EQ(Kept(model, "arm"), 0);
}

TEST_F(HalfModelTest, CountsAmongWhatItsKeyHasBrought) {
  const message::Fingerprint first = Make("first");
  ModelStore::Incoming(store_, first, "arm", true).Take(Piece(bytes_, 0, 3000));
  ModelStore::Incoming(store_, first, "leg", true).Take(Piece(bytes_, 0, 3000));
  const message::Fingerprint second = Make("second");
  ModelStore::Incoming(store_, second, "arm", true).Take(Piece(bytes_, 0, 1000));
  store_.MakeRoom("arm", second, second.bytes + 3000);
  EXPECT_EQ(Kept(first, "arm"), 3000);
  store_.MakeRoom("arm", second, second.bytes + 2999);
  EXPECT_EQ(Kept(first, "arm"), 0);
  EXPECT_EQ(Kept(second, "arm"), 1000) << "it is the one that is to come";
  EXPECT_EQ(Kept(first, "leg"), 3000);
  ModelStore::Incoming(store_, first, "", true).Take(Piece(bytes_, 0, 3000));
  store_.MakeRoom("", second, second.bytes);
  EXPECT_EQ(Kept(first, ""), 0) << "without a key, too";
}

TEST_F(HalfModelTest, IsGoneOnWithByWhoComesAndCannotBeChangedOnceItIsWhole) {
  const message::Fingerprint model = Make("model");
  const uint64_t half = bytes_.size() / 2;
  // The third one's connection is dead, which the server does not know yet.
  ModelStore::Incoming first(store_, model, "", true);
  ModelStore::Incoming third(store_, model, "", true);
  EXPECT_FALSE(first.Take(Piece(bytes_, 0, half)));
  EXPECT_FALSE(third.Take(Piece(bytes_, 0, 100)));
  ModelStore::Incoming second(store_, model, "", true);
  EXPECT_EQ(second.taken(), half);
  EXPECT_TRUE(second.Take(Piece(bytes_, half, bytes_.size())));
  ASSERT_TRUE(store_.Has(model));
  message::ModelPiece garbage = {100, std::vector<uint8_t>(1000, 7)};
  EXPECT_FALSE(third.Take(garbage));
  EXPECT_TRUE(first.Take(Piece(bytes_, half, bytes_.size())));
  const std::string kept =
      ReadFile(folder_ / fmt::format("{:016x}-{}.cacheinf", model.checksum, model.bytes));
  EXPECT_TRUE(std::equal(kept.begin(), kept.end(), bytes_.begin(), bytes_.end(),
                         [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; }));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace cacheinf
