// Mode remote over a link within the process, on a clock that stands still between steps: what the
// server computes of the pictures that it receives.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
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
#include "tests/testing/clip.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/networks.h"
#include "tests/testing/run_graph.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

class RemoteTest : public FolderTest {
 protected:
  // Connects robot and server until frames may be sent.
  void Meet(const std::string& codec, const std::string& shape = "") {
    channels_.emplace(shape.empty() ? LoopbackScript() : Shaped(shape));
    session_.emplace(
        channels_->server, store_, channels_->clock, kBuild,
        [this](int64_t frame, const PictureView&, const PictureSpec&) {
          decoded_.push_back(frame);
        },
        slowdown_);
    connection_.emplace(channels_->robot, kBuild, "rover", PackForServers(*graph_));
    message::Settings settings;
    settings.mode = message::Settings::Mode::kRemote;
    settings.shared.cache.policy = CacheConfig::Policy::kExact;
    settings.shared.cache.geometry = geometry_;
    settings.shared.most_scores = most_scores_;
    settings.shared.slice_codec = SliceCodec::kRaw;
    robot_.emplace(*connection_, *graph_, channels_->clock, settings, ParsePictureCodec(codec),
                   [this](nanoseconds deadline) {
                     Turn();
                     return channels_->clock.Now() < deadline;
                   });
    while (!robot_->IsReady()) {
      Turn();
      std::this_thread::sleep_for(milliseconds(1));
    }
  }

  void Turn() {
    const bool is_busy = is_server_busy_ || (others_turns_ > 0 && others_turns_-- > 0);
    if (!is_busy) session_->Advance();
    channels_->RunFor(std::chrono::microseconds(100));
  }

  bool Compute(nanoseconds give_up_at = RemoteRobot::kNever) {
    clip_.Next();
    return robot_->Compute(clip_.picture(), place_, clip_.decision().number, give_up_at);
  }

  // Sends the next picture and gives it up after this time, while the server is busy.
  void GiveOneUp(nanoseconds after) {
    is_server_busy_ = true;
    EXPECT_FALSE(Compute(channels_->clock.Now() + after));
    EXPECT_EQ(robot_->GiveUp(), std::nullopt);
    channels_->RunFor(milliseconds(1));
    is_server_busy_ = false;
  }

  OutputNumbers Answered() const {
    OutputNumbers numbers;
    ReadOutputs(robot_->outputs(), numbers);
    return numbers;
  }

  OutputNumbers Dense() {
    dense_.SetPicture(clip_.picture());
    dense_.Run();
    return Outputs(dense_);
  }

  void ExpectDenseAnswer() { EXPECT_EQ(Dense(), Answered()); }

  uint64_t AnsweredBytes() const { return BytesSaid(channels_->server); }

  const std::shared_ptr<const Graph> graph_ = MakeNetwork(TenNetworks().front(), kHeight, kWidth);
  const std::shared_ptr<const CompiledModel> model_ =
      std::make_shared<const CompiledModel>(graph_, std::make_unique<CpuBackend>());
  ModelStore store_{folder_, [] { return std::make_unique<CpuBackend>(); }};
  ModelState dense_{model_};
  Clip clip_{kHeight, kWidth, 0, 7};
  std::optional<ChannelPair> channels_;
  std::optional<Session> session_;
  std::optional<ServerConnection> connection_;
  std::optional<RemoteRobot> robot_;
  Slowdown slowdown_;  // of the server
  Rectangle place_ = {{0, kHeight}, {0, kWidth}};
  bool is_server_busy_ = false;
  int others_turns_ = 0;  // before the server's next for this robot
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
    robot_->SetCodec(ParsePictureCodec(codecs[i / 2 % codecs.size()]));
    robot_->SetServerKeeps(i % 4 != 3);
    ASSERT_TRUE(Compute()) << i;
    ExpectDenseAnswer();
    const double work = robot_->part().work.share;
    if (i % 4 == 2) kept_work += work;
    if (i % 4 == 3) {
      EXPECT_EQ(work, 1.0) << i;
    }
  }
  EXPECT_LT(kept_work, 6.0) << "it still holds what it computed before";
  EXPECT_EQ(connection_->fault(), "");
}

