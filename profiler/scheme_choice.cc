#include "profiler/scheme_choice.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include "common/base/build_id.h"
#include "common/base/cache_folder.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/status_line.h"
#include "common/config/configured_model.h"
#include "profiler/machine.h"
#include "profiler/measured_schemes.h"
#include "profiler/scheme_file.h"
#include "sparse_ops/cuda/device.h"
#include "sparse_ops/cuda/real/device_query.h"

namespace cacheinf {
namespace {

// What to measure and how: schemes or tiles.
template <typename Layers>
struct Kind {
  const char* name;
  const char* otherwise;  // what happens to layers for which there was no time
  Layers MeasuredLayers::*part;
  std::string variant;  // names what is measured, in the file's name
  std::function<int(const Layers& known)> count_unknown;
  std::function<Layers(const Measuring& measuring, Layers known)> measure;
};

// Adds what is missing to `known`.
template <typename Layers>
Layers Measure(const Kind<Layers>& kind, int threads, const Clock& clock,
               const std::atomic<bool>& stop, Layers known) {
  const int layers = kind.count_unknown(known);
  LogInfo(fmt::format("measuring the {} of {} layers before the first frame, for at most 20 s",
                      kind.name, layers));
  const auto start = clock.Now();
  StatusLine status(clock);
  Measuring measuring;
  measuring.threads = threads;
  measuring.on_progress = [&](int done, int of) {
    status.Show([&] { return fmt::format("measured layer {}/{}", done, of); });
    return !stop;
  };
  known = kind.measure(measuring, std::move(known));
  const int unmeasured = kind.count_unknown(known);
  LogInfo(fmt::format(
      "measured {} layers in {:.1f} s{}", layers - unmeasured,
      Milliseconds(clock.Now() - start) / 1e3,
      unmeasured == 0 ? "" : fmt::format("; the other {} {}", unmeasured, kind.otherwise)));
  return known;
}

// Earlier measurements, and new ones.
template <typename Layers>
Layers Measured(const Kind<Layers>& kind, const Graph& graph, int threads, const Clock& clock,
                const std::atomic<bool>& stop) {
  const int layers = kind.count_unknown({});
  if (layers == 0) return {};
  const SchemeKey key = {Fingerprint(DescribeMachine()), BuildId(),
                         ModelDigest(graph) + kind.variant, threads};
  const std::filesystem::path file = SchemeFile(CacheFolder() / "schemes", key);
  MeasuredLayers all = ReadSchemeFile(file, key).value_or(MeasuredLayers());
  Layers& part = all.*kind.part;
  const int unknown = kind.count_unknown(part);
  if (unknown < layers) {
    LogInfo(fmt::format("the {} of {} layers are those measured before, in {}", kind.name,
                        layers - unknown, file.string()));
  }
  if (unknown > 0) {
    part = Measure(kind, threads, clock, stop, std::move(part));
    if (!stop) WriteSchemeFile(file, key, all);
  }
  return part;
}

int64_t CountOf(const Graph& graph, Scheme scheme) {
  return std::ranges::count_if(graph.operators, [&](const Operator& op) {
    const auto* conv = op.As<op::Conv>();
    return conv != nullptr && conv->scheme == scheme;
  });
}

}  // namespace

void ChooseSchemes(const RobotConfig& config, int threads, const Clock& clock,
                   const std::atomic<bool>& stop, Graph& graph) {
  if (config.scheme != RobotConfig::Scheme::kAuto) return;
  if (config.backend == RobotConfig::Backend::kCpu) {
    ChooseFastestSchemes(threads, clock, stop, graph);
  } else if (IsOnGpu(config.backend) && !QueryCuda().devices.empty()) {
    try {
      ChooseTiles(
          config.backend, threads, [&] { return MakeBackend(config, threads); }, clock, stop,
          graph);
    } catch (const cuda::DeviceError& error) {
      LogWarning(fmt::format("tiles are not measured: {}", error.what()));
    }
  }
}

void ChooseFastestSchemes(int threads, const Clock& clock, const std::atomic<bool>& stop,
                          Graph& graph) {
  const Kind<SchemeTimes> schemes = {
      "schemes",
      "are computed directly",
      &MeasuredLayers::schemes,
      "",
      [&](const SchemeTimes& known) { return LayersToMeasure(graph, known); },
      [&](const Measuring& measuring, SchemeTimes known) {
        return MeasureSchemes(graph, measuring, clock, std::move(known));
      }};
  SetSchemes(graph, FasterSchemes(graph, Measured(schemes, graph, threads, clock, stop)));
  LogInfo(
      fmt::format("{} convolutions are computed by Winograd", CountOf(graph, Scheme::kWinograd)));
}

void ChooseTiles(RobotConfig::Backend backend, int threads,
                 const std::function<std::unique_ptr<Backend>()>& make_backend, const Clock& clock,
                 const std::atomic<bool>& stop, Graph& graph) {
  const Kind<TileChoice> tiles = {
      "tiles",
      "take tiles by their size",
      &MeasuredLayers::tiles,
      backend == RobotConfig::Backend::kCuda ? "" : "-" + std::string(NameOf(backend)),
      [&](const TileChoice& known) { return TilesToMeasure(graph, known); },
      [&](const Measuring& measuring, TileChoice known) {
        return MeasureTiles(graph, measuring, make_backend, clock, std::move(known));
      }};
  SetTiles(graph, Measured(tiles, graph, threads, clock, stop));
}

NamedSchemes SchemesOf(const Graph& graph) {
  NamedSchemes schemes;
  for (const Operator& op : graph.operators) {
    if (const auto* conv = op.As<op::Conv>()) schemes.push_back({op.name, conv->scheme});
  }
  return schemes;
}

void SetNamedSchemes(const NamedSchemes& schemes, Graph& graph) {
  Schemes chosen;
  size_t next = 0;
  for (const Operator& op : graph.operators) {
    chosen.push_back(Scheme::kDirect);
    if (op.As<op::Conv>() == nullptr) continue;
    if (next == schemes.size()) {
      throw InputError(fmt::format("there are schemes for {} convolutions, but the model has more",
                                   schemes.size()));
    }
    const NamedScheme& named = schemes[next++];
    if (named.layer != op.name) {
      throw InputError(fmt::format(
          "there is a scheme for convolution '{}' where the model has '{}'", named.layer, op.name));
    }
    chosen.back() = named.scheme;
  }
  if (next < schemes.size()) {
    throw InputError(fmt::format("there are schemes for {} convolutions, but the model has {}",
                                 schemes.size(), next));
  }
  SetSchemes(graph, chosen);
}

}  // namespace cacheinf
