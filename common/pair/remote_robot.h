#ifndef CACHEINF_COMMON_PAIR_REMOTE_ROBOT_H_
#define CACHEINF_COMMON_PAIR_REMOTE_ROBOT_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/answer/outputs.h"
#include "common/base/clock.h"
#include "common/base/frame_times.h"
#include "common/base/picture_view.h"
#include "common/codec/picture_codec.h"
#include "common/pair/messages.h"
#include "common/pair/progress.h"
#include "common/pair/server_connection.h"
#include "common/pair/server_part.h"

namespace cacheinf {

// The robot's side of mode remote: sends pictures to a server, which answers with their outputs.
// Never waits; whoever takes the steps waits between them. The last picture is in one of these
// states:
//
//              an answer comes          a refusal comes  Abandon  GiveUp, the next Begin
//   kAwaited   → kAnswered              → kRefused       → kLate
//   kAnswered                                            → kNone
//   kRefused                                             → kNone
//   kLate      → kAnswered              → kNone                   → kNone; the server is told
class RemoteRobot {
 public:
  using Time = std::chrono::nanoseconds;

  // Sends the server the settings. Throws InputError if this machine cannot encode with `codec`, or
  // the model takes no picture. Connection, graph and clock must outlive this.
  RemoteRobot(ServerConnection& connection, const Graph& graph, const Clock& clock,
              const message::Settings& settings, const PictureCodec& codec);

  // Takes effect from the next picture on. Throws as the constructor.
  void SetCodec(const PictureCodec& codec);

  // Whether the server computes only what changed in the coming pictures; at first it computes all.
  void SetServerKeeps(bool keeps) { server_keeps_ = keeps; }

  // Whether the server takes part in the next frame.
  bool IsReady();

  // Sends the picture, in which `place` shows the frame. The outputs are due at `due`, if ever; the
  // server may stop computing them once they are late by as long again as they were given.
  void Begin(const PictureView& picture, const Rectangle& place, int64_t frame,
             Time due = Time::max());
  // Takes what has arrived. kDone: the outputs are there.
  Progress Step();
  // No longer waits for the outputs. Until GiveUp, Step still takes them.
  void Abandon();

  // Whether the last picture's answer did not come in time and still may.
  bool may_be_answered() const { return picture_ == Picture::kLate; }

  // Tells the server to stop computing that answer. Returns how long after Begin it came, if it
  // came late.
  std::optional<Time> GiveUp();

  // For the last frame that was done. `outputs` are valid until the next Begin, and NaN where the
  // server left out what nobody reads (shared_settings.h).
  FrameOutputs outputs() const { return {graph_, outputs_}; }
  const ServerPart& part() const { return part_; }
  const FrameTimes& times() const { return times_; }
  // Where a pixel that the network saw lies in the picture.
  const Homography& picture_from_seen() const { return picture_from_seen_; }

 private:
  enum class Picture : uint8_t { kNone, kAwaited, kAnswered, kRefused, kLate };

  bool HasMoved();
  void TakeMessages();
  std::string Take(const message::Done& done);

  ServerConnection& connection_;
  const Graph& graph_;
  const Clock& clock_;
  PictureEncoder encoder_;
  bool server_keeps_ = false;
  // The last picture.
  Picture picture_ = Picture::kNone;
  int64_t number_ = 0;
  Time begin_{};
  Time encoded_{};
  Time moved_at_{};           // about when part of it left, or part of an answer came
  uint64_t heard_bytes_ = 0;  // by then
  uint64_t acknowledged_ = 0;

  std::optional<Time> came_late_after_;
  int64_t whole_since_ = 0;  // the last picture that needs no other
  bool is_whole_due_ = false;
  const std::shared_ptr<OutputNumbers> outputs_ = std::make_shared<OutputNumbers>();
  ServerPart part_;
  FrameTimes times_;
  Homography picture_from_seen_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_REMOTE_ROBOT_H_
