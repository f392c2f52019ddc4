#include "scheduler/schedule_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
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

namespace {

// Where the numbers of an axis lie, in pixels. REQUIRES: 0 < least <= most.
struct LogScale {
  double least = 1;
  double most = 1;
  double at_least = 0;  // the pixel
  double at_most = 0;

  double At(double number) const {
    const double decades = std::log10(most / least);
    return decades > 0 ? at_least + (at_most - at_least) * std::log10(number / least) / decades
                       : at_least;
  }

  // Its ends, and numbers that are 1, 2 or 5 times a power of ten and not too near to them.
  std::vector<double> Ticks() const {
    constexpr double kApart = 24;  // pixels
    std::vector<double> ticks = {least};
    if (std::abs(At(most) - At(least)) > kApart) ticks.push_back(most);
    for (double power = std::pow(10, std::floor(std::log10(least))); power < most; power *= 10) {
      for (const double step : {1, 2, 5}) {
        const double tick = power * step;
        const auto is_near = [&](double other) { return std::abs(At(tick) - At(other)) < kApart; };
        if (tick > least && tick < most && std::ranges::none_of(ticks, is_near)) {
          ticks.push_back(tick);
        }
      }
    }
    return ticks;
  }
};

std::string SvgText(double x, double y, const std::string& attributes, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, attributes, text);
}

// A panel's frame, and the numbers and units along it.
std::string AxesOf(const LogScale& mbit, const LogScale& ms) {
  constexpr const char* kCentred = "text-anchor=\"middle\"";
  std::string text = fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" "
      "stroke=\"#888\"/>\n",
      mbit.at_least, ms.at_most, mbit.at_most - mbit.at_least, ms.at_least - ms.at_most);
  for (const double tick : mbit.Ticks()) {
    text +=
        fmt::format("<path d=\"M{:.1f} {:.1f}v4\" stroke=\"#888\"/>\n", mbit.At(tick), ms.at_least);
    text += SvgText(mbit.At(tick), ms.at_least + 15, kCentred, fmt::format("{:.3g}", tick));
  }
  for (const double tick : ms.Ticks()) {
    text += fmt::format("<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"#ddd\"/>\n", mbit.at_least,
                        ms.At(tick), mbit.at_most);
    text += SvgText(mbit.at_least - 4, ms.At(tick) + 4, "text-anchor=\"end\"",
                    fmt::format("{:.3g}", tick));
  }
  text += SvgText((mbit.at_least + mbit.at_most) / 2, ms.at_least + 32, kCentred, "Mbit/s");
  return text + SvgText(mbit.at_least - 44, ms.at_most - 8, "", "ms a frame");
}

}  // namespace

std::string ToSvg(const Schedule& schedule, const std::vector<PlannerTimes>& planners) {
  constexpr double kPanel = 300;
  constexpr double kMargin = 60;
  static constexpr std::array<const char*, 7> kColours = {
      "#888888", "#1f77b4", "#ff7f0e", "#d62728", "#9467bd", "#2ca02c", "#000000"};
  // From the first bandwidth above 0.
  const size_t first = schedule.mbit[0] > 0 || schedule.mbit.size() == 1 ? 0 : 1;
  LogScale mbit = {.least = std::max(1e-3, schedule.mbit[first]),
                   .most = std::max(1e-3, schedule.mbit.back())};
  LogScale ms = {.least = INFINITY, .most = 0, .at_least = kMargin + kPanel, .at_most = kMargin};
  for (const PlannerTimes& times : planners) {
    ms.most = std::max(ms.most, *std::ranges::max_element(times.latency_ms));
    ms.least = std::min(ms.least, *std::ranges::min_element(times.latency_ms));
  }
  ms.least = std::max(1e-3, ms.least);
  ms.most = std::max(1e-3, ms.most);
  const std::set<size_t> shares = {0, schedule.robot_work.size() / 2,
                                   schedule.robot_work.size() - 1};
  const double width = static_cast<double>(shares.size()) * (kPanel + kMargin) + kMargin + 80;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width, kPanel + 2 * kMargin);
  mbit.at_most = 0;
  for (const size_t share : shares) {
    mbit.at_least = mbit.at_most + kMargin;
    mbit.at_most = mbit.at_least + kPanel;
    const size_t server = NearestTo(schedule.server_work, schedule.robot_work[share]);
    text += AxesOf(mbit, ms);
    text +=
        SvgText(mbit.at_least, kMargin - 24, "font-weight=\"bold\"",
                fmt::format("{:.3g} % of a dense frame's work", 100 * schedule.robot_work[share]));
    for (size_t i = 0; i < planners.size(); ++i) {
      std::string points;
      for (size_t at = first; at < schedule.mbit.size(); ++at) {
        points += fmt::format(
            "{:.1f},{:.1f} ", mbit.At(std::max(mbit.least, schedule.mbit[at])),
            ms.At(std::max(ms.least, planners[i].latency_ms[schedule.IndexOf(at, share, server)])));
      }
      text += fmt::format(
          "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n", points,
          kColours[i % kColours.size()]);
    }
  }
  const double left = mbit.at_most + 15;
  for (size_t i = 0; i < planners.size(); ++i) {
    const double y = kMargin + 10 + 18 * static_cast<double>(i);
    text += fmt::format("<path d=\"M{:.1f} {:.1f}h18\" stroke=\"{}\" stroke-width=\"3\"/>\n", left,
                        y - 4, kColours[i % kColours.size()]);
    text += SvgText(left + 23, y, "", planners[i].planner);
  }
  return text + "</svg>\n";
}

}  // namespace cacheinf
