#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "common/backend/host/cpu_backend.h"
#include "common/base/error.h"
#include "common/exec/cache_choice.h"
#include "common/exec/model_state.h"
#include "common/exec/spreads.h"
#include "common/model/load.h"
#include "sparse_ops/mask/mask.h"
#include "tests/bench/bench.h"
#include "tests/bench/clips.h"
#include "tests/bench/worker.h"
#include "tests/testing/inside_state.h"
#include "tests/testing/places.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

constexpr std::array kShares = {0.01, 0.02, 0.05, 0.10, 0.20, 0.30, 0.50, 0.70, 1.00};

struct NamedPolicy {
  std::string_view name;
  ChangePolicy policy;
};

Tensor RandomPicture(const Shape& shape, std::mt19937& random) {
  std::uniform_real_distribution<float> brightness(0.0f, 1.0f);
  std::vector<float> numbers(static_cast<size_t>(ElementCount(shape)));
  for (float& number : numbers) number = brightness(random);
  return Tensor(shape, std::move(numbers));
}

// A rectangle with the picture's proportions, in its middle.
Mask MiddleBlob(int height, int width, double share) {
  Mask mask(height, width);
  const double side = std::sqrt(share);
  const int rows = std::max(1, static_cast<int>(std::lround(height * side)));
  const int columns = std::max(1, static_cast<int>(std::lround(width * side)));
  const int top = (height - rows) / 2;
  const int left = (width - columns) / 2;
  SetRectangle({top, top + rows}, {left, left + columns}, mask);
  return mask;
}

// The picture with new numbers where the mask is set.
Tensor Changed(const Tensor& picture, ConstMaskView mask, std::mt19937& random) {
  const Tensor other = RandomPicture(picture.shape(), random);
  std::vector<float> numbers(picture.data(), picture.data() + picture.count());
  const int64_t height = picture.shape()[2];
  const int64_t width = picture.shape()[3];
  for (int64_t i = 0; i < picture.count(); ++i) {
    if (mask.Test(static_cast<int>(i / width % height), static_cast<int>(i % width))) {
      numbers[static_cast<size_t>(i)] = other.data()[i];
    }
  }
  return Tensor(picture.shape(), std::move(numbers));
}

// A state that sees in turn two pictures that differ in a mask.
class TurningNetwork {
 public:
  // `budget` is a share of the memory for keeping all values.
  TurningNetwork(const std::shared_ptr<const Graph>& graph, int threads, double budget)
      : budget_(budget),
        state_(std::make_shared<const CompiledModel>(
                   graph, std::make_unique<CpuBackend>(CpuBackendOptions{.threads = threads})),
               {ChooseCaches(*graph, BudgetBytes(*graph, budget)).kept, Keep::kChosen}) {}

  void Show(const Tensor& picture, const Tensor& changed, const Mask& mask) {
    pictures_ = {picture, changed};
    mask_ = mask;
    state_.SetInput(0, pictures_[0].view());
    state_.Run();
    shown_ = 0;
  }

  ModelState& state() { return state_; }
  double budget() const { return budget_; }

  double DenseMs() {
    Turn();
    return TimeOnce([this] { state_.Run(); });
  }

  double ChangedMs(const ChangePolicy& policy) {
    Turn();
    const std::array<ConstMaskView, 1> changed = {std::as_const(mask_).view()};
    return TimeOnce([&] { work_ = InsideState::RunChanged(state_, changed, policy); });
  }

  // The work of the last ChangedMs.
  const ChangedWork& work() const { return work_; }

 private:
  static size_t BudgetBytes(const Graph& graph, double share) {
    const auto all = static_cast<double>(MemoryOfExtremes(graph).cache_all_bytes);
    return static_cast<size_t>(share * all);
  }

  void Turn() {
    shown_ = 1 - shown_;
    state_.SetInput(0, pictures_[shown_].view());
  }

  double budget_;
  ModelState state_;
  std::array<Tensor, 2> pictures_;
  Mask mask_;
  size_t shown_ = 0;
  ChangedWork work_;
};

// Times a measurement `count` times.
template <typename Measure>
std::vector<double> Repeat(int count, const Measure& measure) {
  std::vector<double> ms;
  for (int i = 0; i < count; ++i) ms.push_back(measure());
  return ms;
}

// One network under one policy.
struct Contender {
  TurningNetwork* network;
  const NamedPolicy* policy;
  double active = 0.0;  // of the last frame
};

