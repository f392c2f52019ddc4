#include "common/source/frame_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <semaphore>
#include <thread>
#include <utility>

#include "common/base/clock.h"
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
      if (taken_ != nullptr) ++*taken_;
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
  EXPECT_EQ(queue.count().dropped, 0);
  EXPECT_EQ(queue.skipped(), 25);
}

TEST(FrameQueueTest, SaysOfItsSourceWhatTheSourceSays) {
  const FrameQueue queue(std::make_unique<CountedSource>(1), 1);
  EXPECT_TRUE(queue.has_tensors());
  EXPECT_FALSE(queue.is_live());
  EXPECT_EQ(queue.frame_rate(), 12.5);
  EXPECT_EQ(queue.truth_class_count(), 3);
}

// A camera's burst of 20 frames while one is answered.
TEST(FrameQueueTest, OfABurstTheNewestFramesWaitAndTheOthersAreCounted) {
  for (const int64_t room : {1, 3}) {
    SCOPED_TRACE(room);
    std::atomic<int64_t> taken = 0;
    std::binary_semaphore goes_on(0);
    FrameQueue queue(std::make_unique<CountedSource>(20, &taken, &goes_on),
                     static_cast<size_t>(room));
    goes_on.release();
    ASSERT_TRUE(queue.First());
    while (taken < 21) std::this_thread::sleep_for(milliseconds(1));
    for (int64_t index = 20 - room; index < 20; ++index) {
      const std::optional<Frame> frame = queue.Next();
      ASSERT_TRUE(frame);
      EXPECT_EQ(frame->index, index);
    }
    EXPECT_FALSE(queue.Next());
    EXPECT_EQ(queue.count().dropped, 20 - room);
    EXPECT_EQ(queue.count().most_dropped, 20 - room);
    EXPECT_EQ(queue.count().most_waiting, room);
  }
}

TEST(FrameQueueTest, ShowsTheFirstFrameWithoutTakingIt) {
  FrameQueue queue(std::make_unique<CountedSource>(2), 1);
  const std::optional<Frame> first = queue.First();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->index, 0);
  EXPECT_EQ(queue.Next()->index, 0);
  EXPECT_EQ(queue.Next()->index, 1);
  FrameQueue empty(std::make_unique<CountedSource>(0), 1);
  EXPECT_FALSE(empty.First());
}

// Ten frames a second on a clock that the test moves.
class PacedQueueTest : public testing::Test {
 protected:
  class Record final : public CountedSource {
   public:
    Record() : CountedSource(8) {}
    std::optional<Frame> Next() override {
      std::optional<Frame> frame = CountedSource::Next();
      if (frame) frame->stamp = milliseconds(100) * frame->index;
      return frame;
    }
  };

  ManualClock clock_;
};

TEST_F(PacedQueueTest, FramesComeWhenTheirTimesSayFromTheFirstCallOn) {
  clock_.Advance(milliseconds(5000));
  FrameQueue queue(std::make_unique<Record>(), 1, &clock_);
  EXPECT_TRUE(queue.is_live());
  ASSERT_TRUE(queue.First());
  clock_.Advance(milliseconds(900));  // as a model is loaded
  for (int64_t i = 0; i < 8; ++i) {
    std::atomic<bool> has_come = false;
    std::thread robot([&] {
      const std::optional<Frame> frame = queue.Next();
      has_come = true;
      ASSERT_TRUE(frame);
      EXPECT_EQ(frame->index, i);
      EXPECT_EQ(frame->stamp, milliseconds(5900 + 100 * i));
    });
    if (i > 0) {
      clock_.Advance(milliseconds(99));
      std::this_thread::sleep_for(milliseconds(30));
      EXPECT_FALSE(has_come) << i;
      clock_.Advance(milliseconds(1));
    }
    robot.join();
  }
  EXPECT_FALSE(queue.Next());
  EXPECT_EQ(queue.count().dropped, 0);
}

