#ifndef CACHEINF_COMMON_BASE_SLOWDOWN_H_
#define CACHEINF_COMMON_BASE_SLOWDOWN_H_

#include <chrono>
#include <functional>
#include <memory>

#include "common/base/clock.h"

namespace cacheinf {

// Makes a thread's work take `factor` times as long, by a wait after each piece of it. Waits awake,
// because a core that slept is slower for a while. Copies share one state.
class Slowdown {
 public:
  using Wait = std::function<void(std::chrono::nanoseconds)>;

  Slowdown() = default;  // none
  // The clock must outlive all copies.
  Slowdown(double factor, const Clock& clock, Wait wait = {});

  // Marks the beginning of work. Time before it, such as waiting for a peer, is not work.
  void Begin() const;

  // Waits for the work since Begin or the last CatchUp. Call it before the work's result leaves.
  void CatchUp() const;

 private:
  struct State {
    double factor;
    const Clock& clock;
    Wait wait;
    std::chrono::nanoseconds begin;
    std::chrono::nanoseconds owed;  // negative after a wait that took too long
  };
  std::shared_ptr<State> state_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_SLOWDOWN_H_
