#include "scheduler/schedule_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/base/json_fields.h"
#include "common/base/median.h"
#include "common/plan/cut_text.h"

namespace cacheinf {
namespace {

constexpr double kBytesOfKb = 1000;

// "D", "L", "R1", "S12", as in TableOf's legend.
std::string MarkOf(const Plan& plan, std::map<std::string, std::string>& marks) {
  const std::string text = ToText(plan);
  const auto known = marks.find(text);
  if (known != marks.end()) return known->second;
  static constexpr std::array<char, 3> kLetters = {'L', 'R', 'S'};
  const char letter = kLetters[static_cast<size_t>(plan.kind)];
  const auto same =
      std::ranges::count_if(marks, [&](const auto& mark) { return mark.second.front() == letter; });
  return marks[text] = fmt::format("{}{}", letter, same + 1);
}

// Returns the row or column of `axis` nearest to a value.
size_t NearestTo(const std::vector<double>& axis, double value) {
  const auto nearest =
      std::ranges::min_element(axis, {}, [&](double step) { return std::abs(step - value); });
  return static_cast<size_t>(nearest - axis.begin());
}

std::string BucketText(const Schedule& schedule, size_t bucket) {
  const Situation situation = schedule.SituationOf(bucket);
  return fmt::format("{:.6g},{:.6g},{:.6g}", situation.mbit_up, situation.robot_work,
                     situation.server_work);
}

}  // namespace

std::string TableOf(const Schedule& schedule) {
  std::string text = fmt::format(
      "{} by {}: milliseconds and plan, by Mbit/s (across) and the share of work, on both sides "
      "alike "
      "(down)\n{:>8}",
      schedule.model, schedule.planner, "");
  for (const double mbit : schedule.mbit) text += fmt::format("{:>13.4g}", mbit);
  text += "\n";
  std::map<std::string, std::string> marks;
  for (size_t robot = 0; robot < schedule.robot_work.size(); ++robot) {
    const double work = schedule.robot_work[robot];
    text += fmt::format("{:>7.3g}%", 100 * work);
    for (size_t mbit = 0; mbit < schedule.mbit.size(); ++mbit) {
      const size_t server = NearestTo(schedule.server_work, work);
      const Schedule::Bucket& bucket = schedule.buckets[schedule.IndexOf(mbit, robot, server)];
      text += bucket.is_solved
                  ? fmt::format("{:>9.1f} {:<3}", bucket.latency_ms, MarkOf(bucket.plan, marks))
                  : fmt::format("{:>13}", "?");
    }
    text += "\n";
  }
  std::vector<std::pair<std::string, std::string>> legend;
  for (const auto& [plan, mark] : marks) legend.emplace_back(mark, plan);
  std::ranges::sort(legend, {}, [](const auto& entry) {
    return std::pair(entry.first.front(), std::stoi(entry.first.substr(1)));
  });
  for (const auto& [mark, plan] : legend) text += fmt::format("{:>5}  {}\n", mark, plan);
  std::vector<Plan> plans;
  for (const Schedule::Bucket& bucket : schedule.buckets) {
    if (bucket.is_solved && marks.contains(ToText(bucket.plan))) plans.push_back(bucket.plan);
  }
  text += HowToFollow(plans, schedule.robot);
  for (const Profile* const profile : {&schedule.robot, &schedule.server}) {
    const std::string winograd = WinogradText(*profile);
    if (!winograd.empty()) text += fmt::format("{}: {}\n", NameOf(profile->side), winograd);
  }
  return text;
}

std::string ToText(const Timeline& timeline) {
  constexpr int kWidth = 50;
  double end_ms = 0;
  for (const Timeline::Piece& piece : timeline.pieces) end_ms = std::max(end_ms, piece.end_ms);
  std::vector<Timeline::Piece> pieces = timeline.pieces;
  std::ranges::stable_sort(pieces, {}, &Timeline::Piece::begin_ms);
  // Merge successive pieces on a lane into one line: a network has hundreds of operators.
  std::vector<Timeline::Piece> lines;
  std::map<Timeline::Lane, size_t> last;
  std::vector<std::string> last_names;
  for (const Timeline::Piece& piece : pieces) {
    const auto before = last.find(piece.lane);
    const bool is_operator = piece.name.find(' ') == std::string::npos;
    if (before != last.end() && is_operator && !last_names[before->second].empty() &&
        lines[before->second].end_ms >= piece.begin_ms - 1e-9 &&
        (piece.lane == Timeline::Lane::kRobot || piece.lane == Timeline::Lane::kServer)) {
      lines[before->second].end_ms = piece.end_ms;
      last_names[before->second] = piece.name;
      continue;
    }
    last[piece.lane] = lines.size();
    lines.push_back(piece);
    last_names.push_back(is_operator ? piece.name : "");
  }
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    const Timeline::Piece& line = lines[i];
    const int begin = end_ms > 0 ? static_cast<int>(kWidth * line.begin_ms / end_ms) : 0;
    const int size =
        end_ms > 0 ? std::max(1, static_cast<int>(std::ceil(kWidth * line.end_ms / end_ms)) - begin)
                   : 1;
    const bool is_many = !last_names[i].empty() && last_names[i] != line.name;
    text += fmt::format("{:<6} {:>8.2f} {:>8.2f} |{}{}{}| {}\n", NameOf(line.lane), line.begin_ms,
                        line.end_ms, std::string(static_cast<size_t>(begin), ' '),
                        std::string(static_cast<size_t>(size), '='),
                        std::string(static_cast<size_t>(std::max(0, kWidth - begin - size)), ' '),
                        is_many ? line.name + " … " + last_names[i] : line.name);
  }
  return text;
}

