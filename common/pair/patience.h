#ifndef CACHEINF_COMMON_PAIR_PATIENCE_H_
#define CACHEINF_COMMON_PAIR_PATIENCE_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace cacheinf {

// Decides how long a robot waits for its server in each frame, by the times of the server's last
// hundred answers and of the last hundred frames that the robot computed alone.
//
// With a deadline, waiting until some moment is a bet. If the server's answer comes by then, it is
// the frame's. If not, the robot begins alone then; if it is not done by the deadline, an earlier
// answer, moved with the scene, is in hand. The robot takes the moment whose bet promises the most
// agreement with a dense answer at the deadline. An answer by the server counts .005 more, since it
// saves the robot's work. Among moments of equal worth it takes the last one by which the server's
// answer may still come. Beyond that:
//   - If the best bet is the deadline itself, and answers that miss it mostly come before the robot
//     could compute the frame from then on, it waits as long as computing takes.
//   - If the robot can hardly make the deadline alone, it waits while the server is expected to be
//     earlier, but no longer than 95 of 100 frames take alone.
//   - If it has never computed alone, it waits until the deadline.
//   - If nothing is known of the server, it waits until the last moment from which it makes the
//     deadline alone or, where the first answer is expected, for twice as long as that takes, and
//     no longer than for an answer that misses the deadline.
//   - Otherwise it does not wait.
// One late answer changes little. After two in a row the robot does not wait for the server until
// an answer comes, if only to a frame that it had given up; but see kMostNotWaitedFor.
//
// Without a deadline the robot waits as long as the slowest of the last hundred answers took, plus
// the time that computing alone takes, at least 200 ms. If messages came while it waited, but no
// answer, the server is slow: each such frame in a row doubles the time, up to a second or eight
// times what computing alone takes. If two waits in a row were too short, the robot waits again
// only after nine times as long, until an answer comes. So waiting takes a tenth of the time at
// most. The first answer has ten seconds. If nothing came, the server counts as gone, and the robot
// does not wait for it until it is heard from.
class Patience {
 public:
  using Time = std::chrono::nanoseconds;
  static constexpr Time kNever = Time::max();

  // What the robot computes if it gives up: the whole frame takes longer than what changed in it.
  enum class Alone : uint8_t { kWhatChanged, kAll };

  // How well answers are expected to agree with dense ones: the server's, the robot's own, and what
  // is in hand while both are late.
  struct Agreements {
    double server = 1;
    double alone = 1;
    double moved = 0.75;
    Time first_of_server{};  // expected time of its first answer; 0: unknown
  };

  // Returns when to stop waiting in a frame whose execution begins at `begin`. Its outputs are due
  // at `due`; kNever: there is no deadline, and agreements change nothing.
  Time GiveUpAt(Time begin, Time due, Alone alone, const Agreements& agreements);

  // Returns when a robot that begins alone at `begin` is expected to be done; `begin` itself if it
  // has never computed alone.
  Time DoneAlone(Time begin, Alone alone) const;

  // Notes how long after a frame's execution began the server's answer came; nothing if it did not
  // come while the robot waited and computed alone. `is_heard`: whether any message came.
  void NoteServer(std::optional<Time> took, bool is_heard = true);

  // Notes how long the robot computed alone, without what it had waited for the server.
  void NoteAlone(Alone alone, Time took);

  // Returns the shorter of its last two times, 0 before the first answer, or kNever if neither
  // came.
  Time ExpectedOfServer() const;

  // The next answers may be another server's, or to other pictures.
  void ForgetServer();

 private:
  static constexpr size_t kTimesKept = 100;
  // With a deadline that the robot makes alone, the server is not waited for in at most so many
  // frames in a row. In the next one it is until the last moment, or once in a while to the end:
  // nothing else would show that it is in time again.
  static constexpr int kMostNotWaitedFor = 8;
  using Times = std::deque<Time>;

  static void Add(Times& times, Time time);
  Time LongestWait(Time begin, Alone alone);
  Time WaitFor(Time left, const Times& alone, const Agreements& agreements) const;
  Times SortedAlone(Alone alone) const;

  std::array<Times, 2> alone_;  // by Alone
  Times server_;                // kNever: no answer
  bool is_silent_ = false;      // the server
  Time rests_until_{};          // without a deadline
  int not_waited_for_ = 0;      // frames in a row
  int tries_ = 0;               // of a server that is not waited for, without an answer
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_PATIENCE_H_
