#include "common/source/reopening_source.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/log.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

using std::chrono::seconds;

// A camera on a cable: gives some frames, then ends until it is opened again.
class FakeCamera final : public FrameSource {
 public:
  explicit FakeCamera(int frames) : frames_(frames) {}

  std::optional<Frame> Next() override {
    if (next_ == frames_) return std::nullopt;
    Frame frame;
    frame.index = next_++;
    return frame;
  }
  int64_t skipped() const override { return 1; }
  bool is_live() const override { return true; }
  bool has_tensors() const override { return false; }
  double frame_rate() const override { return 30; }

 private:
  int frames_;
  int64_t next_ = 0;
};

class ReopeningSourceTest : public testing::Test {
 protected:
  ReopeningSourceTest() { SetLogLevel(LogLevel::kOff); }
  ~ReopeningSourceTest() override { SetLogLevel(LogLevel::kInfo); }

  static constexpr int kFails = -1;
  static constexpr int kIsWrong = -2;

  // `script`: what each opening gives, a number of frames, kFails or kIsWrong. Later ones all fail.
  ReopeningSource Make(std::vector<int> script, seconds longest) {
    script_ = std::move(script);
    const auto open = [this]() -> std::unique_ptr<FrameSource> {
      const size_t opening = openings_++;
      if (opening >= script_.size() || script_[opening] == kFails) {
        throw AbsentSource("camera: cannot be opened");
      }
      if (script_[opening] == kIsWrong) throw InputError("camera: frames are planes of YUV");
      return std::make_unique<FakeCamera>(script_[opening]);
    };
    const auto pause = [this](std::chrono::nanoseconds time) {
      clock_.Advance(time);
      if (stop_after_ > 0 && --stop_after_ == 0) stop_ = true;
    };
    return ReopeningSource("camera", open, clock_, {longest, [this] { return stop_; }}, pause);
  }

  static std::vector<int64_t> ReadAll(FrameSource& source) {
    std::vector<int64_t> indices;
    while (const auto frame = source.Next()) {
      indices.push_back(frame->index);
      EXPECT_EQ(frame->name, "camera, frame " + std::to_string(frame->index));
    }
    return indices;
  }

  ManualClock clock_;
  std::vector<int> script_;
  size_t openings_ = 0;
  bool stop_ = false;
  int stop_after_ = 0;  // pauses; 0: never
};

TEST_F(ReopeningSourceTest, GoesOnWhenTheCameraIsBack) {
  ReopeningSource source = Make({3, kFails, 0, kFails, 2, 1}, seconds(20));
  std::vector<int64_t> indices;
  for (int i = 0; i < 6; ++i) indices.push_back(source.Next()->index);
  EXPECT_EQ(indices, (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(clock_.Now(), seconds(5));  // one for each attempt
  EXPECT_EQ(source.frame_rate(), 30);
  EXPECT_TRUE(source.is_live());
  EXPECT_EQ(source.skipped(), 4);  // one by each of the four that could be opened
}

TEST_F(ReopeningSourceTest, GivesUpWhenPatienceEnds) {
  ReopeningSource source = Make({2}, seconds(7));
  EXPECT_EQ(ReadAll(source).size(), 2u);
  EXPECT_EQ(clock_.Now(), seconds(7));
  EXPECT_EQ(openings_, 8u);
  EXPECT_EQ(source.frame_rate(), 30);
}

TEST_F(ReopeningSourceTest, PatienceBeginsAgainWithEveryLoss) {
  ReopeningSource source =
      Make({1, kFails, kFails, kFails, 1, kFails, kFails, kFails, 1}, seconds(4));
  EXPECT_EQ(ReadAll(source), (std::vector<int64_t>{0, 1, 2}));
}

TEST_F(ReopeningSourceTest, StopsWaitingWhenTheRunIsStopped) {
  stop_after_ = 3;
  ReopeningSource source = Make({1}, seconds(1000));
  EXPECT_EQ(ReadAll(source).size(), 1u);
  EXPECT_EQ(clock_.Now(), seconds(3));
}

TEST_F(ReopeningSourceTest, WaitsForACameraThatIsNotThereAtFirst) {
  ReopeningSource source = Make({kFails, kFails, kFails, 2}, seconds(9));
  EXPECT_EQ(clock_.Now(), seconds(3));
  EXPECT_EQ(source.Next()->index, 0);
  EXPECT_EQ(source.Next()->index, 1);
}

TEST_F(ReopeningSourceTest, GivesUpWhenTheCameraDoesNotCome) {
  EXPECT_EQ(RefusalOf([&] { Make({}, seconds(9)); }),
            "camera: cannot be opened, and did not come within 9 s");
  EXPECT_EQ(openings_, 10u);
  stop_after_ = 2;
  EXPECT_THROW(Make({}, seconds(1000)), AbsentSource);
  EXPECT_EQ(openings_, 13u);
}

TEST_F(ReopeningSourceTest, DoesNotWaitForWhatCanNeverBeRead) {
  EXPECT_THROW(Make({kIsWrong, 1}, seconds(9)), InputError);
  EXPECT_EQ(openings_, 1u);
}

}  // namespace
}  // namespace cacheinf
