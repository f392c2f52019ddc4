#ifndef CACHEINF_TESTS_PAIR_GUEST_H_
#define CACHEINF_TESTS_PAIR_GUEST_H_

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "common/backend/forwarding_backend.h"
#include "common/backend/host/cpu_backend.h"
#include "common/pair/remote_robot.h"
#include "common/pair/server_connection.h"
#include "tests/pair/served_channels.h"
#include "tests/testing/clip.h"

namespace cacheinf {

// Calls back before every operator.
struct HeardBackend : ForwardingBackend {
  explicit HeardBackend(std::function<void()> on_run)
      : ForwardingBackend(std::make_unique<CpuBackend>()), on_run(std::move(on_run)) {}
  void Run(int handle, std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs,
           Range rows) override {
    on_run();
    ForwardingBackend::Run(handle, inputs, outputs, rows);
  }
  void Run(int handle, std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs,
           PixelSets& sets, const PixelRunArgs& args) override {
    on_run();
    ForwardingBackend::Run(handle, inputs, outputs, sets, args);
  }
  const std::function<void()> on_run;
};

// Of mode remote, with nothing lost on the way.
inline message::Settings RemoteSettings() {
  message::Settings settings;
  settings.mode = message::Settings::Mode::kRemote;
  settings.shared.cache.policy = CacheConfig::Policy::kExact;
  settings.shared.slice_codec = SliceCodec::kRaw;
  return settings;
}

// A robot in mode remote with a clip of its own, and the session that serves it.
struct Guest : ServedChannels {
  Guest(ModelStore& store, SlowWork& slow_work, const Graph& graph,
        const message::Settings& settings = RemoteSettings(), const std::string& codec = "raw",
        Session::Options options = {}, const LoopbackScript& script = {},
        const SlowSide::Nap& server_nap = {})
      : ServedChannels(store, slow_work, std::move(options), script, server_nap),
        connection(channels.robot, {.robot = "rover"}, PackForServers(graph)),
        robot(connection, graph, channels.clock, settings, ParsePictureCodec(codec)) {}

  // Sends the next picture.
  void Begin(const Rectangle& place = {{0, kHeight}, {0, kWidth}},
             std::chrono::nanoseconds due = std::chrono::nanoseconds::max()) {
    clip.Next();
    robot.Begin(clip.picture(), place, clip.decision().number, due);
  }

  ServerConnection connection;
  RemoteRobot robot;
  Clip clip{kHeight, kWidth, /*step=*/0, 7};
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_PAIR_GUEST_H_
