#include "tests/bench/mode_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "tests/bench/planning.h"

namespace cacheinf {
namespace {

constexpr double kDeadlineMs = 100;

// The plan and what its profile predicts. For cacheinf, the plan that it took most often, and what
// it predicted for its frames.
void AddPlan(const Subject& subject, const Mode& mode, const Cell& cell,
             nlohmann::ordered_json* row) {
  (*row)["plan"] = (*row)["predicted_ms"] = (*row)["work"] = nullptr;
  const auto planning = subject.planning.find(cell.speedup);
  if (planning == subject.planning.end()) return;
  const std::optional<Plan>& plan = mode.plan;
  if (mode.name == "cacheinf") {
    std::map<std::string, int> taken;
    for (const AnsweredFrame& answer : cell.answers) ++taken[answer.cost.plan];
    const auto most =
        std::ranges::max_element(taken, {}, &std::map<std::string, int>::value_type::second);
    (*row)["plan"] = most->first;
    (*row)["work"] = subject.work;
    Samples predicted;
    for (const AnsweredFrame& answer : cell.answers) {
      if (answer.cost.predicted_ms) predicted.ms.push_back(*answer.cost.predicted_ms);
    }
    if (!predicted.ms.empty()) (*row)["predicted_ms"] = predicted.Median();
    return;
  }
  if (!plan) return;
  (*row)["plan"] = ToText(*plan);
  const Situation situation = Planning::SituationOf(cell.mbit.value_or(0), subject.work);
  (*row)["predicted_ms"] = planning->second->Predict(*plan, situation).latency_ms;
  (*row)["work"] = subject.work;
}

}  // namespace

void ModeTable::Add(const Subject& subject, const Mode& mode, const Cell& cell) {
  using Json = nlohmann::ordered_json;
  const std::vector<AnsweredFrame>& answers = cell.answers;
  Samples latencies;
  ContentAgreement agreement;
  for (const AnsweredFrame& answer : answers) {
    latencies.ms.push_back(answer.latency_ms());
    const size_t shown = FrameOfClip(answer.captured, subject.dense.size());
    agreement.Add(*answer.cost.content, *subject.dense[shown]);
  }
  const auto median = [&](double FrameCost::*part) {
    Samples samples;
    for (const AnsweredFrame& answer : answers) samples.ms.push_back(answer.cost.*part);
    return samples.Median();
  };
  const auto mean = [&](double FrameCost::*part) {
    double sum = 0;
    for (const AnsweredFrame& answer : answers) sum += answer.cost.*part;
    return sum / static_cast<double>(answers.size());
  };
  Json row = {
      {"model", subject.model->name},
      {"clip", subject.clip},
      {"mode", mode.every > 1 ? fmt::format("every-{}", mode.every) : mode.name},
      {"mbit", cell.mbit ? Json(*cell.mbit) : Json()},
      {"speedup", cell.speedup},
      {"measured", cell.measured},
      {"median_ms", latencies.Median()},
      {"p95_ms", answers.size() >= kAnswersOfACell ? Json(latencies.Quantile(0.95)) : Json()},
      {"bytes", mean(&FrameCost::bytes_to_server) + mean(&FrameCost::bytes_to_robot)},
      {"robot_ms", median(&FrameCost::robot_ms)},
      {"server_ms", median(&FrameCost::server_ms)},
      {"link_ms", median(&FrameCost::link_ms)},
      {"active_robot", mean(&FrameCost::robot_work)},
      {"active_server", mean(&FrameCost::server_work)},
      {"agreement", NumberOrNull(agreement.value())},
      {"on_time", NumberOrNull(OnTime(answers, subject.dense, kDeadlineMs))},
      {"late", Late(answers, kDeadlineMs)}};
  if (!subject.model->has_answers) row["agreement"] = row["on_time"] = nullptr;
  AddPlan(subject, mode, cell, &row);
  row["why"] = cell.why;
  row["again_ms"] = cell.again_ms ? Json(*cell.again_ms) : Json();
  if (cell.measured == "predicted") {
    row["active_robot"] = row["active_server"] = nullptr;
    // Keeping results changes answers, and only frames show by how much.
    if (!mode.plan || mode.plan->keeps) row["agreement"] = row["on_time"] = nullptr;
  }
  checks_.Add(row);
  report_->AddRow(std::move(row));
}

}  // namespace cacheinf
