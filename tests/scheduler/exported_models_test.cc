// Whether a schedule keeps its promises on real networks: the demo's, and those in ../shared.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/exec/compiled_model.h"
#include "common/exec/cpu_backend.h"
#include "common/exec/model_state.h"
#include "common/model/load.h"
#include "common/plan/profiled_graph.h"
#include "scheduler/planner.h"
#include "scheduler/schedule_solver.h"
#include "tests/plan/profiles.h"
#include "tests/testing/places.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> ExportedFiles() {
  std::vector<fs::path> files = {SourceFolder() / "configs/models/demo_segmentation.onnx"};
  const fs::path folder = SharedData("models");
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".onnx") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

// A robot of 2 * 10^9 multiply-adds a second, and 20 µs more for every operator.
ProfilePair ProfilesOf(const fs::path& file) {
  LoadOptions options;
  if (file.stem() == "demo_segmentation") options.input_shapes = {{1, 3, 240, 320}};
  const auto graph = std::make_shared<const Graph>(LoadModel(file, options));
  const auto model = std::make_shared<const CompiledModel>(graph, std::make_unique<CpuBackend>());
  const ModelState state(model, {.persistent = {}, .keep = Keep::kAll});
  std::vector<ProfiledOperator> operators = DescribeOperators(*graph, state.layout());
  for (size_t id = 0; id < operators.size(); ++id) {
    const auto work = static_cast<double>(model->facts(static_cast<OpId>(id)).multiply_adds);
    SetCosts(operators[id], 0.02 + work / 2e6);
  }
  const Shape& picture = graph->value(graph->inputs[0]).shape;
  return PairOf(std::move(operators), /*speedup=*/8, static_cast<double>(ElementCount(picture)));
}

Schedule SolvedBy(const std::string& planner, const ProfilePair& pair) {
  Schedule schedule = MakeSchedule(pair.robot, pair.server, /*bandwidths=*/5, /*shares=*/3);
  schedule.planner = planner;
  schedule.round_trip_ms = 4;
  SolverOptions options;
  options.threads = 2;
  EXPECT_TRUE(SolveSchedule(pair.robot, pair.server, options, schedule));
  return schedule;
}

TEST(SlowSchedule, NoBaselineIsBetterInAnySituationOfAnExportedModel) {
  for (const fs::path& file : ExportedFiles()) {
    SCOPED_TRACE(file.stem().string());
    const ProfilePair pair = ProfilesOf(file);
    const Schedule schedule = SolvedBy("cacheinf", pair);
    ASSERT_EQ(schedule.buckets.size(), 45U);
    std::vector<double> least(schedule.buckets.size(), INFINITY);
    for (const char* const planner : {"local", "remote", "ds", "ds-c", "hp"}) {
      const Schedule baseline = SolvedBy(planner, pair);
      for (size_t i = 0; i < schedule.buckets.size(); ++i) {
        const double ms = baseline.buckets[i].latency_ms;
        EXPECT_LE(schedule.buckets[i].latency_ms, ms)
            << planner << ", situation " << i << ": " << ToText(baseline.buckets[i].plan);
        least[i] = std::min(least[i], ms);
      }
    }
    int better = 0;
    for (size_t i = 0; i < least.size(); ++i) {
      better += schedule.buckets[i].latency_ms < 0.99 * least[i] ? 1 : 0;
    }
    std::cout << file.stem().string() << ": more than 1 % better than all baselines in " << better
              << " of " << least.size() << " situations\n";
  }
}

}  // namespace
}  // namespace cacheinf