TEST_F(RemoteTest, FramesMayLieElsewhereFromOnePictureToTheNext) {
  for (const auto geometry : {CacheConfig::Geometry::kNone, CacheConfig::Geometry::kCanvas}) {
    geometry_ = geometry;
    Meet("raw");
    robot_->SetServerKeeps(true);
    for (int i = 0; i < 24; ++i) {
      place_.rows = i / 4 % 2 == 0 ? Range{0, kHeight / 2} : Range{0, kHeight};
      ASSERT_TRUE(Compute()) << i;
      ExpectDenseAnswer();
      if (i % 4 == 0) {
        EXPECT_TRUE(robot_->part().work.is_dense) << i;
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
  EXPECT_LT(robot_->times().server_queueing, milliseconds(1));
  others_turns_ = 200;
  ASSERT_TRUE(Compute());
  EXPECT_NEAR(Milliseconds(robot_->times().server_queueing), 20, 1);
  ASSERT_TRUE(Compute());
  EXPECT_LT(robot_->times().server_queueing, milliseconds(1));
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
    ASSERT_FALSE(Compute(channels_->clock.Now() + milliseconds(30)));
    ASSERT_TRUE(Compute());
    ExpectDenseAnswer();
  }
}

TEST_F(RemoteTest, AnAnswerHasAllPixels) {
  Meet("raw");
  message::Answer answer;
  for (const ValueId output : graph_->outputs) {
    const Value& value = graph_->value(output);
    const Mask none(HeightOf(value), WidthOf(value));
    std::vector<uint8_t> slice;
    AppendSlice(model_->backend(), dense_.view(output), output, {0, HeightOf(value)}, none, &slice);
    AppendCodedSlice(SliceCodec::kRaw, slice, &answer.outputs.emplace_back());
  }
  answer.frame = 1;
  Say(channels_->server, answer);
  is_server_busy_ = true;
  EXPECT_FALSE(Compute(channels_->clock.Now() + milliseconds(30)));
  EXPECT_EQ(connection_->fault(), "a slice does not have all pixels");
}

TEST_F(RemoteTest, WhatWasSaidBeforeNewSettingsIsIgnored) {
  Meet("raw");
  is_server_busy_ = true;
  Say(channels_->server, message::Slice());
  channels_->RunFor(milliseconds(1));
  connection_->Use(connection_->settings());
  EXPECT_FALSE(robot_->IsReady());
  EXPECT_EQ(connection_->fault(), "");
}

TEST_F(RemoteTest, ASlowServerSleepsBeforeItAnswers) {
  const BusyClock busy;
  std::vector<uint64_t> said;  // when it slept
  slowdown_ = {2, busy, [&](auto) { said.push_back(AnsweredBytes()); }};
  Meet("raw");
  ASSERT_TRUE(Compute());
  EXPECT_EQ(said.size(), 2u) << "after decoding, and after computing";
  EXPECT_LT(said.back(), AnsweredBytes());
}

TEST_F(RemoteTest, APictureStandsAloneOnlyAfterOneThatDidNotLeave) {
  Meet("blocks:raw");
  ASSERT_TRUE(Compute());
  const uint64_t of_whole = robot_->part().sent_bytes;
  GiveOneUp(milliseconds(1));
  ASSERT_TRUE(Compute());
  ExpectDenseAnswer();
  EXPECT_LT(robot_->part().sent_bytes, of_whole);
  GiveOneUp(nanoseconds(0));
  ASSERT_TRUE(Compute());
  ExpectDenseAnswer();
  EXPECT_EQ(robot_->part().sent_bytes, of_whole);
}

}  // namespace
}  // namespace cacheinf
