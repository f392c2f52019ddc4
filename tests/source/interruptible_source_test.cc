#include "common/source/interruptible_source.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include "common/base/error.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// What a test and a source that outlives it share.
struct Stage {
  std::atomic<bool> is_silent = false;
  std::atomic<bool> is_over = false;
  std::atomic<int> closed = 0;
  std::atomic<bool> is_pipe = false;  // what is no camera may block, too

  void Wait() const {
    while (is_silent) std::this_thread::sleep_for(milliseconds(1));
  }
};

// Gives frames 0, 1, … as long as it is not silent, and ends, or breaks, with frame 3.
class Camera final : public FrameSource {
 public:
  Camera(std::shared_ptr<Stage> stage, bool is_live, bool breaks)
      : stage_(std::move(stage)), is_live_(is_live), breaks_(breaks) {
    may_block_ = is_live || stage_->is_pipe;
  }
  ~Camera() override { ++stage_->closed; }
  Camera(const Camera&) = delete;
  Camera& operator=(const Camera&) = delete;

  std::optional<Frame> Next() override {
    stage_->Wait();
    if (next_ == 3 && breaks_) throw std::runtime_error("broken");
    if (next_ == 3) return std::nullopt;
    Frame frame;
    frame.index = next_++;
    return frame;
  }
  int64_t skipped() const override { return 10 + next_; }
  bool is_live() const override { return is_live_; }
  bool may_block() const override { return may_block_; }
  bool has_tensors() const override { return false; }
  double frame_rate() const override { return 30; }

 private:
  const std::shared_ptr<Stage> stage_;
  const bool is_live_;
  const bool breaks_;
  bool may_block_;
  int64_t next_ = 0;
};

class InterruptibleSourceTest : public testing::Test {
 protected:
  std::unique_ptr<FrameSource> Open(bool is_live = true, bool breaks = false) const {
    return OpenInterruptibly(
        [stage = stage_, is_live, breaks]() -> std::unique_ptr<FrameSource> {
          stage->Wait();
          return std::make_unique<Camera>(stage, is_live, breaks);
        },
        [stage = stage_] { return stage->is_over.load(); });
  }

  // Ends the run a little later.
  std::thread End() const {
    return std::thread([stage = stage_] {
      std::this_thread::sleep_for(milliseconds(100));
      stage->is_over = true;
    });
  }

  const std::shared_ptr<Stage> stage_ = std::make_shared<Stage>();
};

TEST_F(InterruptibleSourceTest, GivesWhatTheSourceGives) {
  for (const bool is_live : {true, false}) {
    const int closed = stage_->closed;
    {
      const auto source = Open(is_live);
      ASSERT_TRUE(source);
      EXPECT_EQ(source->is_live(), is_live);
      EXPECT_EQ(source->frame_rate(), 30);
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(source->skipped(), 10 + i);
        EXPECT_EQ(source->Next().value().index, i);
      }
      EXPECT_FALSE(source->Next());
    }
    EXPECT_EQ(stage_->closed, closed + 1);
  }
}

TEST_F(InterruptibleSourceTest, APipeIsARecordThatKeepsNobodyFromEnding) {
  stage_->is_pipe = true;
  const auto source = Open(/*is_live=*/false);
  EXPECT_FALSE(source->is_live());
  EXPECT_EQ(source->Next().value().index, 0);
  stage_->is_silent = true;
  std::thread end = End();
  EXPECT_FALSE(source->Next());
  end.join();
  stage_->is_silent = false;
}

TEST_F(InterruptibleSourceTest, ThrowsWhatTheSourceThrows) {
  const auto source = Open(/*is_live=*/true, /*breaks=*/true);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(source->Next());
  EXPECT_THROW((void)source->Next(), std::runtime_error);
  const auto absent = []() -> std::unique_ptr<FrameSource> { throw AbsentSource("none"); };
  EXPECT_THROW(OpenInterruptibly(absent, [] { return false; }), AbsentSource);
  std::atomic<bool> is_over = false;
  const auto given_up = [&]() -> std::unique_ptr<FrameSource> {
    is_over = true;
    throw AbsentSource("none came");
  };
  EXPECT_EQ(OpenInterruptibly(given_up, [&] { return is_over.load(); }), nullptr);
}

TEST_F(InterruptibleSourceTest, ASilentSourceKeepsNobodyFromEnding) {
  for (const bool is_open : {true, false}) {
    stage_->is_over = false;
    stage_->is_silent = !is_open;
    const int closed = stage_->closed;
    auto source = is_open ? Open() : nullptr;
    stage_->is_silent = true;
    const auto begin = steady_clock::now();
    std::thread end = End();
    if (source) {
      EXPECT_FALSE(source->Next());
    } else {
      EXPECT_FALSE(Open());
    }
    source.reset();
    // After 100 ms, and one goodbye.
    EXPECT_LT(steady_clock::now() - begin, milliseconds(is_open ? 3000 : 1050));
    EXPECT_EQ(stage_->closed, closed) << "it is still silent";
    end.join();
    stage_->is_silent = false;
    const auto until = steady_clock::now() + milliseconds(3000);
    while (stage_->closed == closed && steady_clock::now() < until) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    EXPECT_EQ(stage_->closed, closed + 1);
  }
}

}  // namespace
}  // namespace cacheinf
