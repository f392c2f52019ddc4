#include "profiler/scheme_choice.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "common/base/build_id.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/status_line.h"
#include "common/exec/scheme_file.h"
#include "common/exec/schemes.h"
#include "profiler/machine.h"

namespace cacheinf {
namespace {

// Adds what is missing to `known`.
SchemeTimes Measure(const Graph& graph, int threads, const Clock& clock,
                    const std::atomic<bool>& stop, SchemeTimes known = {}) {
  const int layers = LayersToMeasure(graph, known);
  LogInfo(fmt::format("measuring the schemes of {} layers before the first frame, for at most 20 s",
                      layers));
  const auto start = clock.Now();
  StatusLine status(clock);
  Measuring measuring;
  measuring.threads = threads;
  measuring.on_progress = [&](int done, int of) {
    status.Show([&] { return fmt::format("measured layer {}/{}", done, of); });
    return !stop;
  };
  SchemeTimes times = MeasureSchemes(graph, measuring, clock, std::move(known));
  const int unmeasured = LayersToMeasure(graph, times);
  LogInfo(fmt::format(
      "measured {} layers in {:.1f} s{}", layers - unmeasured,
      Milliseconds(clock.Now() - start) / 1e3,
      unmeasured == 0 ? "" : fmt::format("; the other {} are computed directly", unmeasured)));
  return times;
}

SchemePlan MeasuredPlan(const Graph& graph, int threads, const Clock& clock,
                        const std::atomic<bool>& stop) {
  if (LayersToMeasure(graph) == 0) return FasterSchemes(graph, {});
  const std::optional<std::filesystem::path> folder = SchemeFolder();
  if (!folder) return FasterSchemes(graph, Measure(graph, threads, clock, stop));
  const SchemeKey key = {Fingerprint(DescribeMachine()), BuildId(), ModelDigest(graph), threads};
  const std::filesystem::path file = SchemeFile(*folder, key);
  SchemeTimes times = ReadSchemeFile(file, key).value_or(SchemeTimes());
  const int known = LayersToMeasure(graph) - LayersToMeasure(graph, times);
  if (known > 0) {
    LogInfo(fmt::format("the schemes of {} layers are those measured before, in {}", known,
                        file.string()));
  }
  if (LayersToMeasure(graph, times) > 0) {
    times = Measure(graph, threads, clock, stop, std::move(times));
    if (!stop) WriteSchemeFile(file, key, times);
  }
  return FasterSchemes(graph, times);
}

int64_t CountOf(const Graph& graph, Scheme scheme) {
  return std::count_if(graph.operators.begin(), graph.operators.end(), [&](const Operator& op) {
    const auto* conv = op.As<op::Conv>();
    return conv != nullptr && conv->scheme == scheme;
  });
}

}  // namespace

void ChooseSchemes(RobotConfig::Scheme choice, int threads, const Clock& clock,
                   const std::atomic<bool>& stop, Graph& graph) {
  switch (choice) {
    case RobotConfig::Scheme::kDirect:
    case RobotConfig::Scheme::kLibTorch:
      return;
    case RobotConfig::Scheme::kAuto:
      SetSchemes(graph, MeasuredPlan(graph, threads, clock, stop));
      break;
  }
  LogInfo(
      fmt::format("{} convolutions are computed by Winograd", CountOf(graph, Scheme::kWinograd)));
}

NamedSchemes SchemesOf(const Graph& graph) {
  NamedSchemes schemes;
  for (const Operator& op : graph.operators) {
    if (const auto* conv = op.As<op::Conv>()) schemes.push_back({op.name, conv->scheme});
  }
  return schemes;
}

void SetNamedSchemes(const NamedSchemes& schemes, Graph& graph) {
  SchemePlan plan;
  size_t next = 0;
  for (const Operator& op : graph.operators) {
    plan.push_back(Scheme::kDirect);
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
    plan.back() = named.scheme;
  }
  if (next < schemes.size()) {
    throw InputError(fmt::format("there are schemes for {} convolutions, but the model has {}",
                                 schemes.size(), next));
  }
  SetSchemes(graph, plan);
}

}  // namespace cacheinf
