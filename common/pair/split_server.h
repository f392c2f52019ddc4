#ifndef CACHEINF_COMMON_PAIR_SPLIT_SERVER_H_
#define CACHEINF_COMMON_PAIR_SPLIT_SERVER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "common/base/clock.h"
#include "common/base/slowdown.h"
#include "common/exec/compiled_model.h"
#include "common/exec/model_state.h"
#include "common/link/channel.h"
#include "common/pair/messages.h"
#include "common/pair/split_walk.h"

namespace cacheinf {

// The server's side of mode split: follows a robot's decisions, one after the other, and computes
// its rows of those that are shared. It never waits.
//
// It holds what the last decision that it was told gives, or nothing: at first, and after it has
// refused a frame. Then it is deaf until one comes that follows none. A frame that the robot gives
// up it finishes, without sending anything of it.
class SplitServer {
 public:
  // Throws InputError if the settings do not fit the model. Channel and clock outlive this.
  SplitServer(const std::shared_ptr<const CompiledModel>& model, const message::Settings& settings,
              Channel& channel, const Clock& clock, Slowdown slowdown = {});

  // Settings that need no other state (message::NeedsNewState). Throws InputError as above.
  // REQUIRES: no frame in hand.
  void Use(const message::Settings& settings);

  // Whether a frame is in hand, of which more slices may come. The next one can be taken when it
  // is done, or if it follows none.
  bool is_open() const { return walk_.is_open(); }

  void Take(const message::Frame& frame);
  void Take(message::Slice slice);
  void Take(const message::GiveUp& give_up);

  // Runs a stage of the frame in hand. False: it waits for a slice, or there is none.
  bool Step();

  // All slices have come that will come, so the frame in hand must not wait for more.
  void ExpectNoMoreSlices();

 private:
  void Refuse(int64_t frame, const std::string& reason);
  void SendSlice(uint32_t transfer, std::vector<uint8_t> slice);
  void SendAnswer();

  Channel& channel_;
  const Clock& clock_;
  const Slowdown slowdown_;
  message::Settings settings_;
  ModelState state_;
  SplitWalk walk_;
  int64_t told_ = -1;    // what the state holds; -1: nothing
  int64_t shared_ = -1;  // the last frame of which slices were sent
  bool is_given_up_ = false;
  message::Answer answer_;  // to the frame in hand
  std::chrono::nanoseconds computing_{};
  std::chrono::nanoseconds decoding_{};
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_SPLIT_SERVER_H_
