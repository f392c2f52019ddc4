#ifndef CACHEINF_COMMON_PAIR_SPLIT_WALK_H_
#define CACHEINF_COMMON_PAIR_SPLIT_WALK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/picture_view.h"
#include "common/base/side.h"
#include "common/exec/change_policy.h"
#include "common/exec/model_state.h"
#include "common/pair/progress.h"
#include "common/plan/split.h"

namespace cacheinf {

struct FrameDecision;

// One side's way through frames whose rows are split (common/plan/split.h), stage by stage. A slice
// leaves as soon as its rows are done, and is taken in before a stage reads it. On a device that
// can copy while it computes, the next stage is begun first, unless that waits for a slice. Never
// waits for the peer: the caller does, and passes slices to Take.
//
// Both sides walk the same decisions in the same order. When the robot gives a frame up, it
// goes on alone. The server goes on, since all its slices still arrive, so its caches hold that
// frame, too. Before the next Begin, the state's owner must tell the state what became of the
// slices that left (ModelState::ConfirmSent, ForgetSent).
//
// If anything throws, even Send, the frame is abandoned, and slices that have not left never do.
class SplitWalk {
 public:
  // Sends a slice (common/exec/slice.h) of one of SplitRows::transfers.
  using Send = std::function<void(uint32_t transfer, std::vector<uint8_t> slice)>;

  // REQUIRES: the graph has one input; the state trades and outlives this.
  SplitWalk(Side side, ModelState& state, Send send);
  SplitWalk(const SplitWalk&) = delete;
  SplitWalk& operator=(const SplitWalk&) = delete;

  // Begins the decision's frame (ModelState::BeginFrame). The robot passes the picture that the
  // network is to see, except for a refresh. Throws InputError, and changes nothing, if rows or
  // masks do not fit the model, or the policy cannot be split.
  void Begin(const FrameDecision& decision, const std::vector<Cut>& cuts,
             const ChangePolicy& policy, const PictureView& seen = {});

  // Notes a frame that the robot computes alone: whatever it may have changed becomes stale here.
  // Throws as Begin. REQUIRES: the server's side.
  void Follow(const FrameDecision& decision, const std::vector<Cut>& cuts,
              const ChangePolicy& policy);

  // Takes a slice of the frame. Returns false if this side does not expect it.
  bool Take(uint32_t transfer, std::vector<uint8_t> slice);

  // Whether all slices of the frame have arrived.
  bool has_all() const { return missing_ == 0; }

  // Runs a stage, unless it reads a slice that has not arrived. If a slice is bad, abandons the
  // frame.
  Progress Step();
  bool is_open() const { return is_open_; }
  // One sentence, after kRefused.
  const std::string& fault() const { return fault_; }

  // Goes on without the peer, which still gets all its slices; also after an Abandon. Later steps
  // compute all that is left. REQUIRES: the robot's side.
  void GoOnAlone();

  // Ends the frame and marks the rest of it as stale. Slices that were packed still leave.
  void Abandon();

  // What this side computed of the last frame.
  const ChangedWork& work() const { return work_; }

 private:
  struct Incoming {
    uint32_t transfer = 0;
    size_t before_stage = 0;  // when it is due
    std::optional<std::vector<uint8_t>> slice = std::nullopt;
  };

  // On its way from the device.
  struct Begun {
    uint32_t transfer;
    ModelState::Packing pack;
  };

  void Compile(const FrameDecision& decision, const std::vector<Cut>& cuts);
  size_t StageThatReads(const Transfer& transfer) const;
  template <typename Part>
  auto EndIfItThrows(const Part& part);
  Progress GoOn();
  void RunStage();
  // Whether the next step runs a stage, unless a slice is refused.
  bool RunsNext() const;
  // Begins the slices whose rows are done, and sends them at once unless a stage runs next.
  void SendWhatIsDone();
  void SendWhatWasBegun();
  void End(const ChangedWork& work);

  const Side side_;
  ModelState& state_;
  const Send send_;
  const RowCompiler compiler_;
  ChangePolicy policy_;
  SplitRows rows_;
  std::vector<uint32_t> outgoing_;  // in order
  size_t next_outgoing_ = 0;
  std::vector<Begun> begun_;
  std::vector<Incoming> incoming_;  // in order, without those already taken in
  size_t missing_ = 0;
  bool is_open_ = false;
  std::string fault_;
  ChangedWork work_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_SPLIT_WALK_H_
