#include "common/pair/split_walk.h"

#include <algorithm>
#include <utility>

#include "common/exec/frame_decision.h"

namespace cacheinf {
namespace {

// Returns the value whose buffer holds this one.
ValueId OwnerOf(const Layout& layout, ValueId value) {
  while (layout.places[value].viewed != kNone) value = layout.places[value].viewed;
  return value;
}

}  // namespace

SplitWalk::SplitWalk(Side side, ModelState& state, Send send)
    : side_(side),
      state_(state),
      send_(std::move(send)),
      compiler_(state.graph(), state.layout()) {}

template <typename Part>
auto SplitWalk::EndIfItThrows(const Part& part) {
  try {
    return part();
  } catch (...) {
    begun_.clear();
    End(state_.Abandon());
    throw;
  }
}

void SplitWalk::Begin(const FrameDecision& decision, const std::vector<Cut>& cuts,
                      const ChangePolicy& policy, const PictureView& seen) {
  policy_ = policy;
  Compile(decision, cuts);
  state_.BeginFrame(decision, seen, policy, &rows_[side_]);
  is_open_ = true;
  work_ = {};
  EndIfItThrows([&] { SendWhatIsDone(); });
}

void SplitWalk::Follow(const FrameDecision& decision, const std::vector<Cut>& cuts,
                       const ChangePolicy& policy) {
  rows_ = compiler_.Compile(cuts, decision.robot_rows);
  state_.BeginFrame(decision, {}, policy, &rows_[side_]);
  state_.Abandon();
}

void SplitWalk::Compile(const FrameDecision& decision, const std::vector<Cut>& cuts) {
  rows_ = compiler_.Compile(cuts, decision.robot_rows);
  outgoing_.clear();
  next_outgoing_ = 0;
  begun_.clear();
  incoming_.clear();
  for (uint32_t i = 0; i < rows_.transfers.size(); ++i) {
    const Transfer& transfer = rows_.transfers[i];
    if (transfer.from == side_) {
      outgoing_.push_back(i);
    } else {
      incoming_.push_back({i, StageThatReads(transfer)});
    }
  }
  missing_ = incoming_.size();
  std::stable_sort(incoming_.begin(), incoming_.end(), [](const Incoming& a, const Incoming& b) {
    return a.before_stage < b.before_stage;
  });
}

// Returns the first stage, from the transfer on, that needs its masks or numbers.
size_t SplitWalk::StageThatReads(const Transfer& transfer) const {
  // All maps of a size share one mask, which is fixed early.
  if (policy_.kind == ChangePolicy::Kind::kFixed) return transfer.after_stages;
  const Layout& layout = state_.layout();
  const std::vector<Operator>& operators = state_.graph().operators;
  const ValueId owner = OwnerOf(layout, transfer.value);
  const auto lies_there = [&](ValueId value) {
    return !state_.graph().value(value).is_constant() && OwnerOf(layout, value) == owner;
  };
  size_t stage = 0;
  for (OpId id = 0; id < static_cast<OpId>(operators.size()); ++id) {
    // An operator that ends no stage gets its masks before the next one that does.
    const bool is_root = layout.stages[stage].root == id;
    const Operator& op = operators[id];
    if (stage >= transfer.after_stages && !(is_root && rows_[side_].computed[id].empty()) &&
        (std::any_of(op.inputs.begin(), op.inputs.end(), lies_there) ||
         std::any_of(op.outputs.begin(), op.outputs.end(), lies_there))) {
      return stage;
    }
    if (is_root && ++stage == layout.stages.size()) break;
  }
  return layout.stages.size();
}

bool SplitWalk::Take(uint32_t transfer, std::vector<uint8_t> slice) {
  if (!is_open_) return false;
  const auto found =
      std::find_if(incoming_.begin(), incoming_.end(),
                   [&](const Incoming& incoming) { return incoming.transfer == transfer; });
  if (found == incoming_.end() || found->slice) return false;
  found->slice = std::move(slice);
  --missing_;
  return true;
}

Progress SplitWalk::Step() {
  return EndIfItThrows([&] { return GoOn(); });
}

Progress SplitWalk::GoOn() {
  // Take slices in order, whenever they arrive, so that a run can be repeated.
  while (!incoming_.empty() && incoming_.front().before_stage <= state_.next_stage()) {
    const Incoming& next = incoming_.front();
    if (!next.slice) return Progress::kWaits;
    const Transfer& transfer = rows_.transfers[next.transfer];
    const char* const fault = state_.Unpack(transfer.value, transfer.rows, *next.slice);
    if (fault != nullptr) {
      fault_ = fault;
      Abandon();
      return Progress::kRefused;
    }
    incoming_.erase(incoming_.begin());
  }
  if (state_.next_stage() == state_.stage_count()) {
    End(state_.Commit());
    return Progress::kDone;
  }
  RunStage();
  return Progress::kStepped;
}

void SplitWalk::RunStage() {
  state_.Step();
  SendWhatWasBegun();
  SendWhatIsDone();
}

bool SplitWalk::RunsNext() const {
  const auto is_missing = [&](const Incoming& incoming) {
    return incoming.before_stage <= state_.next_stage() && !incoming.slice;
  };
  return state_.next_stage() < state_.stage_count() &&
         std::none_of(incoming_.begin(), incoming_.end(), is_missing);
}

void SplitWalk::SendWhatIsDone() {
  for (; next_outgoing_ < outgoing_.size(); ++next_outgoing_) {
    const Transfer& transfer = rows_.transfers[outgoing_[next_outgoing_]];
    if (transfer.after_stages > state_.next_stage()) break;
    if (auto pack = state_.BeginPack(transfer.value, transfer.rows)) {
      begun_.push_back({outgoing_[next_outgoing_], std::move(pack)});
      continue;
    }
    std::vector<uint8_t> slice;
    state_.Pack(transfer.value, transfer.rows, &slice);
    send_(outgoing_[next_outgoing_], std::move(slice));
  }
  if (!RunsNext()) SendWhatWasBegun();
}

void SplitWalk::SendWhatWasBegun() {
  for (const Begun& begun : std::exchange(begun_, {})) {
    std::vector<uint8_t> slice;
    begun.pack(&slice);
    send_(begun.transfer, std::move(slice));
  }
}

void SplitWalk::GoOnAlone() {
  Abandon();
  incoming_.clear();
  state_.BeginRest(policy_);
  is_open_ = true;
}

void SplitWalk::Abandon() {
  if (!is_open_) return;
  SendWhatWasBegun();
  End(state_.Abandon());
}

void SplitWalk::End(const ChangedWork& work) {
  work_ = {work_.done + work.done, work.of_all};
  is_open_ = false;
}

}  // namespace cacheinf
