#include "common/pair/remote_robot.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/codec/slice_codec.h"
#include "common/exec/slice.h"
#include "common/pair/remote_picture.h"
#include "common/pair/say.h"

namespace cacheinf {

PictureFormat PictureFormatOf(const Graph& graph) {
  if (graph.inputs.size() != 1 || graph.picture.width == 0) {
    throw InputError("mode remote needs a model whose only input is a picture");
  }
  if (std::max(graph.picture.width, graph.picture.height) > PictureFormat::kLongestSide) {
    throw InputError(fmt::format("mode remote takes no picture of more than {} pixels per side",
                                 PictureFormat::kLongestSide));
  }
  const Shape& shape = graph.value(graph.inputs.front()).shape;
  return {graph.picture.width, graph.picture.height, static_cast<int>(shape[1]),
          graph.picture.channels == PictureSpec::Channels::kBgr};
}

Mask AllPixelsOf(const Value& value) {
  Mask all(HeightOf(value), WidthOf(value));
  SetAll(all);
  return all;
}

RemoteRobot::RemoteRobot(ServerConnection& connection, const Graph& graph, const Clock& clock,
                         const message::Settings& settings, const PictureCodec& codec, Wait wait,
                         Slowdown slowdown)
    : connection_(connection),
      graph_(graph),
      clock_(clock),
      wait_(connection.WaitBy(std::move(wait))),
      slowdown_(std::move(slowdown)),
      encoder_(codec, PictureFormatOf(graph)) {
  connection_.Use(settings);
}

void RemoteRobot::SetCodec(const PictureCodec& codec) {
  encoder_ = PictureEncoder(codec, PictureFormatOf(graph_));
  is_whole_due_ = true;
}

bool RemoteRobot::IsReady() {
  TakeMessages();
  return connection_.is_ready();
}

bool RemoteRobot::Compute(const PictureView& picture, const Rectangle& place, int64_t frame,
                          Time give_up_at) {
  GiveUp();
  begin_ = clock_.Now();
  message::RemoteFrame sent = {
      .number = ++number_, .frame = frame, .keeps = server_keeps_, .place = place};
  if (std::exchange(is_whole_due_, false)) {
    encoder_.Reset();
    whole_since_ = number_;
  }
  is_refused_ = false;
  encoder_.Append(picture, &sent.picture);
  const Message message = MessageOf(std::move(sent), number_);
  part_ = {.sent_bytes = message.bytes.size()};
  times_ = {};
  slowdown_.CatchUp();
  connection_.channel().Send(message);
  const Time encoded = clock_.Now();
  times_.encoding = encoded - begin_;
  const Time until = std::min(give_up_at, encoded + ServerConnection::kPatience);
  bool is_answered = false;
  awaited_ = number_;
  while (!is_answered && connection_.fault().empty() && !is_refused_ && clock_.Now() < until) {
    wait_(until);
    slowdown_.Begin();
    is_answered = TakeMessages();
  }
  awaited_ = -1;
  times_.waiting = clock_.Now() - encoded;
  if (is_answered) return true;
  if (!is_refused_) late_ = number_;
  if (clock_.Now() >= encoded + ServerConnection::kPatience)
    connection_.Leave("the server is too slow");
  return false;
}

std::optional<RemoteRobot::Time> RemoteRobot::GiveUp() {
  if (late_ != -1) TakeMessages();
  // If the picture has left, the server still decodes it, and the next one can build on it.
  if (const int64_t late = std::exchange(late_, -1); late != -1) {
    if (connection_.channel().GiveUp(late)) is_whole_due_ = true;
    Say(connection_.channel(), message::GiveUp{late});
  }
  return std::exchange(came_late_after_, std::nullopt);
}

// Returns whether the awaited answer has arrived. Ignores what is in answers that come later.
bool RemoteRobot::TakeMessages() {
  bool is_answered = false;
  while (const std::optional<Message> received = connection_.Receive()) {
    std::string wrong;
    if (Is<message::Answer>(*received)) {
      message::Answer answer;
      wrong = Decode(received->bytes, &answer);
      if (wrong.empty() && answer.frame == awaited_) {
        wrong = Take(answer);
        is_answered = wrong.empty();
        part_.received_bytes = received->bytes.size();
      } else if (wrong.empty() && answer.frame == late_) {
        late_ = -1;
        came_late_after_ = received->arrived_at - begin_;
      }
    } else if (Is<message::FrameRefusal>(*received)) {
      message::FrameRefusal refusal;
      wrong = Decode(received->bytes, &refusal);
      if (wrong.empty() && refusal.frame >= whole_since_) {
        LogInfo(fmt::format("the server refuses a picture: {}", refusal.reason));
        is_whole_due_ = true;
        is_refused_ = refusal.frame == number_;
        if (is_refused_) late_ = -1;
      }
    } else {
      wrong = fmt::format("a message of kind {} was not expected", received->kind);
    }
    if (!wrong.empty()) connection_.Leave(wrong);
  }
  return is_answered;
}

std::string RemoteRobot::Take(const message::Answer& answer) {
  if (answer.outputs.size() != graph_.outputs.size()) return "an answer does not have all outputs";
  outputs_.resize(answer.outputs.size());
  for (size_t i = 0; i < answer.outputs.size(); ++i) {
    std::vector<uint8_t> slice;
    if (const char* const fault = DecodeSlice(answer.outputs[i], kMostSliceBytes, &slice)) {
      return fault;
    }
    const ValueId id = graph_.outputs[i];
    if (const char* const fault = ReadWholeSlice(slice, id, graph_.value(id), &outputs_[i])) {
      return fault;
    }
  }
  TakeTimes(answer, &times_);
  part_.work = {.share = answer.work,
                .active = answer.active,
                .is_dense = answer.kind == FrameDecision::Kind::kWhole};
  picture_from_seen_ = answer.frame_from_seen;
  return "";
}

}  // namespace cacheinf
