#ifndef CACHEINF_COMMON_PAIR_SPLIT_WALK_H_
#define CACHEINF_COMMON_PAIR_SPLIT_WALK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/picture_view.h"
#include "common/exec/change_policy.h"
#include "common/exec/model_state.h"
#include "common/plan/split.h"

namespace cacheinf {

struct FrameDecision;

// One side's way through frames whose rows are split (common/plan/split.h): stage by stage, with
// slices that leave as soon as their rows are done, and are taken in before a stage reads them. It
// never waits: who calls it does, for Take.
//
// Both sides walk the same decisions in the same order. The robot finishes alone any frame
// it gives up, and the server goes on, since all slices of the frame still come: so its caches are
// of that frame, too. What became of the slices that left, the owner of the state tells it
// (ModelState::ConfirmSent, ForgetSent) before the next Begin.
class SplitWalk {
 public:
  enum class Side : uint8_t { kRobot, kServer };
  // Sends a slice (common/exec/slice.h) of one of SplitRows::transfers.
  using Send = std::function<void(uint32_t transfer, std::vector<uint8_t> slice)>;

  // REQUIRES: a state of a graph with one input, which trades and outlives this.
  SplitWalk(Side side, ModelState& state, Send send);
  SplitWalk(const SplitWalk&) = delete;
  SplitWalk& operator=(const SplitWalk&) = delete;

  // Begins the decision's frame (ModelState::BeginFrame). The robot shows the picture that the
  // network is to see, but for a refresh. Throws InputError, and changes nothing, if rows or masks
  // do not fit the model, or the policy cannot be split.
  void Begin(const FrameDecision& decision, const std::vector<Cut>& cuts,
             const ChangePolicy& policy, const PictureView& seen = {});

  // The robot computes this one alone: what it may have changed becomes stale here.
  // Throws as Begin. REQUIRES: the server's side.
  void Follow(const FrameDecision& decision, const std::vector<Cut>& cuts,
              const ChangePolicy& policy);

  // A slice of the frame has arrived. False: it is none that this side waits for.
  bool Take(uint32_t transfer, std::vector<uint8_t> slice);

  // Whether all slices of the frame have.
  bool has_all() const { return missing_ == 0; }

  enum class Progress : uint8_t {
    kStepped,  // a stage has run
    kWaits,    // the next one reads what has not arrived
    kDone,     // the frame is committed
    kRefused,  // a slice was no good; the frame is abandoned
  };
  // If a stage throws, the frame is abandoned, and the exception goes on.
  Progress Step();
  bool is_open() const { return is_open_; }
  // In one sentence, after kRefused.
  const std::string& fault() const { return fault_; }

  // The frame's end without the peer, which still gets what it was to get, or after an Abandon.
  // REQUIRES: the robot's side.
  void FinishAlone();

  // What is left of the frame is stale.
  void Abandon();

  // Of the last frame, on this side.
  const ChangedWork& work() const { return work_; }

 private:
  struct Incoming {
    uint32_t transfer = 0;
    size_t before_stage = 0;  // it is due
    std::optional<std::vector<uint8_t>> slice = std::nullopt;
  };

  void Compile(const FrameDecision& decision, const std::vector<Cut>& cuts);
  size_t StageThatReads(const Transfer& transfer) const;
  void RunStage();
  void SendWhatIsDone();
  void End(const ChangedWork& work);
  const FrameRows& rows() const { return side_ == Side::kRobot ? rows_.robot : rows_.server; }

  const Side side_;
  ModelState& state_;
  const Send send_;
  ChangePolicy policy_;
  SplitRows rows_;
  std::vector<uint32_t> outgoing_;  // in order
  size_t next_outgoing_ = 0;
  std::vector<Incoming> incoming_;  // in order; what was taken in is gone
  size_t missing_ = 0;
  bool is_open_ = false;
  std::string fault_;
  ChangedWork work_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_SPLIT_WALK_H_
