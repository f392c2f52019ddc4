#ifndef CACHEINF_TESTS_PAIR_SERVED_CHANNELS_H_
#define CACHEINF_TESTS_PAIR_SERVED_CHANNELS_H_

#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "common/pair/session.h"
#include "tests/link/channel_pair.h"
#include "tests/pair/busy_clock.h"

namespace cacheinf {

// A link within the process with a session at the server's end, on a clock that stands still
// between steps.
struct ServedChannels {
  ServedChannels(ModelStore& store, SlowWork& slow_work, Session::Options options = {},
                 const LoopbackScript& script = {}, const SlowSide::Nap& server_nap = {})
      : channels(script),
        server_side(channels.clock, server_nap),
        session(channels.server, store, slow_work, server_side.clock(), std::move(options)) {}

  // Lets the server go on until it holds, but no longer than so many milliseconds. What it has
  // another thread do takes its own time.
  bool RunUntil(const std::function<bool()>& holds, int at_most_ms) {
    for (int i = 0; i < at_most_ms && !holds(); ++i) {
      session.Advance();
      channels.RunFor(std::chrono::milliseconds(1));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return holds();
  }

  ChannelPair channels;
  SlowSide server_side;
  Session session;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_PAIR_SERVED_CHANNELS_H_
