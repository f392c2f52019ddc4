#ifndef CACHEINF_COMMON_PAIR_REMOTE_SERVER_H_
#define CACHEINF_COMMON_PAIR_REMOTE_SERVER_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "common/base/clock.h"
#include "common/base/picture_view.h"
#include "common/codec/picture_codec.h"
#include "common/exec/compiled_model.h"
#include "common/exec/model_state.h"
#include "common/link/channel.h"
#include "common/pair/messages.h"
#include "common/reuse/frame_cache.h"

namespace cacheinf {

// The server's side of mode remote: gets a robot's pictures and answers with what they come to. It
// computes each whole, or decides itself, by the code that a robot decides by, what changed.
class RemoteServer {
 public:
  // Throws InputError if the settings do not fit the model. Channel and clock outlive this.
  RemoteServer(std::shared_ptr<const CompiledModel> model, const message::Settings& settings,
               Channel& channel, const Clock& clock);

  // Computes the frame and answers, or refuses a picture that cannot be decoded.
  void Take(const message::Frame& frame);

  // Once an answer is out, what is left for the next frame. False: nothing is.
  bool Refresh();

 private:
  const char* Decode(const message::Frame& frame);
  void Compute(int64_t number, message::Answer* answer);
  void PackOutputs(message::Answer* answer);

  Channel& channel_;
  const Clock& clock_;
  const std::shared_ptr<const CompiledModel> model_;
  ModelState state_;
  PictureDecoder decoder_;
  const SliceCodec slice_codec_;
  std::optional<FrameCache> cache_;
  Rectangle place_;  // of the frames in their pictures
  bool may_refresh_ = false;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_REMOTE_SERVER_H_
