#include "common/pair/split_robot.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "common/base/log.h"
#include "common/codec/slice_codec.h"
#include "common/pair/say.h"

namespace cacheinf {

SplitRobot::SplitRobot(ServerConnection& connection, ModelState& state, const Clock& clock,
                       message::Settings settings, Wait wait, Slowdown slowdown)
    : connection_(connection),
      state_(state),
      clock_(clock),
      wait_(connection.WaitBy(std::move(wait))),
      slowdown_(std::move(slowdown)),
      walk_(Side::kRobot, state,
            [this](uint32_t transfer, std::vector<uint8_t> slice) {
              message::Slice coded = {number_, transfer};
              slowdown_.CatchUp();
              const Time begin = clock_.Now();
              AppendCodedSlice(settings_.shared.slice_codec, slice, &coded.bytes);
              part_->sent_bytes += coded.bytes.size();
              slowdown_.CatchUp();
              times_.encoding += clock_.Now() - begin;
              Say(connection_.channel(), std::move(coded), number_);
            }),
      settings_(std::move(settings)) {
  SetCuts(settings_.cuts);
}

SplitRobot::~SplitRobot() { state_.LosePeer(); }

void SplitRobot::SetCuts(std::vector<Cut> cuts) {
  CheckCuts(cuts, state_.graph(), state_.layout());
  robot_rows_.assign(cuts.size(), 0);
  settings_.cuts = std::move(cuts);
  has_new_settings_ = true;
}

ChangedWork SplitRobot::Execute(const FrameDecision& decision, const PictureView& seen,
                                const ChangePolicy& policy, Time give_up_at) {
  number_ = decision.number;
  begin_ = clock_.Now();
  alone_since_.reset();
  part_.reset();
  times_ = {};
  if (!IsReady(policy)) {
    LoseServer();
    return ComputeAlone(decision, seen, policy);
  }
  const bool is_first = server_ == Server::kHoldsNothing;
  const bool is_shared = !std::exchange(is_next_alone_, false) && server_ != Server::kIsBehind;
  FrameDecision told = decision;
  told.settings = connection_.settings().version;
  if (is_shared) robot_rows_ = RobotRowsOf(settings_.cuts, std::as_const(told.changed));
  told.robot_rows = robot_rows_;
  if (is_first) {
    state_.LosePeer();
    first_told_ = decision.number;
    server_ = Server::kFollows;
  }
  slowdown_.CatchUp();
  Say(connection_.channel(), message::Frame{.decision = told,
                                            .follows = is_first ? -1 : last_told_,
                                            .committed = committed_.value_or(-1),
                                            .is_shared = is_shared});
  last_told_ = decision.number;
  if (!is_shared) return ComputeAlone(decision, seen, policy);
  // The server lacks everything, which may take longer to send than a frame has.
  if (is_first && give_up_at != kNever) give_up_at = clock_.Now();
  try {
    return Share(told, seen, policy, give_up_at);
  } catch (...) {
    walk_.Abandon();
    LoseServer();
    throw;
  }
}

bool SplitRobot::IsReady(const ChangePolicy& policy) {
  TakeMessages();
  if (!connection_.fault().empty()) return false;
  const ChangePolicy& known = settings_.policy;
  const bool is_known = known.kind == policy.kind && known.threshold == policy.threshold &&
                        known.spreads == policy.spreads && known.growth == policy.growth &&
                        known.stem_depth == policy.stem_depth;
  if (!is_known) {
    settings_.policy = policy;
    has_new_settings_ = true;
  }
  const bool lacks_spreads = policy.threshold > 0.0f && policy.spreads == nullptr;
  if (lacks_spreads || !policy.can_split()) return false;
  const std::string why_not = connection_.WhyNoSharedRows(state_.backend(), policy);
  if (!why_not.empty()) {
    connection_.Leave(why_not);
    return false;
  }
  if (has_new_settings_) connection_.Use(settings_);
  has_new_settings_ = false;
  return connection_.is_ready();
}

ChangedWork SplitRobot::ComputeAlone(const FrameDecision& decision, const PictureView& seen,
                                     const ChangePolicy& policy) {
  ++counts_.alone;
  alone_since_ = clock_.Now();
  computed_all_ = true;
  const bool is_compared =
      server_ != Server::kHoldsNothing && policy.kind == ChangePolicy::Kind::kExact;
  if (decision.kind != FrameDecision::Kind::kWhole || !is_compared) {
    return state_.Apply(decision, seen, policy);
  }
  // Compares bits with what is stored, so that the server need not be sent everything again.
  state_.BeginFrame(decision, seen, policy);
  state_.Finish();
  return {};
}

ChangedWork SplitRobot::Share(const FrameDecision& decision, const PictureView& seen,
                              const ChangePolicy& policy, Time give_up_at) {
  computed_all_ = false;
  part_.emplace();
  // As far as is known of a frame that will be given up.
  times_.server_queueing = std::chrono::microseconds(last_answer_.queue_us);
  walk_.Begin(decision, settings_.cuts, policy, seen);
  while (walk_.is_open()) {
    switch (walk_.Step()) {
      case SplitWalk::Progress::kStepped:
        slowdown_.CatchUp();
        break;
      case SplitWalk::Progress::kDone:
        TakeMessages();
        TakeTimes(last_answer_, &times_);
        part_->work = {
            .share = last_answer_.work, .active = last_answer_.active, .is_dense = false};
        part_->robot_rows = robot_rows_;
        state_.ConfirmSent();
        committed_ = decision.number;
        ++counts_.together;
        return walk_.work();
      case SplitWalk::Progress::kWaits:
        if (WaitForSlice(give_up_at)) break;
        if (server_ == Server::kFollows) server_ = Server::kIsBehind;
        given_up_ = decision.number;
        behind_since_.reset();
        if (number_ != first_told_) behind_since_ = begin_;
        Say(connection_.channel(), message::GiveUp{decision.number});
        ++counts_.given_up;
        alone_since_ = clock_.Now();
        walk_.FinishAlone();
        computed_all_ = true;
        break;
      case SplitWalk::Progress::kRefused:
        connection_.Leave(walk_.fault());
        LoseServer();
        alone_since_ = clock_.Now();
        walk_.FinishAlone();
        computed_all_ = true;
        break;
    }
  }
  return walk_.work();
}

// Returns false to give the frame up.
bool SplitRobot::WaitForSlice(Time give_up_at) {
  slowdown_.CatchUp();
  const Time begin = clock_.Now();
  // The link may outlive a server that hangs.
  const Time patient_until = begin + ServerConnection::kPatience;
  connection_.channel().Expect(true);
  const bool has_come = begin < give_up_at && wait_(std::min(give_up_at, patient_until));
  connection_.channel().Expect(false);
  if (!has_come && clock_.Now() >= patient_until) {
    connection_.Leave("the server is too slow");
  }
  slowdown_.Begin();
  const Time waited = clock_.Now() - begin;
  TakeMessages();
  counts_.waited += waited;
  if (part_) times_.waiting += waited;
  return server_ != Server::kHoldsNothing && (has_come || clock_.Now() < give_up_at);
}

void SplitRobot::TakeMessages() {
  while (const std::optional<Message> received = connection_.Receive()) {
    std::string wrong;
    if (Is<message::Slice>(*received)) {
      message::Slice slice;
      wrong = Decode(received->bytes, &slice);
      if (wrong.empty()) Take(std::move(slice));
    } else if (Is<message::Answer>(*received)) {
      message::Answer answer;
      wrong = Decode(received->bytes, &answer);
      if (wrong.empty()) Take(answer, received->arrived_at);
    } else {
      message::FrameRefusal refusal;
      wrong = Decode(received->bytes, &refusal);
      if (wrong.empty()) Take(refusal);
    }
    if (!wrong.empty()) connection_.Leave(wrong);
  }
  if (!connection_.fault().empty()) LoseServer();
}

void SplitRobot::Take(message::Slice slice) {
  // Slices of a frame that was given up may still arrive.
  if (!walk_.is_open() || slice.frame != number_) return;
  part_->received_bytes += slice.bytes.size();
  std::vector<uint8_t> plain;
  if (const char* const fault = DecodeSlice(slice.bytes, kMostSliceBytes, &plain)) {
    return connection_.Leave(fault);
  }
  if (walk_.Take(slice.transfer, std::move(plain))) return;
  connection_.Leave(fmt::format("slice {} was not expected", slice.transfer));
}

void SplitRobot::Take(const message::Answer& answer, Time arrived_at) {
  if (answer.kind != FrameDecision::Kind::kRefresh) last_answer_ = answer;
  if (server_ != Server::kIsBehind || answer.frame != given_up_) return;
  // The server has taken all slices of that frame.
  server_ = Server::kFollows;
  if (behind_since_) came_late_after_ = arrived_at - *behind_since_;
  state_.ConfirmSent();
}

void SplitRobot::Take(const message::FrameRefusal& refusal) {
  if (refusal.frame < first_told_) return;
  ++counts_.refusals;
  LogInfo(fmt::format("the server refuses frame {}: {}", refusal.frame, refusal.reason));
  LoseServer();
}

void SplitRobot::LoseServer() {
  server_ = Server::kHoldsNothing;
  state_.LosePeer();
}

}  // namespace cacheinf
