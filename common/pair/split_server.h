#ifndef CACHEINF_COMMON_PAIR_SPLIT_SERVER_H_
#define CACHEINF_COMMON_PAIR_SPLIT_SERVER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/exec/compiled_model.h"
#include "common/exec/model_state.h"
#include "common/link/channel.h"
#include "common/pair/messages.h"
#include "common/pair/split_walk.h"

namespace cacheinf {

// The server's side of mode split: follows a robot's decisions in order and computes its rows of
// the shared ones. Never waits.
//
// It holds the result of the last decision it was told, or nothing: at first, and after refusing a
// frame. It then ignores frames until one follows none. It finishes a frame that the robot gives
// up, but sends nothing more of it.
class SplitServer {
 public:
  // Throws InputError if the settings do not fit the model. Channel and clock must outlive this.
  SplitServer(const std::shared_ptr<const CompiledModel>& model, const message::Settings& settings,
              Channel& channel, const Clock& clock);

  // Takes settings that need no other state (message::NeedsNewState). Throws InputError as the
  // constructor. REQUIRES: no current frame.
  void Use(const message::Settings& settings);

  // The robot's must be the same.
  Likeness likeness() const;

  // Whether there is a current frame, whose slices may still arrive. The next frame can be taken
  // once the current one is done, or if the next follows none.
  bool is_open() const { return walk_.is_open(); }

  void Take(const message::Decided& frame);
  void Take(message::Slice slice);
  void Take(const message::GiveUp& give_up);

  // Runs a stage of the current frame. `queued`: how long it has waited for its turn so far.
  // Returns false if it waits for a slice or there is no frame.
  bool Step(std::chrono::nanoseconds queued = {});

  // All slices of the current frame have arrived; refuses the frame if it needs more.
  void ExpectNoMoreSlices();

 private:
  void Refuse(int64_t number, const std::string& reason);
  void SendSlice(uint32_t transfer, std::vector<uint8_t> slice);
  void SendDone(std::chrono::nanoseconds queued);

  Channel& channel_;
  const Clock& clock_;
  message::Settings settings_;
  ModelState state_;
  SplitWalk walk_;
  std::optional<int64_t> told_;    // the decision the state holds
  std::optional<int64_t> shared_;  // the last one whose slices were sent, if it holds anything
  bool is_given_up_ = false;
  message::Done done_;  // to the current frame
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_SPLIT_SERVER_H_
