#include "common/pair/split_robot.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "common/base/log.h"
#include "common/codec/slice_codec.h"
#include "common/pair/likeness.h"
#include "common/pair/say.h"

namespace cacheinf {

SplitRobot::SplitRobot(ServerConnection& connection, ModelState& state, const Clock& clock,
                       message::Settings settings)
    : connection_(connection),
      state_(state),
      clock_(clock),
      walk_(Side::kRobot, state,
            [this](uint32_t transfer, std::vector<uint8_t> slice) {
              message::Slice coded = {number_, transfer};
              const Time begin = clock_.Now();
              AppendCodedSlice(settings_.shared.slice_codec, slice, &coded.bytes);
              part_->sent_bytes += coded.bytes.size();
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

template <typename Part>
auto SplitRobot::LoseServerIfItThrows(const Part& part) {
  try {
    return part();
  } catch (...) {
    walk_.Abandon();
    LoseServer();
    throw;
  }
}

bool SplitRobot::Begin(const FrameDecision& decision, const PictureView& seen,
                       const ChangePolicy& policy, Time give_up_at) {
  number_ = decision.number;
  begin_ = clock_.Now();
  give_up_at_ = give_up_at;
  alone_since_.reset();
  part_.reset();
  times_ = {};
  if (!IsReady(policy)) {
    LoseServer();
    BeginAlone();
    return false;
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
    last_told_.reset();
    server_ = Server::kFollows;
  }
  Say(connection_.channel(), message::Decided{.decision = told,
                                              .follows = last_told_,
                                              .committed = committed_,
                                              .is_shared = is_shared});
  last_told_ = decision.number;
  if (!is_shared) {
    BeginAlone();
    return false;
  }
  // The server lacks everything, and sending that may take longer than a frame has.
  if (is_first && give_up_at != kNever) give_up_at_ = begin_;
  computed_all_ = false;
  part_.emplace();
  // All that is known about a frame that will be given up.
  times_.server_queueing = last_done_.times.server_queueing;
  LoseServerIfItThrows([&] { walk_.Begin(told, settings_.cuts, policy, seen); });
  return true;
}

void SplitRobot::BeginAlone() {
  ++counts_.alone;
  alone_since_ = clock_.Now();
  computed_all_ = true;
}

Progress SplitRobot::Step() {
  return LoseServerIfItThrows([this] { return GoOn(); });
}

Progress SplitRobot::GoOn() {
  const bool is_alone = alone_since_.has_value();
  const Time now = clock_.Now();
  if (!is_alone) TakeMessages();
  const bool is_lost = !is_alone && server_ == Server::kHoldsNothing;
  Progress progress = is_lost ? Progress::kRefused : walk_.Step();
  if (progress == Progress::kRefused && !is_lost) {
    connection_.Leave(walk_.fault());
    LoseServer();
  }
  // The link may outlive a server that hangs.
  const bool waits = progress == Progress::kWaits;
  if (waits && waits_since_ && now >= *waits_since_ + ServerConnection::kPatience) {
    connection_.Leave("the server is too slow");
    LoseServer();
    progress = Progress::kRefused;
  }
  NoteWaiting(waits, now);
  if (progress == Progress::kDone && !is_alone) NoteTogether();
  return progress;
}

// Notes whether a step waits for a slice.
void SplitRobot::NoteWaiting(bool waits, Time now) {
  if (waits == waits_since_.has_value()) return;
  connection_.channel().Expect(waits);
  connection_.Await(waits);
  if (waits) {
    waits_since_ = clock_.Now();
  } else {
    const Time waited = now - *std::exchange(waits_since_, std::nullopt);
    counts_.waited += waited;
    times_.waiting += waited;
  }
}

// Both have finished the frame.
void SplitRobot::NoteTogether() {
  TakeMessages();
  times_.TakeServers(last_done_.times);
  part_->work = last_done_.work;
  part_->robot_rows = robot_rows_;
  state_.ConfirmSent();
  committed_ = number_;
  ++counts_.together;
}

void SplitRobot::Abandon() {
  alone_since_ = clock_.Now();
  NoteWaiting(false, *alone_since_);
  if (server_ == Server::kFollows) {
    server_ = Server::kIsBehind;
    given_up_ = number_;
    behind_since_.reset();
    if (number_ != first_told_) behind_since_ = begin_;
    Say(connection_.channel(), message::GiveUp{number_});
    ++counts_.given_up;
  }
  computed_all_ = true;
  LoseServerIfItThrows([this] { walk_.GoOnAlone(); });
}

bool SplitRobot::IsReady(const ChangePolicy& policy) {
  TakeMessages();
  if (!connection_.fault().empty()) return false;
  if (settings_.policy != policy) {
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
  if (!connection_.why_no_rows().empty()) return false;
  if (has_new_settings_) {
    connection_.Use(settings_, LikenessOf(state_, settings_.cuts, settings_.policy));
  }
  has_new_settings_ = false;
  return connection_.is_ready();
}

void SplitRobot::TakeMessages() {
  while (const std::optional<Message> received = connection_.Receive()) {
    std::string wrong;
    if (Is<message::Slice>(*received)) {
      message::Slice slice;
      wrong = Decode(received->bytes, &slice);
      if (wrong.empty()) Take(std::move(slice));
    } else if (Is<message::Done>(*received)) {
      message::Done done;
      wrong = Decode(received->bytes, &done);
      if (wrong.empty()) Take(done, received->arrived_at);
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
  if (!walk_.is_open() || slice.number != number_) return;
  part_->received_bytes += slice.bytes.size();
  std::vector<uint8_t> plain;
  if (const char* const fault = DecodeSlice(slice.bytes, kMostSliceBytes, &plain)) {
    return connection_.Leave(fault);
  }
  if (walk_.Take(slice.transfer, std::move(plain))) return;
  connection_.Leave(fmt::format("slice {} was not expected", slice.transfer));
}

void SplitRobot::Take(const message::Done& done, Time arrived_at) {
  if (done.kind != FrameDecision::Kind::kRefresh) last_done_ = done;
  if (server_ != Server::kIsBehind || done.number != given_up_) return;
  // The server has taken all slices of that frame.
  server_ = Server::kFollows;
  if (behind_since_) came_late_after_ = arrived_at - *behind_since_;
  state_.ConfirmSent();
}

void SplitRobot::Take(const message::FrameRefusal& refusal) {
  if (refusal.number < first_told_) return;
  ++counts_.refusals;
  LogInfo(fmt::format("the server refuses frame {}: {}", refusal.number, refusal.reason));
  LoseServer();
}

void SplitRobot::LoseServer() {
  server_ = Server::kHoldsNothing;
  state_.LosePeer();
}

}  // namespace cacheinf
