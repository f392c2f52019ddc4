// Mode remote over a link within the process, on a clock that stands still between steps: what the
// server computes from the pictures that it receives.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/backend/host/cpu_backend.h"
#include "common/codec/slice_codec.h"
#include "common/exec/slice.h"
#include "common/pair/remote_robot.h"
#include "common/pair/say.h"
#include "common/pair/server_connection.h"
#include "common/pair/session.h"
#include "tests/link/channel_pair.h"
#include "tests/pair/busy_clock.h"
#include "tests/pair/guest.h"
#include "tests/testing/clip.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/networks.h"
#include "tests/testing/outputs.h"
#include "tests/testing/run_graph.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

class RemoteTest : public FolderTest {
 protected:
  message::Settings Settings() const {
    message::Settings settings = RemoteSettings();
    settings.shared.cache.geometry = geometry_;
    settings.shared.most_scores = most_scores_;
    return settings;
  }

  // Connects robot and server until frames may be sent.
  void Meet(const std::string& codec, const std::string& shape = "") {
    const auto note = [this](int64_t frame, const PictureView&, const PictureSpec&) {
      decoded_.push_back(frame);
    };
    guest_.emplace(store_, slow_work_, *graph_, Settings(), codec,
                   Session::Options{.on_picture = note}, Shaped(shape), server_nap_);
    GetReady(*guest_);
  }

  static void GetReady(Guest& guest) {
    while (!guest.robot.IsReady()) {
      guest.session.Advance();
      guest.channels.RunFor(std::chrono::microseconds(100));
      // Then another thread prepares the model, in its own time.
      const bool is_quiet = guest.channels.robot.IsFlushed() && guest.channels.server.IsFlushed();
      if (is_quiet) std::this_thread::sleep_for(milliseconds(1));
    }
  }

  void Turn() {
    const bool is_busy = is_server_busy_ || (others_turns_ > 0 && others_turns_-- > 0);
    if (!is_busy) TakeStages(stages_a_turn_);
    guest_->channels.RunFor(std::chrono::microseconds(100));
  }

  // Until there is nothing to do.
  void TakeStages(int at_most) {
    while (at_most-- > 0 && guest_->session.Advance()) continue;
  }

  void Begin() { guest_->Begin(place_); }

  bool Compute(nanoseconds give_up_at = nanoseconds::max()) {
    Begin();
    Progress progress = guest_->robot.Step();
    for (; progress == Progress::kWaits && guest_->channels.clock.Now() < give_up_at;
         progress = guest_->robot.Step()) {
      Turn();
    }
    if (progress != Progress::kDone) guest_->robot.Abandon();
    return progress == Progress::kDone;
  }

  // Sends the next picture and gives it up after this time, while the server is busy.
  void GiveOneUp(nanoseconds after) {
    is_server_busy_ = true;
    EXPECT_FALSE(Compute(guest_->channels.clock.Now() + after));
    EXPECT_EQ(guest_->robot.GiveUp(), std::nullopt);
    guest_->channels.RunFor(milliseconds(1));
    is_server_busy_ = false;
  }

  OutputNumbers Answered() const { return OutputsOf(guest_->robot.outputs()); }

  OutputNumbers Dense() { return DenseOutputs(dense_, guest_->clip.picture()); }

  void ExpectDenseAnswer() { EXPECT_EQ(Dense(), Answered()); }

  uint64_t AnsweredBytes() const { return BytesSaid(guest_->channels.server); }

  const std::shared_ptr<const Graph> graph_ = MakeNetwork(TenNetworks().front(), kHeight, kWidth);
  const std::shared_ptr<const CompiledModel> model_ =
      std::make_shared<const CompiledModel>(graph_, std::make_unique<CpuBackend>());
  int runs_ = 0;  // of operators, on the server
  std::function<void()> meanwhile_ = [] {};
  ModelStore store_{folder_, [this] {
                      return std::make_unique<HeardBackend>([this] {
                        ++runs_;
                        meanwhile_();
                      });
                    }};
  ModelState dense_{model_};
  SlowWork slow_work_;
  std::optional<Guest> guest_;
  SlowSide::Nap server_nap_;
  Rectangle place_ = {{0, kHeight}, {0, kWidth}};
  bool is_server_busy_ = false;
  int others_turns_ = 0;  // before the server's next for this robot
  int stages_a_turn_ = std::numeric_limits<int>::max();
  int most_scores_ = 0;
  CacheConfig::Geometry geometry_ = CacheConfig::Geometry::kNone;
  std::vector<int64_t> decoded_;
};