std::string ToTraceJson(const Timeline& timeline) {
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  const auto lanes = WordsOf(Timeline::Lane());
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    events.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", 1},
                      {"tid", lane + 1},
                      {"args", {{"name", lanes[lane]}}}});
  }
  for (const Timeline::Piece& piece : timeline.pieces) {
    events.push_back({{"name", piece.name},
                      {"ph", "X"},
                      {"pid", 1},
                      {"tid", static_cast<size_t>(piece.lane) + 1},
                      {"ts", 1000 * piece.begin_ms},
                      {"dur", 1000 * (piece.end_ms - piece.begin_ms)}});
  }
  const nlohmann::ordered_json trace = {{"traceEvents", std::move(events)},
                                        {"displayTimeUnit", "ms"}};
  return TextOf(trace, 1) + "\n";
}

std::string HowToFollow(const std::vector<Plan>& plans, const Profile& profile) {
  std::string text = "cacheinf-robot run --server … follows\n";
  std::vector<Plan> told;
  for (const Plan& plan : plans) {
    if (std::ranges::find(told, plan) != told.end()) continue;
    told.push_back(plan);
    text += fmt::format("  {} with {}\n", ToText(plan), ToOptions(plan, profile));
  }
  return text;
}

std::string Explain(const CostModel& model, std::vector<PlannedBy> plans) {
  std::ranges::stable_sort(plans, {},
                           [&](const PlannedBy& planned) { return model.Ms(planned.plan); });
  std::string text =
      fmt::format("{:<10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8}  {}\n", "planner", "ms",
                  "robot ms", "server ms", "link ms", "up kB", "down kB", "J", "plan");
  for (const PlannedBy& planned : plans) {
    const Prediction prediction = model.Predict(planned.plan);
    text +=
        fmt::format("{:<10} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.1f} {:>9.1f} {:>8.3f}  {}\n",
                    planned.planner, prediction.latency_ms, prediction.robot_ms,
                    prediction.server_ms, prediction.link_ms, prediction.up_bytes / kBytesOfKb,
                    prediction.down_bytes / kBytesOfKb, prediction.energy_j, ToText(planned.plan));
  }
  const Plan& best = plans.front().plan;
  const auto other =
      std::ranges::find_if(plans, [&](const PlannedBy& planned) { return planned.plan != best; });
  std::vector<Plan> all;
  for (const PlannedBy& planned : plans) all.push_back(planned.plan);
  const std::string how = HowToFollow(all, model.robot());
  if (!model.is_linked()) return text + "There is no link, so the robot computes alone.\n" + how;
  if (other == plans.end()) return text + "All planners make this plan.\n" + how;
  const Prediction mine = model.Predict(best);
  const Prediction theirs = model.Predict(other->plan);
  return text +
         fmt::format(
             "{} wins by {:.1f} % over {}, the next other plan: {:+.1f} ms on the robot, "
             "{:+.1f} ms "
             "on the server, {:+.1f} ms on the link.\n",
             ToText(best), 100 * (1 - mine.latency_ms / theirs.latency_ms), ToText(other->plan),
             mine.robot_ms - theirs.robot_ms, mine.server_ms - theirs.server_ms,
             mine.link_ms - theirs.link_ms) +
         how;
}

std::string ToCsv(const Schedule& schedule, const std::vector<PlannerTimes>& planners) {
  std::string text = "mbit,robot_work,server_work,planner,latency_ms,energy_j,plan\n";
  for (size_t bucket = 0; bucket < schedule.buckets.size(); ++bucket) {
    for (const PlannerTimes& times : planners) {
      text += fmt::format("{},{},{:.6g},{:.6g},\"{}\"\n", BucketText(schedule, bucket),
                          times.planner, times.latency_ms[bucket], times.energy_j[bucket],
                          ToText(times.plans[bucket]));
    }
  }
  return text;
}

std::string SummaryOf(const std::vector<PlannerTimes>& planners) {
  std::string text =
      fmt::format("{:<10} {:>8} {:>8} {:>8}  of {}'s latency; buckets where as good\n", "planner",
                  "median", "least", "most", planners.back().planner);
  for (const PlannerTimes& times : planners) {
    std::vector<double> ratios;
    for (size_t i = 0; i < times.latency_ms.size(); ++i) {
      ratios.push_back(times.latency_ms[i] / planners.back().latency_ms[i]);
    }
    const auto as_good =
        std::ranges::count_if(ratios, [](double ratio) { return ratio < 1 + 1e-9; });
    text += fmt::format("{:<10} {:>8.3f} {:>8.3f} {:>8.3f}  {} of {}\n", times.planner,
                        MedianOf(ratios), *std::ranges::min_element(ratios),
                        *std::ranges::max_element(ratios), as_good, ratios.size());
  }
  return text;
}

}  // namespace cacheinf
