#ifndef CACHEINF_COMMON_PAIR_PATIENCE_H_
#define CACHEINF_COMMON_PAIR_PATIENCE_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace cacheinf {

// How long a robot waits for its server in each frame. With a deadline waiting is a bet: until when
// it promises the most agreement with a dense answer at the deadline, by how long the last hundred
// answers of the server took, and the last hundred frames computed alone.
//   - Until each moment the server's answer may have come. If not, the robot begins alone and may
//     still be in time; else an earlier answer, moved with the scene, is in hand. A frame that the
//     server answers is worth .005 more: it saves the robot's work. Of moments that are worth as
//     much, the last is taken, as long as the server's answer may come by then.
//   - If the bet is to wait until the deadline, but answers that miss it mostly come before the
//     robot could have computed the frame from then on, it waits as long as that takes.
//   - Where it can hardly make the deadline alone, it waits while the server is expected to be
//     earlier, at most as long as computing alone takes in 95 of 100 frames.
//   - It does not wait at all where neither leaves anything to wait for.
// Before it has ever computed alone, it waits until the deadline; for a server of which nothing is
// known, until the last moment from which it makes the deadline alone.
// One late frame changes little: two in a row make the server one that is not waited for, and one
// answer, even to a frame that the robot had given up, makes it one that is.
//
// Without a deadline the robot waits as long as the slowest of the server's last hundred answers
// took, and what computing alone takes besides, which counts as 200 ms at least. The first answer
// has all the time that it needs. A server that was heard of meanwhile is slow rather than gone:
// every frame in a row that it leaves unanswered doubles the time. One of which nothing was heard
// is not waited for until it is.
class Patience {
 public:
  using Time = std::chrono::nanoseconds;
  static constexpr Time kNever = Time::max();

  // What the robot computes if it gives up: all of the frame takes longer than what changed in it.
  enum class Alone : uint8_t { kWhatChanged, kAll };

  // How well answers are expected to agree with dense ones: the server's, those computed alone, and
  // what is in hand while both are late.
  struct Agreements {
    double server = 1;
    double alone = 1;
    double moved = 0.75;
  };

  // Returns when to stop waiting in a frame whose execution begins at `begin`. Its outputs are due
  // at `due`; kNever: there is no deadline, and agreements change nothing.
  Time GiveUpAt(Time begin, Time due, Alone alone, const Agreements& agreements);

  // How long after the beginning of a frame's execution the server's answer to it came. Nothing: it
  // did not come while the robot waited and computed alone; `is_heard`: but anything else did.
  void NoteServer(std::optional<Time> took, bool is_heard = true);

  // How long the robot computed alone, not counting what it waited for the server before.
  void NoteAlone(Alone alone, Time took);

  // Returns the shorter of its last two times, or 0 before the first answer.
  Time ExpectedOfServer() const;

  // The next server may be another one.
  void ForgetServer();

 private:
  static constexpr size_t kTimesKept = 100;
  // A server that is slower than the robot shows only to one who waits that it is back, until the
  // last moment, or once in a while to the end.
  static constexpr int kMostNotWaitedFor = 8;
  using Times = std::deque<Time>;

  static void Add(Times& times, Time time);
  Time LongestWait(Alone alone) const;
  Time WaitFor(Time left, const Times& alone, const Agreements& agreements) const;
  Times SortedAlone(Alone alone) const;

  std::array<Times, 2> alone_;  // by Alone
  Times server_;                // kNever: no answer
  bool is_silent_ = false;      // the server
  int not_waited_for_ = 0;      // frames in a row, with a deadline
  int tries_ = 0;               // of a server that is not waited for, without an answer
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_PATIENCE_H_
