#ifndef CACHEINF_COMMON_PAIR_SPLIT_ROBOT_H_
#define CACHEINF_COMMON_PAIR_SPLIT_ROBOT_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/picture_view.h"
#include "common/base/slowdown.h"
#include "common/exec/change_policy.h"
#include "common/exec/model_state.h"
#include "common/pair/messages.h"
#include "common/pair/server_connection.h"
#include "common/pair/server_part.h"
#include "common/pair/split_walk.h"

namespace cacheinf {

struct FrameDecision;

// The robot's side of mode split: executes the robot's decisions (common/reuse/reuse.h), together
// with a server where there is one that is ready and not behind, else alone. However a frame goes,
// afterwards the state's outputs are its answer, as ModelState::Apply gives it.
//
// One late frame does not make the next one late. A frame that was given up the robot finishes
// alone, and until the server has caught up with it, the robot computes alone and only tells the
// server of its decisions. So it is with the first frame that a server hears of, where there is a
// deadline. (What the server computes the robot does not hold: having to compute alone takes about
// a dense run, once.)
class SplitRobot {
 public:
  using Time = std::chrono::nanoseconds;
  static constexpr Time kNever = Time::max();
  using Wait = ServerConnection::Wait;

  // `settings` of the split that the state was made for; policy and version are filled in by
  // frame. Throws InputError if the cuts do not fit the model. REQUIRES: a state that trades, with
  // the settings' schemes and kept values; the connection, the state and the clock outlive this.
  SplitRobot(ServerConnection& connection, ModelState& state, const Clock& clock,
             message::Settings settings, Wait wait = {}, Slowdown slowdown = {});
  ~SplitRobot();
  SplitRobot(const SplitRobot&) = delete;
  SplitRobot& operator=(const SplitRobot&) = delete;

  // From the next frame on. Throws InputError if they do not fit the model.
  void SetCuts(std::vector<Cut> cuts);

  // Whether the server takes frames under this policy; tells it what it must know for that. Leaves
  // a server that cannot share rows under it.
  bool IsReady(const ChangePolicy& policy);

  // Executes a decision; `seen` is what the network sees. The server is waited for until
  // `give_up_at`; a refresh, for which nobody waits, has no such time. Returns what the robot
  // computed. If it throws, the next decision makes up for it.
  ChangedWork Execute(const FrameDecision& decision, const PictureView& seen,
                      const ChangePolicy& policy, Time give_up_at = kNever);

  // Whether the robot holds all of the last frame, as it must where spreads are to be measured; and
  // sees to it that it does after the next.
  bool computed_all() const { return computed_all_; }
  void ComputeNextAlone() { is_next_alone_ = true; }

  struct Counts {
    int64_t together = 0;  // finished with the server
    int64_t given_up = 0;
    int64_t alone = 0;
    int64_t refusals = 0;
    std::chrono::nanoseconds waited{};
  };
  const Counts& counts() const { return counts_; }

  // Of the last decision; nothing if the server had no part in it. What the server computed it
  // says behind its last slice: where that has not come yet, it is that of the frame before.
  const std::optional<ServerPart>& part() const { return part_; }

 private:
  ChangedWork ComputeAlone(const FrameDecision& decision, const PictureView& seen,
                           const ChangePolicy& policy);
  ChangedWork Share(const FrameDecision& decision, const PictureView& seen,
                    const ChangePolicy& policy, Time give_up_at);
  bool WaitForSlice(Time give_up_at);
  void TakeMessages();
  void Take(message::Slice slice);
  void Take(const message::Answer& answer);
  void Take(const message::FrameRefusal& refusal);
  void LoseServer();

  ServerConnection& connection_;
  ModelState& state_;
  const Clock& clock_;
  const Wait wait_;
  const Slowdown slowdown_;
  SplitWalk walk_;
  message::Settings settings_;  // as the server was told, or is to be
  bool has_new_settings_ = true;

  int64_t told_ = -1;       // the last decision that the server was told; -1: it holds nothing
  int64_t heard_from_ = 0;  // the first that it was told since it held nothing
  int64_t committed_ = -1;  // the last that both finished
  int64_t behind_ = -1;     // given up; the server is not done with it
  int64_t number_ = -1;     // of the frame in hand
  std::vector<int> robot_rows_;
  bool computed_all_ = true;
  bool is_next_alone_ = false;
  Counts counts_;
  std::optional<ServerPart> part_;
  message::Answer last_answer_;  // to no refresh
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_SPLIT_ROBOT_H_
