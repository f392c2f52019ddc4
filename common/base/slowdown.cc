#include "common/base/slowdown.h"

#include <thread>
#include <utility>

namespace cacheinf {

using std::chrono::nanoseconds;

Slowdown::Slowdown(double factor, const Clock& clock, Wait wait) {
  if (factor <= 1) return;
  if (!wait) {
    wait = [&clock](nanoseconds time) {
      for (const nanoseconds end = clock.Now() + time; clock.Now() < end;) {
        std::this_thread::yield();
      }
    };
  }
  state_ = std::make_shared<State>(State{factor, clock, std::move(wait), clock.Now(), {}});
}

void Slowdown::Begin() const {
  if (state_) state_->begin = state_->clock.Now();
}

void Slowdown::CatchUp() const {
  if (!state_) return;
  State& state = *state_;
  const auto now = state.clock.Now();
  const std::chrono::duration<double, std::nano> work = now - state.begin;
  state.owed += std::chrono::duration_cast<nanoseconds>(work * (state.factor - 1));
  state.begin = now;
  if (state.owed <= nanoseconds(0)) return;
  state.wait(state.owed);
  state.begin = state.clock.Now();
  state.owed -= state.begin - now;
}

}  // namespace cacheinf
