#ifndef CACHEINF_COMMON_PAIR_REMOTE_SERVER_H_
#define CACHEINF_COMMON_PAIR_REMOTE_SERVER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "common/base/clock.h"
#include "common/base/picture_view.h"
#include "common/base/slowdown.h"
#include "common/codec/picture_codec.h"
#include "common/exec/compiled_model.h"
#include "common/exec/model_state.h"
#include "common/link/channel.h"
#include "common/pair/messages.h"
#include "common/reuse/frame_cache.h"
#include "common/reuse/settings.h"

namespace cacheinf {

// The server's side of mode remote: gets a robot's pictures and answers with what they come to. It
// computes each whole, or decides itself, by the code that a robot decides by, what changed, as the
// robot wishes from picture to picture. (Each has a state of its own, made for the first such
// picture, because one that keeps nothing computes a whole picture sooner.)
class RemoteServer {
 public:
  // Sees every picture that was decoded, as the network will, and which frame it is of.
  using OnPicture =
      std::function<void(int64_t frame, const PictureView& picture, const PictureSpec& spec)>;

  // Throws InputError if the settings do not fit the model. Channel and clock outlive this.
  RemoteServer(std::shared_ptr<const CompiledModel> model, const message::Settings& settings,
               Channel& channel, const Clock& clock, OnPicture on_picture = {},
               Slowdown slowdown = {});

  // Decodes the picture, since the next may need it, or refuses it. The robot waits for no answer
  // to those before it.
  void Take(const message::RemoteFrame& frame);
  void Take(const message::GiveUp& give_up);

  // Computes the picture that is waited for, and answers. False: none is.
  bool Step();

  // Once an answer is out, what is left for the next frame. False: nothing is.
  bool Refresh();

 private:
  const char* Decode(const message::RemoteFrame& frame);
  uint32_t MicrosecondsSince(std::chrono::nanoseconds begin) const;
  FrameCache& Cache();
  ModelState& Compute(message::Answer* answer);
  void PackOutputs(const ModelState& state, message::Answer* answer);

  Channel& channel_;
  const Clock& clock_;
  const std::shared_ptr<const CompiledModel> model_;
  const message::Settings settings_;
  const ReuseSettings reuse_;
  PictureDecoder decoder_;
  std::optional<ModelState> whole_;
  std::optional<ModelState> kept_;
  std::optional<FrameCache> cache_;  // on `kept_`
  bool keeps_ = false;               // the picture in hand
  const OnPicture on_picture_;
  const Slowdown slowdown_;
  int64_t frame_ = 0;                      // of the picture in hand
  Rectangle place_;                        // of the frames in their pictures
  std::optional<message::Answer> wanted_;  // to the picture in hand, as far as it is known
  bool may_refresh_ = false;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_REMOTE_SERVER_H_