TEST_F(RemoteTest, TheServerDecodesAllPicturesAndComputesTheOneThatIsWaitedFor) {
  Meet("blocks:raw");
  const uint64_t before = AnsweredBytes();
  ASSERT_TRUE(Compute());
  ExpectDenseAnswer();
  const uint64_t of_one = AnsweredBytes() - before;

  for (int i = 0; i < 5; ++i) GiveOneUp(milliseconds(1));
  ASSERT_TRUE(Compute());
  ExpectDenseAnswer();
  EXPECT_EQ(decoded_, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(AnsweredBytes(), before + 2 * of_one);
}

TEST_F(RemoteTest, CodecAndKeepingMayChangeWithEveryPicture) {
  Meet("raw");
  const std::vector<std::string> codecs = {"blocks:raw", "png", "raw"};
  double kept_work = 0;
  for (int i = 0; i < 24; ++i) {
    guest_->robot.SetCodec(ParsePictureCodec(codecs[i / 2 % codecs.size()]));
    guest_->robot.SetServerKeeps(i % 4 != 3);
    ASSERT_TRUE(Compute()) << i;
    ExpectDenseAnswer();
    const double work = guest_->robot.part().work.share;
    if (i % 4 == 2) kept_work += work;
    if (i % 4 == 3) {
      EXPECT_EQ(work, 1.0) << i;
    }
  }
  EXPECT_LT(kept_work, 6.0) << "it still holds what it computed before";
  EXPECT_EQ(guest_->connection.fault(), "");
}

TEST_F(RemoteTest, FramesMayLieElsewhereFromOnePictureToTheNext) {
  for (const auto geometry : {CacheConfig::Geometry::kNone, CacheConfig::Geometry::kCanvas}) {
    geometry_ = geometry;
    Meet("raw");
    guest_->robot.SetServerKeeps(true);
    for (int i = 0; i < 24; ++i) {
      place_.rows = i / 4 % 2 == 0 ? Range{0, kHeight / 2} : Range{0, kHeight};
      ASSERT_TRUE(Compute()) << i;
      ExpectDenseAnswer();
      if (i % 4 == 0) {
        EXPECT_TRUE(guest_->robot.part().work.is_dense) << i;
      }
    }
  }
}

TEST_F(RemoteTest, OnlyTheBestScoresComeBackWhereNoMoreAreRead) {
  most_scores_ = 3;
  Meet("raw");
  ASSERT_TRUE(Compute());
  const std::vector<float> all = Dense().front();
  const std::vector<float> best = Answered().front();
  float least_kept = std::numeric_limits<float>::infinity();
  float most_left_out = -least_kept;
  int kept = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (std::isnan(best[i])) {
      most_left_out = std::max(most_left_out, all[i]);
    } else {
      EXPECT_EQ(best[i], all[i]);
      least_kept = std::min(least_kept, all[i]);
      ++kept;
    }
  }
  EXPECT_EQ(kept, 3);
  EXPECT_GE(least_kept, most_left_out);
}

TEST_F(RemoteTest, TheServerSaysHowLongAFrameWaitedForOthers) {
  Meet("raw");
  ASSERT_TRUE(Compute());
  EXPECT_LT(guest_->robot.times().server_queueing, milliseconds(1));
  others_turns_ = 200;
  ASSERT_TRUE(Compute());
  EXPECT_NEAR(Milliseconds(guest_->robot.times().server_queueing), 20, 1);
  ASSERT_TRUE(Compute());
  EXPECT_LT(guest_->robot.times().server_queueing, milliseconds(1));
}

// However long a robot's frame takes, another's waits for one stage of it at a time. Refreshes of
// both lie in between.
TEST_F(RemoteTest, RobotsTakeTurnsByTheStage) {
#ifndef NDEBUG
  GTEST_SKIP() << "debug builds run operators to check what is stored";
#endif
  const auto shallow = MakeNetwork(TenNetworks()[2], kHeight, kWidth);
  const size_t stages = shallow->operators.size();  // each is an operator here
  ASSERT_LT(stages + 10, graph_->operators.size());
  Meet("raw");
  Guest quick(store_, slow_work_, *shallow);
  quick.clip = Clip(kHeight, kWidth, /*step=*/0, 8);
  GetReady(quick);
  ModelState quick_dense(
      std::make_shared<const CompiledModel>(shallow, std::make_unique<CpuBackend>()));
  // Returns how many turns it took until this robot had its outputs.
  const auto take_turns = [&](RemoteRobot& waiting) {
    size_t turns = 0;
    for (Progress progress = Progress::kWaits; progress == Progress::kWaits;
         progress = waiting.Step()) {
      for (Guest* guest : {&*guest_, &quick}) {
        const int before = runs_;
        guest->session.Advance();
        EXPECT_LE(runs_ - before, 1);
        guest->channels.RunFor(std::chrono::microseconds(100));
      }
      ++turns;
    }
    return turns;
  };
  for (int i = 0; i < 8; ++i) {
    SCOPED_TRACE(testing::Message() << "frame " << i);
    for (Guest* guest : {&*guest_, &quick}) guest->robot.SetServerKeeps(i >= 2);
    Begin();
    quick.Begin();
    EXPECT_LE(take_turns(quick.robot), stages + 5);
    EXPECT_EQ(DenseOutputs(quick_dense, quick.clip.picture()), OutputsOf(quick.robot.outputs()));
    EXPECT_EQ(guest_->robot.Step(), Progress::kWaits);
    take_turns(guest_->robot);
    ExpectDenseAnswer();
  }
}

