#include "profiler/measure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/backend/host/cpu_backend.h"
#include "common/backend/host/reference_backend.h"
#include "common/base/error.h"
#include "common/model/graph/cost.h"
#include "common/model/graph/graph.h"
#include "common/plan/profile.h"
#include "profiler/frame_timer.h"
#include "tests/testing/networks.h"
#include "tests/testing/quantised_networks.h"

namespace cacheinf {
namespace {

constexpr int kHeight = 48;
constexpr int kWidth = 64;

// A convolution at full size, one at half size, and a mean over everything.
std::shared_ptr<const Graph> SmallNetwork(int height = kHeight) {
  Graph graph;
  graph.name = "small";
  graph.picture = {kWidth, height};
  const auto add_conv = [&](const char* name, ValueId map, int64_t in, int64_t out, int stride) {
    op::Conv conv;
    conv.spec.rows = conv.spec.columns = {3, stride, 1, 1, 1};
    const Shape shape = {out, in, 3, 3};
    std::vector<float> weights(static_cast<size_t>(ElementCount(shape)));
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = 0.01f * static_cast<float>(i % 7);
    return graph.AddOne(name, conv, {map, graph.AddConstant("w", {shape, std::move(weights)})});
  };
  const ValueId image = graph.AddInput("image", {1, 3, height, kWidth});
  const ValueId half = add_conv("half", add_conv("full", image, 3, 4, 1), 4, 4, 2);
  const ValueId mean = graph.AddOne("mean", op::Reduce{ReduceKind::kMean, {2, 3}, false}, {half});
  graph.outputs = {half, mean};
  graph.Validate();
  return std::make_shared<const Graph>(std::move(graph));
}

// In every frame another strip of columns is new.
FittedClip MovingStrip(int height = kHeight, int columns = 8) {
  FittedClip clip;
  clip.source = "a strip";
  clip.width = kWidth;
  clip.height = height;
  clip.channels = 3;
  clip.place = {{0, height}, {0, kWidth}};
  clip.fit_ms = 0.25;
  for (int frame = 0; frame < 24; ++frame) {
    std::vector<uint8_t> pixels(static_cast<size_t>(height) * kWidth * 3, 40);
    for (int y = 0; y < height; ++y) {
      const int begin = 8 * (frame % 8);
      for (int x = begin; x < std::min(begin + columns, kWidth); ++x) {
        for (int c = 0; c < 3; ++c) {
          pixels[(size_t{static_cast<size_t>(y)} * kWidth + x) * 3 + c] =
              static_cast<uint8_t>(200 - frame);
        }
      }
    }
    clip.pictures.push_back(std::move(pixels));
  }
  return clip;
}

// The work of two strips of eight columns, the old one and the new one: with a border of one pixel
// 17 of 64 columns, then 9 of 32 at half the size.
double WorkOfStrip() {
  const std::shared_ptr<const Graph> graph = SmallNetwork();
  const auto full = static_cast<double>(CostOf(*graph, graph->operators[0]).multiply_adds);
  const auto half = static_cast<double>(CostOf(*graph, graph->operators[1]).multiply_adds);
  return (full * 17 / kWidth + half * 18 / kWidth) / (full + half);
}

// Every byte counts, or whole cells of the picture do.
SharedSettings Settings(bool exact) {
  SharedSettings settings;
  settings.cache.policy = exact ? CacheConfig::Policy::kExact : CacheConfig::Policy::kChange;
  settings.cache.stem = 0;
  return settings;
}

Measurement OfSmallNetwork() {
  Measurement measurement;
  measurement.settings = Settings(/*exact=*/false);
  measurement.codecs = {"raw", "jpeg:85"};
  measurement.seconds = 0.2;
  measurement.clips = {MovingStrip()};
  return measurement;
}

Profile MeasureSmallNetwork(const Measurement& measurement) {
  return Measure(SmallNetwork(), std::make_unique<ReferenceBackend>(), measurement, SteadyClock());
}

// A round takes little more than a second, and a look at the clock as many microseconds as rounds
// have begun.
class RoundClock final : public Clock {
 public:
  std::chrono::nanoseconds Now() const override {
    now_ += std::chrono::microseconds(rounds_);
    return now_;
  }
  void BeginRound() {
    ++rounds_;
    now_ += std::chrono::seconds(1);
  }

