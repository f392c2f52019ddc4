// How long a robot waits for its server, frame by frame.

#include "common/pair/patience.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using Time = Patience::Time;
using Alone = Patience::Alone;

// A robot that takes a frame as often as it answers, in exact times.
class PatienceTest : public testing::Test {
 protected:
  struct Frame {
    bool is_served = false;
    milliseconds latency{};
  };

  // Answers a frame for which the server would take so long; nothing: it never answers.
  Frame Answer(std::optional<milliseconds> server) {
    const Time begin = now_;
    const Time due = has_deadline_ ? begin + deadline_ : Patience::kNever;
    const Time give_up_at = patience_.GiveUpAt(begin, due, Alone::kAll, agreements_);
    if (server && begin + *server <= give_up_at) {
      patience_.NoteServer(*server);
      return Answered(begin, begin + *server, true);
    }
    const Time end = std::max(begin, give_up_at) + alone_;
    const bool came = server && begin + *server <= end;
    patience_.NoteServer(came ? std::optional<Time>(*server) : std::nullopt, server.has_value());
    patience_.NoteAlone(Alone::kAll, alone_);
    return Answered(begin, end, false);
  }

  // How many of so many frames the server answers.
  int Served(int frames, std::optional<milliseconds> server) {
    int served = 0;
    for (int i = 0; i < frames; ++i) served += Answer(server).is_served ? 1 : 0;
    return served;
  }

  Patience patience_;
  bool has_deadline_ = true;
  milliseconds deadline_{100};
  milliseconds alone_{150};
  Patience::Agreements agreements_;

 private:
  Frame Answered(Time begin, Time end, bool is_served) {
    now_ = end;
    return {is_served, std::chrono::duration_cast<milliseconds>(end - begin)};
  }

  Time now_{0};
};

constexpr auto kNoAnswer = std::nullopt;

class PatienceWithoutDeadline : public PatienceTest {
 protected:
  PatienceWithoutDeadline() {
    has_deadline_ = false;
    patience_.NoteAlone(Alone::kAll, alone_);
  }
};

TEST_F(PatienceWithoutDeadline, TheFirstAnswerHasTime) {
  EXPECT_EQ(Answer(milliseconds(9000)).latency, milliseconds(9000));
  patience_.ForgetServer();
  EXPECT_EQ(Answer(milliseconds(9000)).latency, milliseconds(9000));
}

TEST_F(PatienceWithoutDeadline, AServerThatIsGoneDelaysOneAnswerByLittle) {
  Served(1, milliseconds(90));
  Served(99, milliseconds(42));
  EXPECT_EQ(Answer(kNoAnswer).latency, milliseconds(90 + 200) + alone_);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Answer(kNoAnswer).latency, alone_);
  EXPECT_FALSE(Answer(milliseconds(42)).is_served) << "its answer comes while the robot computes";
  alone_ = milliseconds(500);
  for (int i = 0; i < 10; ++i) patience_.NoteAlone(Alone::kAll, alone_);
  EXPECT_EQ(Served(100, milliseconds(42)), 100);
  EXPECT_EQ(Answer(kNoAnswer).latency, milliseconds(42) + 2 * alone_);
}

TEST_F(PatienceWithoutDeadline, ALinkThatBecomesSlowIsNoServerThatIsGone) {
  Served(100, milliseconds(42));
  EXPECT_EQ(Served(100, milliseconds(240)), 100);
  EXPECT_GE(Served(100, milliseconds(1000)), 98);
  EXPECT_EQ(Served(100, milliseconds(42)), 100);
}

TEST_F(PatienceWithoutDeadline, AServerThatIsFarSlowerThanTheRobotAloneDelaysFewAnswers) {
  Served(100, milliseconds(42));
  int late = 0;
  for (int i = 0; i < 100; ++i) {
    const milliseconds latency = Answer(milliseconds(9000)).latency;
    EXPECT_LE(latency, 9 * alone_);
    late += latency > alone_ ? 1 : 0;
  }
  EXPECT_LE(late, 8);
  EXPECT_GE(Served(100, milliseconds(42)), 91) << "it is quick again";
}

