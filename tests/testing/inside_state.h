#ifndef CACHEINF_TESTS_TESTING_INSIDE_STATE_H_
#define CACHEINF_TESTS_TESTING_INSIDE_STATE_H_

#include <cstdint>
#include <optional>
#include <span>

#include "common/exec/model_state.h"

namespace cacheinf {

// The parts of a frame that a state shows only to tests, one at a time.
struct InsideState {
  static ChangedWork RunChanged(ModelState& state, std::span<const ConstMaskView> changed,
                                const ChangePolicy& policy, ConstMaskView forced = {}) {
    return state.RunChanged(changed, policy, forced);
  }
  static void Scroll(ModelState& state, const Shift& picture) { state.Scroll(picture); }
  static void Move(ModelState& state, const Homography& stored_from_frame) {
    state.Move(stored_from_frame);
  }
  static bool Settle(ModelState& state) { return state.Settle(); }
  static std::optional<StoredPixel> CheckStored(ModelState& state, int samples, uint32_t seed) {
    return state.CheckStored(samples, seed);
  }
  static bool Holds(const ModelState& state, ValueId value, int row) {
    return state.Holds(value, row);
  }
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_INSIDE_STATE_H_