// One stage at least, and no more once a message has come.
TEST_F(RemoteTest, ASessionStepsNoLongerThanItsTurn) {
  Meet("raw");
  const auto begin = [this] {
    Begin();
    guest_->channels.RunFor(milliseconds(1));
  };
  const auto runs_of_a_turn = [this](nanoseconds at_most) {
    const int before = runs_;
    EXPECT_TRUE(guest_->session.Advance(at_most));
    return runs_ - before;
  };
  begin();
  meanwhile_ = [this] { guest_->channels.clock.Advance(std::chrono::microseconds(100)); };
  EXPECT_EQ(runs_of_a_turn({}), 0) << "it begins";
  EXPECT_EQ(runs_of_a_turn({}), 1);
  EXPECT_EQ(runs_of_a_turn(std::chrono::microseconds(50)), 1);
  EXPECT_EQ(runs_of_a_turn(std::chrono::microseconds(300)), 3);
  EXPECT_EQ(runs_of_a_turn(std::chrono::microseconds(350)), 4);
  EXPECT_GT(runs_of_a_turn(std::chrono::seconds(1)), 20);
  EXPECT_FALSE(guest_->session.Advance()) << "it is done";
  begin();
  EXPECT_EQ(runs_of_a_turn({}), 0);
  meanwhile_ = [this] {
    Say(guest_->channels.robot, message::GiveUp{-1});
    guest_->channels.RunFor(milliseconds(1));
  };
  EXPECT_EQ(runs_of_a_turn(std::chrono::seconds(1)), 1);
}

// The server has twice the time that the deadline leaves, and a stage.
TEST_F(RemoteTest, WhatIsLateByAsMuchAgainIsDropped) {
  constexpr milliseconds kLeft(30);
  for (const bool keeps : {false, true}) {
    Meet("raw");
    guest_->robot.SetServerKeeps(keeps);
    for (const auto& [late, is_dropped] :
         {std::pair(2 * kLeft - milliseconds(2), false), std::pair(2 * kLeft, true)}) {
      for (const int stages : {1, static_cast<int>(graph_->operators.size()) / 2}) {
        SCOPED_TRACE(testing::Message() << "keeps " << keeps << ", after " << stages << " stages, "
                                        << Milliseconds(late) << " ms");
        guest_->Begin(place_, guest_->channels.clock.Now() + kLeft);
        guest_->channels.RunFor(milliseconds(1));
        TakeStages(stages);
        const int runs = runs_;
        const uint64_t said = AnsweredBytes();
        guest_->channels.clock.Advance(late);
        TakeStages(1000);
        if (is_dropped) {
          EXPECT_LE(runs_, runs + 1);
          EXPECT_EQ(AnsweredBytes(), said);
        } else {
          EXPECT_GT(AnsweredBytes(), said);
          guest_->channels.RunFor(milliseconds(1));
          ASSERT_EQ(guest_->robot.Step(), Progress::kDone);
          ExpectDenseAnswer();
        }
      }
    }
    ASSERT_TRUE(Compute()) << "without a deadline nothing is late";
    ExpectDenseAnswer();
  }
}

// By a word of the robot's or by its next picture, which may also come into a refresh.
TEST_F(RemoteTest, WhatIsGivenUpIsAbandonedBetweenTwoStages) {
  for (const auto geometry : {CacheConfig::Geometry::kNone, CacheConfig::Geometry::kCanvas}) {
    geometry_ = geometry;
    for (const bool keeps : {false, true}) {
      Meet("raw");
      guest_->robot.SetServerKeeps(keeps);
      for (int stages = 0; stages < 2 * static_cast<int>(graph_->operators.size()); ++stages) {
        SCOPED_TRACE(testing::Message() << "keeps " << keeps << ", after " << stages / 2);
        Begin();
        guest_->channels.RunFor(milliseconds(1));
        TakeStages(stages / 2);
        if (stages % 2 == 0) {
          const uint64_t said = AnsweredBytes();
          guest_->robot.Abandon();
          guest_->robot.GiveUp();
          guest_->channels.RunFor(milliseconds(1));
          const int runs = runs_;
          TakeStages(1000);
          EXPECT_EQ(runs_, runs);
          EXPECT_EQ(AnsweredBytes(), said);
        }
        stages_a_turn_ = 1 + stages % 3;
        ASSERT_TRUE(Compute());
        ExpectDenseAnswer();
      }
    }
  }
}