double MeasureOnce(Contender& contender) {
  const double ms = contender.network->ChangedMs(contender.policy->policy);
  const ChangedWork& work = contender.network->work();
  contender.active = static_cast<double>(work.done) / static_cast<double>(work.of_all);
  return ms;
}

// All are compared with the first network's dense run.
void MeasureShare(std::vector<TurningNetwork>& networks, const std::vector<NamedPolicy>& policies,
                  const BenchOptions& options, const nlohmann::ordered_json& head,
                  BenchReport* report) {
  std::vector<Contender> contenders;
  for (TurningNetwork& network : networks) {
    for (const NamedPolicy& policy : policies) contenders.push_back({&network, &policy});
  }
  std::vector<Turn> turns = {
      [&](int count) { return Repeat(count, [&] { return networks[0].DenseMs(); }); }};
  for (Contender& contender : contenders) {
    turns.emplace_back([&contender](int count) {
      // Replaces what other policies left in the maps.
      contender.network->DenseMs();
      return Repeat(count, [&contender] { return MeasureOnce(contender); });
    });
  }
  const Timing timing = TimeTurns(turns, options.timing);
  report->AddNoise(timing);
  const double dense_ms = timing.contenders[0].Median();
  for (size_t i = 0; i < contenders.size(); ++i) {
    const Samples& samples = timing.contenders[i + 1];
    const Contender& contender = contenders[i];
    const double ideal_ms = contender.active * dense_ms;
    nlohmann::ordered_json row = head;
    row.update(
        {{"policy", contender.policy->name},
         {"budget", contender.network->budget()},
         {"memory_mb", static_cast<double>(contender.network->state().memory().arena_bytes) / 1e6},
         {"active", contender.active},
         {"median_ms", samples.Median()},
         {"p10_ms", samples.Quantile(0.1)},
         {"p90_ms", samples.Quantile(0.9)},
         {"dense_ms", dense_ms},
         {"ideal_ms", ideal_ms},
         {"over_ideal_ms", samples.Median() - ideal_ms},
         {"allowed_ms", 1.1 * ideal_ms + 0.5}});
    report->AddRow(row);
  }
}

void MeasureNetwork(const fs::path& model, const BenchOptions& options, int threads,
                    BenchReport* report) {
  const auto graph = std::make_shared<const Graph>(
      LoadModel(model, LoadOptions{.input_shapes = options.input_shapes}));
  if (graph->inputs.size() != 1 || !graph->value(graph->inputs[0]).is_map()) {
    throw InputError(model.string() + ": not a network with one picture as its input");
  }
  const Shape& shape = graph->value(graph->inputs[0]).shape;
  std::mt19937 random(1);
  const Tensor picture = RandomPicture(shape, random);
  std::vector<TurningNetwork> networks;
  for (const double budget : options.budgets.empty() ? std::vector{1.0} : options.budgets) {
    networks.emplace_back(graph, threads, budget);
  }
  // Spreads of all values: smaller budgets keep some of them.
  TurningNetwork keeps_all(graph, threads, 1.0);
  keeps_all.state().SetInput(0, picture.view());
  keeps_all.state().Run();
  const auto spreads = std::make_shared<const InverseSpreads>(MeasureSpreads(keeps_all.state()));
  const std::vector<NamedPolicy> policies = {
      {"exact", {}},
      {"change", {.kind = ChangePolicy::Kind::kChange, .threshold = 0.1f, .spreads = spreads}},
      {"fixed", {.kind = ChangePolicy::Kind::kFixed}}};
  for (const double share : kShares) {
    const Mask mask = MiddleBlob(static_cast<int>(shape[2]), static_cast<int>(shape[3]), share);
    const Tensor changed = Changed(picture, mask, random);
    for (TurningNetwork& network : networks) network.Show(picture, changed, mask);
    MeasureShare(networks, policies, options,
                 {{"model", model.stem().string()}, {"threads", threads}, {"share", share}},
                 report);
  }
}

}  // namespace

void BenchChanges(const BenchOptions& options, BenchReport* report) {
  std::vector<fs::path> models = options.models;
  if (models.empty()) {
    models.push_back(SourceFolder() / "configs/models/demo_segmentation.onnx");
    for (const fs::path& file : FilesIn(SharedData("models"))) {
      if (file.stem().string().starts_with("yolov5n")) models.push_back(file);
    }
  }
  for (const fs::path& model : models) {
    for (const int threads : options.threads.empty() ? std::vector<int>{1} : options.threads) {
      PinToCores(threads);
      MeasureNetwork(model, options, threads, report);
    }
  }
}

}  // namespace cacheinf
