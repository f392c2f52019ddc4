#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>

#include "common/base/log.h"
#include "common/config/cache_config.h"
#include "common/config/guard_config.h"
#include "common/config/tracker_config.h"
#include "common/model/graph/graph.h"
#include "common/reuse/safety_levels.h"
#include "common/reuse/sampling.h"
#include "common/reuse/settings.h"
#include "common/reuse/verdict.h"

// How surely and how soon the guard's default settings see what `--check 1` sees, over simulated
// answers of a detector: boxes are only counted. What is checked: of 400 runs each, the share in
// which the guard steps down within 100 frames of a loss of F1 of at least .3, and within 400 of
// at least .1, whether it sets in at once or after 1,000 good frames. The power asked for is .95
// (it is .975 for one box that flickers, which tells least, and .995 and more for the rest). What a
// safer level then makes better is not simulated, so that all policies are alike but for their
// levels.

namespace cacheinf {
namespace {

struct Boxes {
  int answer = 0;
  int dense = 0;
  int matches = 0;
};

// The F1 of what was added; nothing without a box.
class Check {
 public:
  void Add(const Boxes& boxes) {
    matches_ += 2 * boxes.matches;
    boxes_ += boxes.answer + boxes.dense;
  }
  std::optional<double> F1() const {
    if (boxes_ == 0) return std::nullopt;
    return static_cast<double>(matches_) / boxes_;
  }
  double boxes() const { return boxes_; }

 private:
  int matches_ = 0;
  int boxes_ = 0;
};

using Random = std::mt19937_64;

bool Happens(double share, Random& random) {
  return std::uniform_real_distribution<>(0, 1)(random) < share;
}

// Gives the next frame's boxes; `is_whole`: all of it was computed.
using Scene = std::function<Boxes(bool is_whole, Random& random)>;

// So many objects of one size or another, of which cached answers always miss some.
Scene SmallObjects(int objects, int missed) {
  return [=](bool is_whole, Random&) {
    const int seen = is_whole ? objects : objects - missed;
    return Boxes{seen, objects, seen};
  };
}

// Three objects come and go apart, each for 40 frames with 10 to 40 between. A cached answer sees
// one only after this share of its frames, or after a whole frame, as those after an alarm are.
Scene SlowObjects(double missed) {
  constexpr int kVisible = 40;
  struct Object {
    int age;
    bool is_seen = false;
  };
  return [=, objects = std::array<Object, 3>{{{-5}, {-15}, {-25}}}](bool is_whole,
                                                                    Random& random) mutable {
    Boxes boxes;
    for (Object& object : objects) {
      if (object.age == kVisible) {
        object = {-std::uniform_int_distribution<>(10, 40)(random)};
      }
      const int age = object.age++;
      if (age < 0) continue;
      object.is_seen = object.is_seen || is_whole || age >= missed * kVisible;
      ++boxes.dense;
      boxes.answer += object.is_seen ? 1 : 0;
    }
    boxes.matches = boxes.answer;
    return boxes;
  };
}

// Boxes that score about the least that counts: a cached answer misses each in this share of
// frames.
Scene UncertainBoxes(int objects, double missed) {
  return [=](bool is_whole, Random& random) {
    int seen = 0;
    for (int i = 0; i < objects; ++i) seen += is_whole || !Happens(missed, random) ? 1 : 0;
    return Boxes{seen, objects, seen};
  };
}

// Hardly ever differs. Nothing is to be seen for 300 of 1,000 frames.
Scene Healthy(int objects, double missed) {
  return [=, frame = 0, scene = UncertainBoxes(objects, missed)](bool is_whole,
                                                                 Random& random) mutable {
    return frame++ % 1000 < 300 ? Boxes{} : scene(is_whole, random);
  };
}

constexpr double kPower = 0.95;

constexpr std::array kPolicies = {CacheConfig::Policy::kExact, CacheConfig::Policy::kChange,
                                  CacheConfig::Policy::kFixed};

class GuardPowerTest : public ::testing::TestWithParam<CacheConfig::Policy> {
 protected:
  GuardPowerTest() { SetLogLevel(LogLevel::kOff); }
  ~GuardPowerTest() override { SetLogLevel(LogLevel::kInfo); }

  // A robot's frames under guard.
  class Watched {
   public:
    explicit Watched(uint64_t seed) : random_(seed) {
      CacheConfig cache;
      cache.policy = GetParam();
      sampling_.emplace(graph_, GuardConfig(), Resolve(cache, {}), /*has_bands=*/false);
    }

