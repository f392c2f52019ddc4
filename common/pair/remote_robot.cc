#include "common/pair/remote_robot.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/codec/slice_codec.h"
#include "common/exec/slice.h"
#include "common/pair/remote_picture.h"
#include "common/pair/say.h"

namespace cacheinf {
namespace {

uint16_t LeftMs(RemoteRobot::Time now, RemoteRobot::Time due) {
  if (due == RemoteRobot::Time::max()) return 0;
  constexpr int64_t kMost = std::numeric_limits<uint16_t>::max();
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(due - now).count();
  return static_cast<uint16_t>(std::clamp<int64_t>(left, 1, kMost));
}

}  // namespace

PictureFormat PictureFormatOf(const Graph& graph) {
  if (graph.inputs.size() != 1 || graph.picture.width == 0) {
    throw InputError("mode remote needs a model whose only input is a picture");
  }
  if (std::max(graph.picture.width, graph.picture.height) > PictureFormat::kLongestSide) {
    throw InputError(fmt::format("mode remote takes no picture of more than {} pixels per side",
                                 PictureFormat::kLongestSide));
  }
  const Shape shape = graph.value(graph.inputs.front()).shape_of_numbers();
  return {graph.picture.width, graph.picture.height, static_cast<int>(shape[1]),
          graph.picture.channels == PictureSpec::Channels::kBgr};
}

Mask AllPixelsOf(const Value& value) {
  Mask all(HeightOf(value), WidthOf(value));
  SetAll(all);
  return all;
}

RemoteRobot::RemoteRobot(ServerConnection& connection, const Graph& graph, const Clock& clock,
                         const message::Settings& settings, const PictureCodec& codec)
    : connection_(connection),
      graph_(graph),
      clock_(clock),
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

void RemoteRobot::Begin(const PictureView& picture, const Rectangle& place, int64_t frame,
                        Time due) {
  GiveUp();
  begin_ = clock_.Now();
  message::RemoteFrame sent = {
      .number = ++number_, .frame = frame, .keeps = server_keeps_, .place = place};
  if (std::exchange(is_whole_due_, false)) {
    encoder_.Reset();
    whole_since_ = number_;
  }
  encoder_.Append(picture, &sent.picture);
  sent.left_ms = LeftMs(clock_.Now(), due);
  const Message message = MessageOf(std::move(sent), number_);
  part_ = {.sent_bytes = message.bytes.size()};
  times_ = {};
  encoded_ = moved_at_ = clock_.Now();
  (void)HasMoved();
  connection_.channel().Send(message);
  picture_ = Picture::kAwaited;
  times_.encoding = encoded_ - begin_;
}

Progress RemoteRobot::Step() {
  TakeMessages();
  connection_.Await(picture_ == Picture::kAwaited);
  const Time waiting = clock_.Now() - encoded_;
  times_.waiting = waiting;
  if (picture_ == Picture::kAnswered) return Progress::kDone;
  if (picture_ == Picture::kLate) return Progress::kWaits;
  if (clock_.Now() >= moved_at_ + ServerConnection::kPatience && !HasMoved()) {
    connection_.Leave("the server is too slow");
  }
  const bool may_come = picture_ == Picture::kAwaited && connection_.fault().empty();
  return may_come ? Progress::kWaits : Progress::kRefused;
}

// On a narrow link pictures and answers take their time.
bool RemoteRobot::HasMoved() {
  const ChannelStatistics statistics = connection_.channel().statistics();
  const uint64_t heard = std::exchange(heard_bytes_, statistics.received.payload);
  const bool has_moved = heard_bytes_ > heard || statistics.acknowledged > acknowledged_;
  acknowledged_ = statistics.acknowledged;
  if (has_moved) moved_at_ = clock_.Now();
  return has_moved;
}

void RemoteRobot::Abandon() {
  picture_ = picture_ == Picture::kAwaited ? Picture::kLate : Picture::kNone;
  connection_.Await(false);
}

std::optional<RemoteRobot::Time> RemoteRobot::GiveUp() {
  if (picture_ == Picture::kLate) TakeMessages();
  // If the picture has left, the server still decodes it, and the next one can build on it.
  if (std::exchange(picture_, Picture::kNone) == Picture::kLate) {
    if (connection_.channel().GiveUp(number_)) is_whole_due_ = true;
    Say(connection_.channel(), message::GiveUp{number_});
  }
  return std::exchange(came_late_after_, std::nullopt);
}

// Ignores answers to earlier pictures.
void RemoteRobot::TakeMessages() {
  while (const std::optional<Message> received = connection_.Receive()) {
    std::string wrong;
    if (Is<message::Done>(*received)) {
      message::Done done;
      wrong = Decode(received->bytes, &done);
      const bool is_late = picture_ == Picture::kLate;
      const bool may_come = is_late || picture_ == Picture::kAwaited;
      if (wrong.empty() && done.number == number_ && may_come) {
        wrong = Take(done);
        if (wrong.empty()) picture_ = Picture::kAnswered;
        if (is_late) came_late_after_ = received->arrived_at - begin_;
        part_.received_bytes = received->bytes.size();
      }
    } else if (Is<message::FrameRefusal>(*received)) {
      message::FrameRefusal refusal;
      wrong = Decode(received->bytes, &refusal);
      if (wrong.empty() && refusal.number >= whole_since_) {
        LogInfo(fmt::format("the server refuses a picture: {}", refusal.reason));
        is_whole_due_ = true;
        if (refusal.number == number_) {
          picture_ = picture_ == Picture::kAwaited ? Picture::kRefused : Picture::kNone;
        }
      }
    } else {
      wrong = fmt::format("a message of kind {} was not expected", received->kind);
    }
    if (!wrong.empty()) connection_.Leave(wrong);
  }
}

std::string RemoteRobot::Take(const message::Done& done) {
  if (done.outputs.size() != graph_.outputs.size()) return "an answer does not have all outputs";
  outputs_->resize(done.outputs.size());
  for (size_t i = 0; i < done.outputs.size(); ++i) {
    std::vector<uint8_t> slice;
    if (const char* const fault = DecodeSlice(done.outputs[i], kMostSliceBytes, &slice)) {
      return fault;
    }
    const ValueId id = graph_.outputs[i];
    if (const char* const fault = ReadWholeSlice(slice, id, graph_.value(id), &(*outputs_)[i])) {
      return fault;
    }
  }
  times_.TakeServers(done.times);
  part_.work = done.work;
  picture_from_seen_ = done.frame_from_seen;
  return "";
}

}  // namespace cacheinf