TEST_F(PatienceWithoutDeadline, AFirstAnswerThatNeverComesDelaysFewAnswers) {
  milliseconds waited(0);
  milliseconds all(0);
  for (int i = 0; i < 5000; ++i) {
    const milliseconds latency = Answer(milliseconds(40'000)).latency;
    EXPECT_LE(latency, milliseconds(10'000) + alone_);
    waited += latency - alone_;
    all += latency;
  }
  EXPECT_LE(waited, milliseconds(2 * 10'000) + all / 10);
  EXPECT_GE(waited, milliseconds(3 * 10'000)) << "it is tried again";
}

TEST_F(PatienceTest, AServerInTimeIsUsedWhereTheRobotAloneIsLate) {
  patience_.NoteAlone(Alone::kAll, alone_);
  EXPECT_EQ(Served(150, milliseconds(42)), 150);
}

TEST_F(PatienceTest, ANewServerHasTwiceTheTimeThatItsFirstAnswerIsExpectedToTake) {
  alone_ = milliseconds(60);
  for (int i = 0; i < 10; ++i) patience_.NoteAlone(Alone::kAll, alone_);
  EXPECT_FALSE(Answer(milliseconds(80)).is_served) << "nobody knows, so it is done alone in time";
  patience_.ForgetServer();
  agreements_.first_of_server = milliseconds(50);
  EXPECT_TRUE(Answer(milliseconds(80)).is_served);
  patience_.ForgetServer();
  EXPECT_EQ(Answer(kNoAnswer).latency, 2 * milliseconds(50) + alone_);
  EXPECT_EQ(Answer(kNoAnswer).latency, 2 * milliseconds(50) + alone_);
  EXPECT_EQ(Answer(kNoAnswer).latency, alone_) << "two late answers are enough";
  patience_.ForgetServer();
  agreements_.first_of_server = milliseconds(500);
  EXPECT_EQ(Answer(kNoAnswer).latency, deadline_ + 2 * alone_);
}

TEST_F(PatienceTest, ALateServerIsUsedWhileItIsEarlierThanTheRobotAlone) {
  patience_.NoteAlone(Alone::kAll, alone_);
  EXPECT_EQ(Served(20, milliseconds(130)), 20);
  EXPECT_EQ(Served(20, milliseconds(170)), 0);
  EXPECT_EQ(Answer(milliseconds(170)).latency, alone_);
}

TEST_F(PatienceTest, OneLateFrameCostsNoOther) {
  patience_.NoteAlone(Alone::kAll, alone_);
  Served(5, milliseconds(42));
  EXPECT_EQ(Answer(kNoAnswer).latency, 2 * alone_) << "it waits as long as it computes";
  EXPECT_EQ(Served(10, milliseconds(42)), 10);
  EXPECT_FALSE(Answer(milliseconds(3000)).is_served);
  EXPECT_EQ(Served(10, milliseconds(42)), 10);
}

TEST_F(PatienceTest, AfterAHoldUpOfSecondsTheFirstAnswerIsEnough) {
  patience_.NoteAlone(Alone::kAll, alone_);
  Served(20, milliseconds(42));
  EXPECT_EQ(Answer(kNoAnswer).latency, 2 * alone_);
  EXPECT_EQ(Answer(kNoAnswer).latency, 2 * alone_);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(Answer(kNoAnswer).latency, alone_);
  EXPECT_FALSE(Answer(milliseconds(42)).is_served) << "its answer comes while the robot computes";
  EXPECT_EQ(Served(20, milliseconds(42)), 20);
}

TEST_F(PatienceTest, ARobotThatIsInTimeAloneNeverIsLateForItsServer) {
  alone_ = milliseconds(30);
  patience_.NoteAlone(Alone::kAll, alone_);
  EXPECT_EQ(Served(20, milliseconds(42)), 20);
  int at_once = 0;
  for (int i = 0; i < 90; ++i) {
    const Frame frame = Answer(kNoAnswer);
    EXPECT_LE(frame.latency, deadline_);
    at_once += frame.latency == alone_ ? 1 : 0;
  }
  EXPECT_EQ(at_once, 79) << "all but the first two, and every ninth";
  EXPECT_GE(Served(20, milliseconds(42)), 20 - 8) << "it is there again";
}

TEST_F(PatienceTest, AServerThatIsUsuallyInTimeIsWaitedForWhereTheRobotAloneBarelyIs) {
  alone_ = milliseconds(90);
  patience_.NoteAlone(Alone::kAll, alone_);
  EXPECT_FALSE(Answer(milliseconds(42)).is_served);
  EXPECT_GE(Served(20, milliseconds(42)), 17);
  EXPECT_GT(Answer(kNoAnswer).latency, deadline_);
  EXPECT_EQ(Served(9, milliseconds(42)), 9);
  EXPECT_GT(Answer(kNoAnswer).latency, deadline_);
  (void)Answer(kNoAnswer);
  for (int i = 0; i < 50; ++i) EXPECT_LE(Answer(kNoAnswer).latency, deadline_);
}

TEST_F(PatienceTest, AServerThatIsOftenLateIsNotWaitedForWhereTheRobotAloneIsInTime) {
  alone_ = milliseconds(90);
  patience_.NoteAlone(Alone::kAll, alone_);
  int late = 0;
  for (int i = 0; i < 50; ++i) {
    late += Answer(milliseconds(i % 2 == 0 ? 42 : 130)).latency > deadline_ ? 1 : 0;
  }
  EXPECT_LE(late, 2);
}

TEST_F(PatienceTest, OneSlowFrameAloneIsNoReasonToExpectTheNext) {
  alone_ = milliseconds(30);
  patience_.NoteAlone(Alone::kAll, alone_);
  patience_.NoteAlone(Alone::kAll, milliseconds(3000));
  EXPECT_EQ(patience_.GiveUpAt(Time(0), deadline_, Alone::kAll, agreements_), deadline_ - alone_);
  patience_.NoteAlone(Alone::kAll, milliseconds(50));
  patience_.NoteAlone(Alone::kAll, milliseconds(50));
  EXPECT_EQ(patience_.GiveUpAt(Time(0), deadline_, Alone::kAll, agreements_), milliseconds(50));
  for (int i = 0; i < 100; ++i) patience_.NoteAlone(Alone::kAll, alone_);
  EXPECT_EQ(patience_.GiveUpAt(Time(0), deadline_, Alone::kAll, agreements_), deadline_ - alone_);
}

TEST_F(PatienceTest, WhatChangedSaysNothingOfAWholeFrame) {
  patience_.NoteAlone(Alone::kWhatChanged, milliseconds(20));
  patience_.NoteAlone(Alone::kAll, milliseconds(70));
  EXPECT_EQ(patience_.GiveUpAt(Time(0), deadline_, Alone::kAll, agreements_), milliseconds(30));
  EXPECT_EQ(patience_.GiveUpAt(Time(0), deadline_, Alone::kWhatChanged, agreements_),
            milliseconds(80));
}

TEST_F(PatienceTest, WhatAFrameWaitedBeforeCountsToo) {
  alone_ = milliseconds(30);
  patience_.NoteAlone(Alone::kAll, alone_);
  patience_.NoteServer(milliseconds(42));
  const Time begin = milliseconds(500);
  EXPECT_EQ(patience_.GiveUpAt(begin, begin + milliseconds(100), Alone::kAll, agreements_),
            begin + milliseconds(70));
  EXPECT_EQ(patience_.GiveUpAt(begin, begin + milliseconds(50), Alone::kAll, agreements_),
            begin + milliseconds(50))
      << "the server is usually in time";
  EXPECT_EQ(patience_.GiveUpAt(begin, begin + milliseconds(35), Alone::kAll, agreements_), begin);
}

// A robot that computes a frame alone in 30 of 100 ms.
class PatienceBetTest : public PatienceTest {
 protected:
  PatienceBetTest() {
    for (int i = 0; i < 100; ++i) patience_.NoteAlone(Alone::kAll, milliseconds(30));
  }

  milliseconds Wait(milliseconds server, milliseconds next_server,
                    const Patience::Agreements& agreements) {
    for (int i = 0; i < 50; ++i) {
      patience_.NoteServer(server);
      patience_.NoteServer(next_server);
    }
    return std::chrono::duration_cast<milliseconds>(
        patience_.GiveUpAt(Time(0), deadline_, Alone::kAll, agreements));
  }
};

TEST_F(PatienceBetTest, WaitsWhereTheServersAnswersAreWorthMore) {
  const milliseconds in_time(80);
  const milliseconds late(150);
  const auto wait = [&](milliseconds next, double server, double alone) {
    return Wait(in_time, next, {.server = server, .alone = alone, .moved = 0.7});
  };
  EXPECT_EQ(wait(in_time, 0.97, 0.8), deadline_);
  EXPECT_EQ(wait(in_time, 0.8, 0.97), milliseconds(0));
  EXPECT_EQ(wait(in_time, 0.97, 0.97), deadline_) << "it saves work";
  EXPECT_EQ(wait(late, 0.97, 0.8), deadline_) << ".83 against .8";
  EXPECT_EQ(wait(late, 0.97, 0.9), milliseconds(0));
}

TEST_F(PatienceBetTest, WaitsBeyondTheDeadlineForAnswersThatAreHardlyLate) {
  const Patience::Agreements agreements = {.server = 0.97, .alone = 0.7, .moved = 0.7};
  EXPECT_EQ(Wait(milliseconds(80), milliseconds(129), agreements), milliseconds(130));
  EXPECT_EQ(Wait(milliseconds(80), milliseconds(131), agreements), deadline_);
}

TEST_F(PatienceBetTest, BeginsAloneAsLongAsThatMayBeInTime) {
  const auto wait = [this](int slow) {
    for (int i = 0; i < 100; ++i) {
      patience_.NoteAlone(Alone::kAll, milliseconds(i < slow ? 90 : 30));
    }
    return Wait(milliseconds(65), milliseconds(200), {.server = 1, .alone = 0.8, .moved = 0.75});
  };
  EXPECT_EQ(wait(0), milliseconds(70)) << "half of the server's answers come before";
  EXPECT_EQ(wait(60), milliseconds(70));
  EXPECT_EQ(wait(100), deadline_);
}

TEST_F(PatienceBetTest, ARobotThatIsQuickAloneIsNotLockedOutOfItsServer) {
  alone_ = milliseconds(30);
  Served(300, milliseconds(80));
  EXPECT_EQ(Served(50, milliseconds(80)), 50);
}

TEST_F(PatienceBetTest, OneSlowFrameAloneDoesNotHideAServerThatIsBack) {
  alone_ = milliseconds(30);
  patience_.NoteAlone(Alone::kAll, milliseconds(90));
  EXPECT_EQ(Served(20, kNoAnswer), 0);
  Served(20, milliseconds(60));
  EXPECT_EQ(Served(50, milliseconds(60)), 50);
}

// A robot that mostly takes 30 ms alone has answered before the server would have.
TEST_F(PatienceBetTest, AServerThatIsWorthItIsFoundToBeInTimeAtTheLastMoment) {
  for (int i = 0; i < 20; ++i) patience_.NoteAlone(Alone::kAll, milliseconds(60));
  alone_ = milliseconds(30);
  agreements_.alone = 0.8;
  Served(40, milliseconds(95));
  EXPECT_EQ(Served(50, milliseconds(95)), 50);
  int late = 0;
  for (int i = 0; i < 360; ++i) late += Answer(kNoAnswer).latency > deadline_ ? 1 : 0;
  EXPECT_LE(late, 12) << "the first two, and one of 36";
}

TEST_F(PatienceTest, AnotherServerIsGivenAChance) {
  patience_.NoteAlone(Alone::kAll, alone_);
  for (int i = 0; i < 5; ++i) patience_.NoteServer(kNoAnswer);
  EXPECT_EQ(patience_.GiveUpAt(Time(0), deadline_, Alone::kAll, agreements_), Time(0));
  patience_.ForgetServer();
  EXPECT_EQ(patience_.GiveUpAt(Time(0), deadline_, Alone::kAll, agreements_), alone_);
}

}  // namespace
}  // namespace cacheinf
