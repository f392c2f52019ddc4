#ifndef CACHEINF_COMMON_BASE_SLOWDOWN_H_
#define CACHEINF_COMMON_BASE_SLOWDOWN_H_

#include <chrono>
#include <functional>
#include <memory>

#include "common/base/clock.h"

namespace cacheinf {

// Makes a thread's work take so many times as long, by a wait after each piece of it. It waits
// awake, for a core that sleeps is slower for a while. Copies are one.
class Slowdown {
 public:
  using Wait = std::function<void(std::chrono::nanoseconds)>;

  Slowdown() = default;  // none
  // The clock outlives all copies.
  Slowdown(double factor, const Clock& clock, Wait wait = {});

  // Work begins; what was before was none, such as waiting for a peer.
  void Begin() const;

  // Waits for the work since Begin or the last CatchUp. To be called before what it came to
  // leaves.
  void CatchUp() const;

 private:
  struct State {
    double factor;
    const Clock& clock;
    Wait wait;
    std::chrono::nanoseconds begin;
    std::chrono::nanoseconds owed;  // less than nothing after a wait that took too long
  };
  std::shared_ptr<State> state_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_SLOWDOWN_H_