 private:
  int rounds_ = 0;
  mutable std::chrono::nanoseconds now_{0};
};

Profile MeasureInRounds(int rounds, Measurement measurement) {
  RoundClock clock;
  int begun = 0;
  measurement.seconds = rounds + 0.5;
  measurement.on_progress = [&](double, double) {
    ++begun;
    clock.BeginRound();
    return true;
  };
  Profile profile =
      Measure(SmallNetwork(), std::make_unique<ReferenceBackend>(), measurement, clock);
  EXPECT_EQ(begun, rounds);
  return profile;
}

TEST(FrameTimerTest, CountsWhatIsComputed) {
  const SteadyClock clock;
  FrameTimer timer(SmallNetwork(), std::make_unique<ReferenceBackend>(),
                   Resolve(Settings(/*exact=*/true)), {}, clock);
  const FittedClip clip = MovingStrip();
  const TimedFrame dense = timer.Dense(clip.picture(0));
  EXPECT_EQ(dense.kind, FrameDecision::Kind::kWhole);
  EXPECT_GT(dense.total_ms, 0.0);
  timer.BeginClip(clip.place);
  EXPECT_EQ(timer.Next(clip.picture(0)).kind, FrameDecision::Kind::kWhole);
  const TimedFrame frame = timer.Next(clip.picture(1));
  ASSERT_EQ(frame.kind, FrameDecision::Kind::kChanged);
  EXPECT_DOUBLE_EQ(frame.work(), WorkOfStrip());
  EXPECT_DOUBLE_EQ(frame.active[0], 17.0 / kWidth);
  EXPECT_DOUBLE_EQ(frame.active[1], 18.0 / kWidth);
  EXPECT_DOUBLE_EQ(frame.active[2], 1.0);
  EXPECT_LE(frame.news[0], frame.active[0]);
  double sum = 0;
  for (const double ms : frame.ms) sum += ms;
  EXPECT_DOUBLE_EQ(sum, frame.total_ms);
  // Nothing, a part, and all.
  Mask some(kHeight, kWidth);
  EXPECT_EQ(timer.Repeat(some).active, (std::vector<double>{0.0, 0.0, 0.0}));
  SetRectangle({0, kHeight / 2}, {0, kWidth}, some);
  EXPECT_NEAR(timer.Repeat(some).active[0], 0.5, 1.5 / kHeight);
  SetAll(some);
  EXPECT_EQ(timer.Repeat(some).active, (std::vector<double>{1.0, 1.0, 1.0}));
}

TEST(MeasureTest, FillsAProfile) {
  const Profile profile = MeasureSmallNetwork(OfSmallNetwork());
  ASSERT_EQ(profile.operators.size(), 3u);
  for (const ProfiledOperator& op : profile.operators) {
    EXPECT_GT(op.dense_ms, 0.0) << op.name;
    EXPECT_EQ(op.ms.points.front().x, 0.0) << op.name;
    EXPECT_EQ(op.ms.points.back().x, 1.0) << op.name;
    for (const Curve* const curve : {&op.ms, &op.refresh_ms, &op.active, &op.slice_bytes}) {
      EXPECT_TRUE(std::ranges::is_sorted(curve->points, {}, &Curve::Point::y)) << op.name;
      EXPECT_FALSE(curve->points.empty()) << op.name;
    }
    EXPECT_EQ(op.active.At(0.0), 0.0);
    EXPECT_EQ(op.active.At(1.0), 1.0);
    EXPECT_GT(op.whole_bytes, 0.0);
    EXPECT_GE(op.whole_bytes, op.slice_bytes.At(0.1));
  }
  EXPECT_FALSE(profile.operators[2].is_local);
  EXPECT_TRUE(profile.operators[2].is_output);
  EXPECT_EQ(profile.fit_ms, 0.25);
  ASSERT_EQ(profile.codecs.size(), 2u);
  EXPECT_NEAR(profile.codecs[0].bytes.At(0.5), kHeight * kWidth * 3, 64);
  EXPECT_LT(profile.codecs[1].bytes.At(0.5), profile.codecs[0].bytes.At(0.5));
  EXPECT_GT(profile.answer_bytes, 0.0);
  EXPECT_GT(profile.p95_error, 0.0);
  const std::string text = ToJsonText(profile);
  EXPECT_EQ(ToJsonText(ParseProfile(text, "p.json")), text);
}

TEST(MeasureTest, PicturesOfOneRowAreMeasuredToo) {
  Measurement measurement = OfSmallNetwork();
  measurement.seconds = 0;
  measurement.clips = {MovingStrip(/*height=*/1)};
  const Profile profile =
      Measure(SmallNetwork(1), std::make_unique<ReferenceBackend>(), measurement, SteadyClock());
  EXPECT_EQ(profile.operators.size(), 3u);
}

// On a busy machine times may say otherwise, but not every time.
TEST(MeasureTest, EightBitNetworksAreProfiledAsOthers) {
  constexpr int kSquare = 64;
  const auto graph = MakeNetwork(ThreeQuantisedNetworks()[2], kSquare, kWidth);
  Measurement measurement = OfSmallNetwork();
  measurement.clips = {MovingStrip(kSquare)};
  const Profile profile =
      Measure(graph, std::make_unique<CpuBackend>(), measurement, SteadyClock());
  ASSERT_EQ(profile.operators.size(), graph->operators.size());
  const Profile read = ParseProfile(ToJsonText(profile), "profile");
  int eight_bit = 0;
  for (size_t id = 0; id < graph->operators.size(); ++id) {
    const Value& map = graph->value(graph->operators[id].outputs[0]);
    if (!map.is_eight_bit()) continue;
    ++eight_bit;
    EXPECT_LE(read.operators[id].row_bytes, map.shape[3] * (map.channels + 4)) << map.name;
  }
  EXPECT_GT(eight_bit, 5);
  EXPECT_GT(profile.median_error, 0);
}

TEST(MeasureTest, FindsThatMoreTakesLonger) {
  for (int attempt = 0; attempt < 5; ++attempt) {
    const ProfiledOperator op = MeasureSmallNetwork(OfSmallNetwork()).operators[0];
    if (op.ms.At(1.0) > 3 * op.ms.At(0.0) && op.refresh_ms.At(1.0) > op.refresh_ms.At(0.06)) return;
  }
  ADD_FAILURE() << "a whole map takes no longer than a part";
}

// Two of eight strips change in every frame; the resulting share of the maps is arithmetic.
TEST(MeasureTest, FollowsHowChangesGrow) {
  Measurement measurement = OfSmallNetwork();
  measurement.settings = Settings(/*exact=*/true);
  const Profile profile = MeasureSmallNetwork(measurement);
  EXPECT_NEAR(profile.operators[0].active.At(WorkOfStrip()), 0.28, 0.02);
  EXPECT_NEAR(profile.operators[1].active.At(WorkOfStrip()), 0.30, 0.03);
  EXPECT_GT(profile.operators[2].active.At(WorkOfStrip()), 0.9);
  // If bits decide, nothing is refreshed.
  EXPECT_TRUE(profile.operators[0].refresh_ms.points.empty());
}

TEST(MeasureTest, MeasuresEveryQualityOfACodec) {
  Measurement measurement = OfSmallNetwork();
  measurement.codecs = {"jpeg:85", "raw", "jpeg:95", "jpeg:70"};
  const Profile profile = MeasureSmallNetwork(measurement);
  ASSERT_EQ(profile.codecs.size(), 4u);
  const auto bytes = [&](size_t codec) { return profile.codecs[codec].bytes.At(0.3); };
  EXPECT_GT(bytes(2), bytes(0));
  EXPECT_GT(bytes(0), bytes(3));
  for (const size_t lossy : {0, 2, 3}) {
    EXPECT_GT(profile.codecs[lossy].encode_ms, 0.0);
    EXPECT_GE(profile.codecs[lossy].seen.points.size(), 2u);
  }
  EXPECT_TRUE(profile.codecs[1].seen.points.empty());
}

TEST(MeasureTest, MeasuresEveryKindOfCodecAgain) {
  Measurement measurement = OfSmallNetwork();
  measurement.codecs = {"raw", "png", "jpeg:85", "blocks:90"};
  const Profile profile = MeasureInRounds(6, measurement);
  ASSERT_EQ(profile.codecs.size(), 4u);
  // In the first round coding takes a microsecond, later more.
  for (const ProfiledCodec& codec : profile.codecs) {
    EXPECT_GT(codec.encode_ms, 0.001) << codec.codec << " is measured in the first round only";
  }
}

// Of the fourth of them all pixels change.
TEST(MeasureTest, FitsEveryClip) {
  Measurement measurement = OfSmallNetwork();
  measurement.settings = Settings(/*exact=*/true);
  measurement.codecs = {"raw"};
  measurement.clips.clear();
  for (const int columns : {8, 16, 24, kWidth}) {
    measurement.clips.push_back(MovingStrip(kHeight, columns));
  }
  const Profile profile = MeasureInRounds(8, measurement);
  ASSERT_EQ(profile.codecs.size(), 1u);
  EXPECT_GT(profile.codecs[0].bytes.points.back().x, 0.9);
}

TEST(MeasureTest, LeavesOutCodecsThatAreNotHere) {
  Measurement measurement = OfSmallNetwork();
  measurement.codecs = {"video:no-such-encoder", "raw"};
  const Profile profile = MeasureSmallNetwork(measurement);
  ASSERT_EQ(profile.codecs.size(), 1u);
  EXPECT_EQ(profile.codecs[0].codec, "raw");
}

TEST(MeasureTest, ReadsAnswersAsItIsTold) {
  Measurement measurement = OfSmallNetwork();
  int reads = 0;
  measurement.read_answer = [&](const ModelState& state) {
    EXPECT_EQ(state.graph().name, "small");
    ++reads;
  };
  (void)MeasureSmallNetwork(measurement);
  EXPECT_GT(reads, 0);
}

TEST(MeasureTest, SaysHowFarItIsAndEndsWhenTold) {
  Measurement measurement = OfSmallNetwork();
  measurement.seconds = 1e6;
  std::vector<double> done;
  measurement.on_progress = [&](double share, double left_s) {
    EXPECT_GT(left_s, 0.0);
    done.push_back(share);
    return done.size() < 3;
  };
  EXPECT_TRUE(MeasureSmallNetwork(measurement).operators.empty());
  EXPECT_EQ(done.size(), 3u);
  EXPECT_TRUE(std::ranges::is_sorted(done));
}

}  // namespace
}  // namespace cacheinf