    // Returns whether a safer level followed.
    bool Show(Scene& scene) {
      const SafetyLevel before = sampling_->state().level;
      const Verdict verdict = sampling_->verdict();
      const bool is_whole = frame_ == 0 || verdict.forget || before == SafetyLevel::kDense;
      const Boxes boxes = scene(is_whole, random_);
      if (sampling_->Next(is_whole, frame_++) != nullptr) {
        std::optional<AgreementSample> sample;
        Check of_frame;
        of_frame.Add(boxes);
        if (of_frame.F1()) sample = AgreementSample{*of_frame.F1(), of_frame.boxes()};
        sampling_->Judge(sample, frame_);
      }
      check_.Add(boxes);
      return sampling_->state().level > before;
    }

    double Loss() const { return 1 - check_.F1().value_or(1); }
    void ForgetLoss() { check_ = {}; }
    GuardState state() const { return sampling_->state(); }
    const SampleCounts& counts() const { return sampling_->counts(); }

   private:
    Graph graph_;
    std::optional<Sampling> sampling_;
    Random random_;
    Check check_;
    int64_t frame_ = 0;
  };

  // The share of runs in which the guard steps down within so many frames of the cause's beginning,
  // among those that stepped down or had lost as much by then: whole frames after alarms may mend
  // it.
  static double Power(const Scene& cause, int frames, double loss, int good_frames) {
    constexpr int kRuns = 400;
    int runs = 0;
    int found = 0;
    for (int run = 0; run < kRuns; ++run) {
      Watched watched(static_cast<uint64_t>(run + 1));
      Scene good = Healthy(2, 0);
      // The cause meets the guard's samples anywhere.
      const int before = good_frames == 0 ? 0 : good_frames + run % 50;
      for (int i = 0; i < before; ++i) watched.Show(good);
      watched.ForgetLoss();
      Scene scene = cause;
      bool is_found = false;
      for (int i = 0; i < frames && !is_found; ++i) is_found = watched.Show(scene);
      if (!is_found && watched.Loss() < loss) continue;
      ++runs;
      found += is_found ? 1 : 0;
    }
    EXPECT_GE(runs, kRuns / 4) << "the cause costs too little";
    return static_cast<double>(found) / runs;
  }
};

TEST_P(GuardPowerTest, StepsDownSoonAfterAnswersGoWrong) {
  struct Cause {
    std::string name;
    Scene much;    // F1 of .69 and less
    Scene little;  // F1 of .86 and less
  };
  const std::array<Cause, 4> causes = {
      {{"small objects", SmallObjects(8, 4), SmallObjects(8, 2)},
       {"objects that enter slowly", SlowObjects(0.8), SlowObjects(0.4)},
       {"boxes near the threshold", UncertainBoxes(2, 0.5), UncertainBoxes(2, 0.25)},
       {"one such box", UncertainBoxes(1, 0.5), UncertainBoxes(1, 0.25)}}};
  for (const Cause& cause : causes) {
    for (const int good_frames : {0, 1000}) {
      const double much = Power(cause.much, 100, 0.3, good_frames);
      const double little = Power(cause.little, 400, 0.1, good_frames);
      EXPECT_GE(much, kPower) << cause.name << " after " << good_frames;
      EXPECT_GE(little, kPower) << cause.name << " after " << good_frames;
    }
  }
}

// A loss of .003 in F1, for one box and for several.
TEST_P(GuardPowerTest, StepsDownOnAtMostOneOfTenThousandHealthyFrames) {
  constexpr int kFrames = 200'000;
  for (const int objects : {1, 3, 10}) {
    Watched watched(1);
    Scene scene = Healthy(objects, 0.005);
    int falls = 0;
    for (int i = 0; i < kFrames; ++i) falls += watched.Show(scene) ? 1 : 0;
    EXPECT_LE(falls, kFrames / 10'000) << objects << " objects";
    EXPECT_LT(watched.Loss(), 0.01);
    EXPECT_GT(watched.Loss(), 0.001);
  }
}

// An empty scene is no good news: the guard stays in doubt, and within twice its share of work.
TEST_P(GuardPowerTest, WithoutEvidenceItStaysInDoubtWithinItsShare) {
  Watched watched(1);
  Scene nothing = [](bool, Random&) { return Boxes(); };
  for (int i = 0; i < 10'000; ++i) ASSERT_FALSE(watched.Show(nothing));
  EXPECT_EQ(watched.counts().with_evidence, 0);
  EXPECT_GT(static_cast<double>(watched.counts().samples), 1.8 * GuardConfig().share * 10'000);
  EXPECT_LE(static_cast<double>(watched.counts().samples), 2 * GuardConfig().share * 10'000 + 2);
  EXPECT_FALSE(watched.state().agreement);
  EXPECT_TRUE(watched.state().is_in_doubt);
}

INSTANTIATE_TEST_SUITE_P(Policies, GuardPowerTest, ::testing::ValuesIn(kPolicies));

}  // namespace
}  // namespace cacheinf
