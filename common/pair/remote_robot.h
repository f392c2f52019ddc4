#ifndef CACHEINF_COMMON_PAIR_REMOTE_ROBOT_H_
#define CACHEINF_COMMON_PAIR_REMOTE_ROBOT_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/picture_view.h"
#include "common/base/slowdown.h"
#include "common/codec/picture_codec.h"
#include "common/exec/compiled_model.h"
#include "common/exec/model_state.h"
#include "common/pair/messages.h"
#include "common/pair/server_connection.h"
#include "common/pair/server_part.h"

namespace cacheinf {

// The robot's side of mode remote: sends pictures to a server, and brings its answers to where a
// state has its outputs.
class RemoteRobot {
 public:
  using Time = std::chrono::nanoseconds;
  static constexpr Time kNever = Time::max();
  using Wait = ServerConnection::Wait;

  // Tells the server the settings. Throws InputError if this machine cannot encode so, or the model
  // takes no picture. The connection, the state and the clock outlive this.
  RemoteRobot(ServerConnection& connection, std::shared_ptr<const CompiledModel> model,
              ModelState& state, const Clock& clock, const message::Settings& settings,
              const PictureCodec& codec, Wait wait = {}, Slowdown slowdown = {});

  // From the next picture on. Throws as above.
  void SetCodec(const PictureCodec& codec);

  // Whether the server computes what changed of the pictures to come, or all; at first all.
  void SetServerKeeps(bool keeps) { server_keeps_ = keeps; }

  // Whether the server takes part in the next frame.
  bool IsReady();

  // The outputs become those of the picture, of which `place` shows the frame. False, and the
  // outputs have anything, if there is no answer by `give_up_at`, or the server refuses or is lost.
  bool Compute(const PictureView& picture, const Rectangle& place, int64_t frame,
               Time give_up_at = kNever);

  // Of the last frame that was computed.
  const message::Answer& answer() const { return answer_; }
  const ServerPart& part() const { return part_; }

 private:
  bool TakeMessages();
  void GiveUp();
  std::string TakeOutputs(const message::Answer& answer);

  ServerConnection& connection_;
  const std::shared_ptr<const CompiledModel> model_;
  ModelState& state_;
  const Clock& clock_;
  const Wait wait_;
  const Slowdown slowdown_;
  PictureEncoder encoder_;
  bool server_keeps_ = false;
  int64_t number_ = 0;       // of the last frame
  int64_t awaited_ = -1;     // the frame whose answer is waited for; -1: none
  int64_t whole_since_ = 0;  // the last one whose picture stood alone
  bool is_whole_due_ = false;
  bool is_refused_ = false;  // the last frame
  message::Answer answer_;
  ServerPart part_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_REMOTE_ROBOT_H_
