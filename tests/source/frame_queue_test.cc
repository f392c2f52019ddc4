#include "common/source/frame_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <semaphore>
#include <thread>
#include <utility>

#include "common/base/error.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;

// A number of empty frames. A live source counts those that were taken from it.
class CountedSource : public FrameSource {
 public:
  explicit CountedSource(int64_t frames) : frames_(frames) {}
  CountedSource(int64_t frames, std::atomic<int64_t>* taken, std::binary_semaphore* goes_on)
      : frames_(frames), taken_(taken), goes_on_(goes_on) {}

  void FailAtTheEnd() { fails_ = true; }

  std::optional<Frame> Next() override {
    if (next_ == frames_) {
      if (goes_on_ != nullptr) goes_on_->acquire();
      if (fails_) throw InputError("the plug was pulled");
      return std::nullopt;
    }
    Frame frame;
    frame.index = next_++;
    if (taken_ != nullptr) *taken_ = next_;
    return frame;
  }

  int64_t skipped() const override { return next_ / 2; }
  bool is_live() const override { return taken_ != nullptr; }
  bool has_tensors() const override { return true; }
  double frame_rate() const override { return 12.5; }
  int truth_class_count() const override { return 3; }

 private:
  int64_t frames_;
  int64_t next_ = 0;
  bool fails_ = false;
  std::atomic<int64_t>* taken_ = nullptr;
  std::binary_semaphore* goes_on_ = nullptr;
};

TEST(FrameQueueTest, GivesEveryFrameOfARecordInOrder) {
  FrameQueue queue(std::make_unique<CountedSource>(50), 3);
  for (int64_t i = 0; i < 50; ++i) {
    const std::optional<Frame> frame = queue.Next();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->index, i);
    EXPECT_EQ(queue.skipped(), (i + 1) / 2);
  }
  EXPECT_FALSE(queue.Next());
  EXPECT_FALSE(queue.Next());
  EXPECT_EQ(queue.dropped(), 0);
  EXPECT_EQ(queue.skipped(), 25);
}

TEST(FrameQueueTest, SaysOfItsSourceWhatTheSourceSays) {
  const FrameQueue queue(std::make_unique<CountedSource>(1), 1);
  EXPECT_TRUE(queue.has_tensors());
  EXPECT_FALSE(queue.is_live());
  EXPECT_EQ(queue.frame_rate(), 12.5);
  EXPECT_EQ(queue.truth_class_count(), 3);
}

TEST(FrameQueueTest, GivesTheNewestFrameOfACameraAndCountsThoseDropped) {
  std::atomic<int64_t> taken = 0;
  std::binary_semaphore goes_on(0);
  FrameQueue queue(std::make_unique<CountedSource>(20, &taken, &goes_on), 2);
  while (taken < 20) std::this_thread::sleep_for(milliseconds(1));
  // The last frame is taken, but may not be waiting yet.
  std::optional<Frame> frame = queue.Next();
  ASSERT_TRUE(frame);
  if (frame->index != 19) frame = queue.Next();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->index, 19);
  EXPECT_GE(queue.dropped(), 18);
  goes_on.release();
  EXPECT_FALSE(queue.Next());
}

TEST(FrameQueueTest, AnErrorComesAfterTheFramesBefore) {
  auto source = std::make_unique<CountedSource>(2);
  source->FailAtTheEnd();
  FrameQueue queue(std::move(source), 8);
  EXPECT_TRUE(queue.Next());
  EXPECT_TRUE(queue.Next());
  EXPECT_THROW(queue.Next(), InputError);
  EXPECT_FALSE(queue.Next());
}

TEST(FrameQueueTest, MayBeLeftBeforeTheEnd) {
  FrameQueue queue(std::make_unique<CountedSource>(1000), 2);
  EXPECT_TRUE(queue.Next());
}

}  // namespace
}  // namespace cacheinf