TEST_F(PacedQueueTest, ASlowRobotMissesFramesAndTheLastOneIsAnswered) {
  FrameQueue queue(std::make_unique<Record>(), 1, &clock_);
  EXPECT_EQ(queue.Next()->index, 0);
  // It takes 350 ms for a frame, in steps that the queue's thread can follow.
  const auto answer = [&](int64_t newest) {
    for (int i = 0; i < 7; ++i) {
      clock_.Advance(milliseconds(50));
      std::this_thread::sleep_for(milliseconds(60));
    }
    EXPECT_EQ(queue.Next()->index, newest);
  };
  answer(3);
  answer(7);
  EXPECT_FALSE(queue.Next());
  EXPECT_EQ(queue.count().dropped, 5);
  EXPECT_EQ(queue.count().most_dropped, 3);
}

TEST_F(PacedQueueTest, SaysWhetherAFrameWaitsWithoutWaiting) {
  FrameQueue queue(std::make_unique<Record>(), 1, &clock_);
  EXPECT_FALSE(queue.HasNext()) << "no frame comes before the first call of Next";
  EXPECT_EQ(queue.Next()->index, 0);
  for (int64_t i = 1; i < 8; ++i) {
    std::this_thread::sleep_for(milliseconds(30));
    EXPECT_FALSE(queue.HasNext()) << i;
    clock_.Advance(milliseconds(100));
    while (!queue.HasNext()) std::this_thread::sleep_for(milliseconds(1));
    EXPECT_EQ(queue.Next()->index, i);
  }
  EXPECT_FALSE(queue.Next());
  EXPECT_FALSE(queue.HasNext()) << "at the end no frame waits";
}

TEST_F(PacedQueueTest, MayBeLeftBeforeAFrameIsDue) {
  FrameQueue unused(std::make_unique<Record>(), 1, &clock_);
  FrameQueue used(std::make_unique<Record>(), 1, &clock_);
  EXPECT_TRUE(used.Next());
}

TEST_F(PacedQueueTest, EndsBeforeAFrameIsDueIfNobodyWaitsForIt) {
  std::atomic<bool> is_over = false;
  FrameQueue queue(std::make_unique<Record>(), 1, &clock_, [&is_over] { return is_over.load(); });
  EXPECT_EQ(queue.Next()->index, 0);
  is_over = true;
  EXPECT_FALSE(queue.Next()) << "the clock stands still";
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

TEST(FrameQueueTest, OfLiveFramesThatArePushedTheNewestWaits) {
  FrameQueue queue(1, /*is_live=*/true);
  EXPECT_FALSE(queue.HasNext());
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(queue.Push({}), i);
  EXPECT_EQ(queue.Next()->index, 2);
  EXPECT_EQ(queue.count().dropped, 2);
  queue.Close();
  queue.Push({});
  EXPECT_FALSE(queue.Next());
}

TEST(FrameQueueTest, ALiveQueuesRoomMayChange) {
  FrameQueue queue(1, /*is_live=*/true);
  queue.SetCapacity(3);
  for (int i = 0; i < 4; ++i) queue.Push({});
  EXPECT_EQ(queue.Next()->index, 1);
  queue.SetCapacity(1);
  EXPECT_EQ(queue.Next()->index, 3) << "the newest of those that waited";
  EXPECT_FALSE(queue.HasNext());
  EXPECT_EQ(queue.count().dropped, 2);
}

TEST(FrameQueueTest, APushedRecordLosesNothing) {
  FrameQueue queue(1, /*is_live=*/false);
  std::thread camera([&] {
    for (int i = 0; i < 20; ++i) queue.Push({});
    queue.Close();
  });
  for (int64_t i = 0; i < 20; ++i) EXPECT_EQ(queue.Next()->index, i);
  EXPECT_FALSE(queue.Next());
  camera.join();
}

TEST(FrameQueueTest, MayBeLeftBeforeTheEnd) {
  FrameQueue queue(std::make_unique<CountedSource>(1000), 2);
  EXPECT_TRUE(queue.Next());
}

}  // namespace
}  // namespace cacheinf
