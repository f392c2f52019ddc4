#include "tests/bench/mode_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "tests/bench/planning.h"

namespace cacheinf {
namespace {

constexpr size_t kAnswersForP95 = 40;
constexpr double kUsualDeadlineMs = 100;

// Agreement of what is in hand at each deadline; if the mode has its own deadline, null for all
// others. Our late answers are moved: by a robot with a deadline as it can, else at no cost.
void AddOnTime(const Subject& subject, const Mode& mode, const Cell& cell,
               nlohmann::ordered_json* row) {
  const bool is_repeated = mode.is_plain_video || mode.every > 1;
  const bool is_known = subject.model->has_answers && (*row)["agreement"].is_number();
  for (const double deadline_ms : kDeadlinesMs) {
    nlohmann::ordered_json& on_time = (*row)[OnTimeKey(deadline_ms)];
    on_time = nullptr;
    if (!is_known || (IsOnTime(mode) && mode.config.deadline_ms != deadline_ms)) continue;
    if (cell.handed_out) {
      const auto in_hand = InHand(*cell.handed_out, kScored, deadline_ms);
      on_time = NumberOrNull(OnTime(in_hand, kScored, subject.dense));
      continue;
    }
    const Mover mover = is_repeated || !subject.motion ? Mover() : subject.motion->mover();
    std::vector<std::vector<CameraAnswer>> courses = cell.later;
    courses.push_back(cell.answers);
    double sum = 0;
    bool is_any = false;
    for (const auto& answers : courses) {
      const auto course =
          OnTime(InHand(answers, kScored, deadline_ms, mover), kScored, subject.dense);
      is_any = is_any || course.has_value();
      sum += course.value_or(0);
    }
    if (is_any) on_time = sum / static_cast<double>(courses.size());
  }
}

// The plan and what its profile predicts. For cacheinf, the plan that it took most often, and what
// it predicted for its frames.
void AddPlan(const Subject& subject, const Mode& mode, const Cell& cell,
             nlohmann::ordered_json* row) {
  (*row)["plan"] = (*row)["predicted_ms"] = (*row)["work"] = nullptr;
  const auto planning = subject.planning.find(cell.speedup);
  if (planning == subject.planning.end()) return;
  const std::optional<Plan>& plan = mode.plan;
  if (mode.config.mode == RobotConfig::Mode::kCacheinf) {
    std::map<std::string, int> taken;
    for (const CameraAnswer& answer : cell.answers) ++taken[answer.cost.plan];
    const auto most =
        std::ranges::max_element(taken, {}, &std::map<std::string, int>::value_type::second);
    (*row)["plan"] = most->first;
    (*row)["work"] = subject.work;
    Samples predicted;
    for (const CameraAnswer& answer : cell.answers) {
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
  const std::vector<CameraAnswer>& answers = cell.answers;
  Samples latencies;
  std::vector<CameraAnswer> computed;  // their times show what a plan takes
  ContentAgreement agreement;
  for (const CameraAnswer& answer : answers) {
    if (!answer.cost.is_moved) {
      latencies.ms.push_back(answer.latency_ms());
      computed.push_back(answer);
    }
    const size_t shown = FrameOfClip(answer.captured, subject.dense.size());
    agreement.Add(*answer.cost.content, *subject.dense[shown]);
  }
  const auto median = [&](double FrameCost::*part) {
    Samples samples;
    for (const CameraAnswer& answer : computed) samples.ms.push_back(answer.cost.*part);
    return samples.Median();
  };
  const auto mean = [&](double FrameCost::*part) {
    double sum = 0;
    for (const CameraAnswer& answer : answers) sum += answer.cost.*part;
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
      {"p95_ms", answers.size() >= kAnswersForP95 ? Json(latencies.Quantile(0.95)) : Json()},
      {"bytes", mean(&FrameCost::bytes_to_server) + mean(&FrameCost::bytes_to_robot)},
      {"robot_ms", median(&FrameCost::robot_ms)},
      {"server_ms", median(&FrameCost::server_ms)},
      {"link_ms", median(&FrameCost::link_ms)},
      {"active_robot", mean(&FrameCost::robot_work)},
      {"active_server", mean(&FrameCost::server_work)},
      {"agreement", NumberOrNull(agreement.value())},
      {"deadline_ms", IsOnTime(mode) ? Json(mode.config.deadline_ms) : Json()},
      {"late", Late(answers, IsOnTime(mode) ? mode.config.deadline_ms : kUsualDeadlineMs)}};
  const bool is_predicted = cell.measured == "predicted";
  // Keeping results changes answers, and only frames show by how much.
  const bool is_unknown = is_predicted && (!mode.plan || mode.plan->keeps);
  if (!subject.model->has_answers || is_unknown) row["agreement"] = nullptr;
  AddOnTime(subject, mode, cell, &row);
  AddPlan(subject, mode, cell, &row);
  row["why"] = cell.why;
  row["again_ms"] = cell.again_ms ? Json(*cell.again_ms) : Json();
  if (is_predicted) row["active_robot"] = row["active_server"] = nullptr;
  checks_.Add(row);
  report_->AddRow(std::move(row));
}

}  // namespace cacheinf
