#ifndef CACHEINF_COMMON_PAIR_REMOTE_SERVER_H_
#define CACHEINF_COMMON_PAIR_REMOTE_SERVER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "common/base/clock.h"
#include "common/base/picture_view.h"
#include "common/codec/picture_codec.h"
#include "common/exec/compiled_model.h"
#include "common/exec/model_state.h"
#include "common/link/channel.h"
#include "common/pair/messages.h"
#include "common/pair/shared_settings.h"
#include "common/reuse/reuse.h"

namespace cacheinf {

// The server's side of mode remote: answers a robot's pictures with the network's outputs. For each
// picture the robot says whether to compute it whole, or only what changed; the server finds that
// by the code that a robot uses. (Each way has its own state, made on first use: a state that keeps
// nothing computes a whole picture faster.)
//
// Never waits, and computes one stage a step, so that the caller can turn to other robots in
// between. Between steps it abandons what the robot no longer waits for: what the robot gives up,
// and what is late by as long again as it was given. (An answer that is a little late still tells
// the robot how long the server takes.) So there is one of these to do:
//
//               the next picture comes   its picture is given up   the last stage is done
//   kNothing    → kAnswer
//   kAnswer     abandoned; → kAnswer     abandoned; → kNothing     answered; → kRefresh if results
//                                                                  are kept, else → kNothing
//   kRefresh    abandoned; → kAnswer                               → kNothing
class RemoteServer {
 public:
  // Sees every decoded picture, as the network will, and the number of its frame.
  using OnPicture =
      std::function<void(int64_t frame, const PictureView& picture, const PictureSpec& spec)>;

  // Throws InputError if the settings do not fit the model. Channel and clock must outlive this.
  RemoteServer(std::shared_ptr<const CompiledModel> model, const message::Settings& settings,
               Channel& channel, const Clock& clock, OnPicture on_picture = {});

  // Decodes the picture, which the next one may need, or refuses it. The robot no longer waits for
  // answers to earlier pictures.
  void Take(const message::RemoteFrame& frame);
  void Take(const message::GiveUp& give_up);

  // Whether a picture waits for its answer.
  bool is_open() const { return to_do_ == ToDo::kAnswer; }

  // When its answer is due; max(): never.
  std::chrono::nanoseconds due() const {
    return is_open() ? due_at_ : std::chrono::nanoseconds::max();
  }

  // Takes a step. `queued`: how long the picture has waited for its turn so far. Returns false if
  // there is nothing to do.
  bool Step(std::chrono::nanoseconds queued = {});

 private:
  enum class ToDo : uint8_t { kNothing, kAnswer, kRefresh };

  const char* Decode(const message::RemoteFrame& frame);
  void MakeKept();
  void Turn(ToDo to_do);
  bool Begin();
  void Commit();
  void End(std::chrono::nanoseconds queued);
  void PackOutputs(const ModelState& state);

  Channel& channel_;
  const Clock& clock_;
  const std::shared_ptr<const CompiledModel> model_;
  const SharedSettings settings_;
  const ReuseSettings reuse_settings_;
  PictureDecoder decoder_;
  std::optional<ModelState> whole_;
  std::optional<ModelState> kept_;
  std::optional<Reuse> reuse_;  // of `kept_`
  bool keeps_ = false;          // for the current picture
  const OnPicture on_picture_;
  int64_t frame_ = 0;  // of the current picture
  Rectangle place_;    // the part of the picture that shows the frame
  ToDo to_do_ = ToDo::kNothing;
  ModelState* computing_ = nullptr;      // once computing has begun
  std::chrono::nanoseconds computed_{};  // how long
  std::chrono::nanoseconds due_at_{};    // the current picture's answer
  std::chrono::nanoseconds drop_at_{};   // when to drop that picture
  message::Done done_;                   // to the current picture, as far as it is known
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_REMOTE_SERVER_H_