TEST_F(RemoteTest, AStepWaitsForNothing) {
  Meet("raw");
  is_server_busy_ = true;
  Begin();
  const auto begin = guest_->channels.clock.Now();
  for (int i = 0; i < 100; ++i) ASSERT_EQ(guest_->robot.Step(), Progress::kWaits);
  EXPECT_EQ(guest_->channels.clock.Now(), begin);
  guest_->channels.clock.Advance(ServerConnection::kPatience);
  EXPECT_EQ(guest_->robot.Step(), Progress::kRefused);
  EXPECT_EQ(guest_->connection.fault(), "the server is too slow");
}

TEST_F(RemoteTest, NoServerIsTooSlowAsLongAsTheLinkIsBusy) {
  Meet("raw", "100kbit,3ms");
  Say(guest_->channels.robot, message::Probe{0, std::vector<uint8_t>(130'000)});
  const auto begin = guest_->channels.clock.Now();
  EXPECT_TRUE(Compute()) << guest_->connection.fault();
  EXPECT_GT(guest_->channels.clock.Now() - begin, ServerConnection::kPatience);
  ExpectDenseAnswer();
}

TEST_F(RemoteTest, NothingIsComputedOfWhatWasGivenUp) {
  Meet("blocks:raw");
  ASSERT_TRUE(Compute());
  const uint64_t before = AnsweredBytes();
  GiveOneUp(milliseconds(1));
  for (int i = 0; i < 10; ++i) Turn();
  EXPECT_EQ(decoded_.size(), 2u);
  EXPECT_EQ(AnsweredBytes(), before);
}

TEST_F(RemoteTest, ALateAnswerIsNotTakenForTheNextFrames) {
  Meet("raw", "1000mbit,20ms");
  for (int i = 0; i < 5; ++i) {
    ASSERT_FALSE(Compute(guest_->channels.clock.Now() + milliseconds(30)));
    ASSERT_TRUE(Compute());
    ExpectDenseAnswer();
  }
}

TEST_F(RemoteTest, AnAnswerHasAllPixels) {
  Meet("raw");
  message::Done answer;
  for (const ValueId output : graph_->outputs) {
    const Value& value = graph_->value(output);
    const Mask none(HeightOf(value), WidthOf(value));
    std::vector<uint8_t> slice;
    AppendSlice(model_->backend(), dense_.view(output), output, {0, HeightOf(value)}, none, &slice);
    AppendCodedSlice(SliceCodec::kRaw, slice, &answer.outputs.emplace_back());
  }
  answer.number = 1;
  Say(guest_->channels.server, answer);
  is_server_busy_ = true;
  EXPECT_FALSE(Compute(guest_->channels.clock.Now() + milliseconds(30)));
  EXPECT_EQ(guest_->connection.fault(), "a slice does not have all pixels");
}

TEST_F(RemoteTest, WhatWasSaidBeforeNewSettingsIsIgnored) {
  Meet("raw");
  is_server_busy_ = true;
  Say(guest_->channels.server, message::Slice());
  guest_->channels.RunFor(milliseconds(1));
  guest_->connection.Use(guest_->connection.settings());
  EXPECT_FALSE(guest_->robot.IsReady());
  EXPECT_EQ(guest_->connection.fault(), "");
}

TEST_F(RemoteTest, ASlowServerSleepsBeforeItAnswers) {
  std::vector<uint64_t> said;  // when it slept
  server_nap_ = [&] { said.push_back(AnsweredBytes()); };
  Meet("raw");
  ASSERT_TRUE(Compute());
  EXPECT_GT(said.size(), 5u) << "after decoding, and after each stage";
  EXPECT_GE(guest_->robot.times().server_decoding, milliseconds(2));
  EXPECT_GT(guest_->robot.times().server_computing, milliseconds(10));
  EXPECT_LT(said.back(), AnsweredBytes());
}

TEST_F(RemoteTest, APictureStandsAloneOnlyAfterOneThatDidNotLeave) {
  Meet("blocks:raw");
  ASSERT_TRUE(Compute());
  const uint64_t of_whole = guest_->robot.part().sent_bytes;
  GiveOneUp(milliseconds(1));
  ASSERT_TRUE(Compute());
  ExpectDenseAnswer();
  EXPECT_LT(guest_->robot.part().sent_bytes, of_whole);
  GiveOneUp(nanoseconds(0));
  ASSERT_TRUE(Compute());
  ExpectDenseAnswer();
  EXPECT_EQ(guest_->robot.part().sent_bytes, of_whole);
}

}  // namespace
}  // namespace cacheinf
