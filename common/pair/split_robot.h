#ifndef CACHEINF_COMMON_PAIR_SPLIT_ROBOT_H_
#define CACHEINF_COMMON_PAIR_SPLIT_ROBOT_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/frame_times.h"
#include "common/base/picture_view.h"
#include "common/exec/change_policy.h"
#include "common/exec/model_state.h"
#include "common/pair/messages.h"
#include "common/pair/progress.h"
#include "common/pair/server_connection.h"
#include "common/pair/server_part.h"
#include "common/pair/split_walk.h"

namespace cacheinf {

struct FrameDecision;

// The robot's side of mode split: executes the robot's decisions (common/reuse/reuse.h) together
// with a server that is ready and not behind. Never waits; whoever takes the steps waits between
// them. After the last one the state's outputs are the frame's answer, as ModelState::Apply gives
// it.
//
// One late frame does not make the next one late. When the robot gives a frame up, the steps that
// follow finish it alone. Until the server has caught up with it, the robot computes alone and only
// tells the server its decisions. If there is a deadline, the first frame that a server gets is
// given up like this. (The robot does not hold what the server computes, so computing alone then
// takes about as long as a dense run, once.) So a server is in one of three states:
//
//                      kHoldsNothing          kFollows          kIsBehind
//   the next frame     shared; → kFollows     shared            told, not shared
//     after            told, not shared;      told, not shared  told, not shared
//     ComputeNextAlone → kFollows
//   a shared frame                            → kIsBehind
//     is given up
//   the given-up one                                            → kFollows
//     is done
//   the server is not  computed alone, and    the same;         the same;
//     ready            not told               → kHoldsNothing   → kHoldsNothing
//   a frame is refused, a step throws,        → kHoldsNothing   → kHoldsNothing
//     a slice does not come or is bad
class SplitRobot {
 public:
  using Time = std::chrono::nanoseconds;
  static constexpr Time kNever = Time::max();

  // `settings` are those of the split that the state was made for; each frame fills in policy and
  // version. Throws InputError if the cuts do not fit the model. REQUIRES: the state trades and has
  // the settings' schemes and kept values; connection, state and clock outlive this.
  SplitRobot(ServerConnection& connection, ModelState& state, const Clock& clock,
             message::Settings settings);
  ~SplitRobot();
  SplitRobot(const SplitRobot&) = delete;
  SplitRobot& operator=(const SplitRobot&) = delete;

  // Takes effect from the next frame on. Throws InputError if the cuts do not fit the model.
  void SetCuts(std::vector<Cut> cuts);

  // Whether the server takes frames under this policy. Sends it what it needs for that, and leaves
  // a server that cannot share rows under this policy.
  bool IsReady(const ChangePolicy& policy);

  // Begins a decision's frame. `seen` is what the network sees. Returns false if the server takes
  // no part in it: the caller then executes the decision on the state. If this or a step throws,
  // the next decision makes up for it.
  bool Begin(const FrameDecision& decision, const PictureView& seen, const ChangePolicy& policy,
             Time give_up_at = kNever);
  Progress Step();  // until it returns kDone

  // When to abandon the frame if a step waits: at the time given, or at once if the server holds
  // nothing yet. A refresh needs no such time, since nobody waits for it.
  Time give_up_at() const { return give_up_at_; }
  // Gives up the server for this frame, after a step that waits or was refused. Later steps compute
  // what is left.
  void Abandon();

  // What the robot computed of the last frame that Begin returned true for.
  const ChangedWork& work() const { return walk_.work(); }

  // Whether the server can follow the next decision.
  bool is_followed() const { return server_ == Server::kFollows; }

  // Whether the robot holds all of the last frame, which measuring spreads requires.
  // ComputeNextAlone makes it hold all of the next one that the server is told.
  bool computed_all() const { return computed_all_; }
  void ComputeNextAlone() { is_next_alone_ = true; }

  // When the robot began to compute the rest of the last decision, or all of it, alone; nothing if
  // both finished it together.
  const std::optional<Time>& alone_since() const { return alone_since_; }

  // Returns, once, how long after the beginning of a frame that was given up the server was done
  // with it. Nothing for the first frame that a server gets, which takes longer than any other.
  std::optional<Time> TakeLateDone() { return std::exchange(came_late_after_, std::nullopt); }

  struct Counts {
    int64_t together = 0;  // finished with the server
    int64_t given_up = 0;
    int64_t alone = 0;
    int64_t refusals = 0;
    std::chrono::nanoseconds waited{};
  };
  const Counts& counts() const { return counts_; }

  // For the last decision; nothing if the server had no part in it. The server reports its times
  // and work after its last slice; until that report arrives, they are the previous frame's.
  const std::optional<ServerPart>& part() const { return part_; }
  const FrameTimes& times() const { return times_; }

 private:
  enum class Server : uint8_t { kHoldsNothing, kFollows, kIsBehind };

  void BeginAlone();
  Progress GoOn();
  void NoteWaiting(bool waits, Time now);
  void NoteTogether();
  template <typename Part>
  auto LoseServerIfItThrows(const Part& part);
  void TakeMessages();
  void Take(message::Slice slice);
  void Take(const message::Done& done, Time arrived_at);
  void Take(const message::FrameRefusal& refusal);
  void LoseServer();

  ServerConnection& connection_;
  ModelState& state_;
  const Clock& clock_;
  SplitWalk walk_;
  message::Settings settings_;  // as the server knows them, or will
  bool has_new_settings_ = true;

  Server server_ = Server::kHoldsNothing;
  int64_t first_told_ = 0;            // the first decision sent since it held nothing
  std::optional<int64_t> last_told_;  // the last one
  int64_t given_up_ = 0;              // the last decision given up; kIsBehind: to be finished there
  std::optional<int64_t> committed_;  // the last one that both finished
  int64_t number_ = 0;                // of the current frame
  Time begin_{};                      // of the current frame
  Time give_up_at_ = kNever;
  std::optional<Time> waits_since_;   // for a slice
  std::optional<Time> behind_since_;  // the beginning of the frame that was given up
  std::optional<Time> came_late_after_;
  std::optional<Time> alone_since_;
  std::vector<int> robot_rows_;
  bool computed_all_ = true;
  bool is_next_alone_ = false;
  Counts counts_;
  std::optional<ServerPart> part_;
  FrameTimes times_;
  message::Done last_done_;  // to a frame that is no refresh
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_SPLIT_ROBOT_H_
