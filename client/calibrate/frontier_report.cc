#include "client/calibrate/frontier_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "client/calibrate/cache_settings.h"

namespace cacheinf {
namespace {

std::string Percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string AgreementOf(const ClipScore& score) {
  return score.agreement ? fmt::format("{:.4f}", *score.agreement) : "-";
}

std::string Times(double time) { return fmt::format("{:.2f} x", time); }

double CostOf(const FrontierReport& report, const ClipScore& score) {
  return report.is_by_time ? score.time : score.work;
}

struct Row {
  double cost = 0;
  std::string text;
};

Row RowOf(const FrontierReport& report, const FrontierPoint& point) {
  const auto& held_out = point.held_out;
  return {
      CostOf(report, point.chosen_by),
      fmt::format("{:1} {:>8}  {:>8}  {:>8}  {:>8}  {:>8}  {:>8}  {}\n", point.is_chosen ? "*" : "",
                  Percent(point.chosen_by.work), AgreementOf(point.chosen_by),
                  held_out ? Percent(held_out->work) : "-", held_out ? AgreementOf(*held_out) : "-",
                  point.has_times ? Times(point.chosen_by.latency) : "-",
                  point.has_times ? Times(point.chosen_by.time) : "-",
                  DescribeCacheSettings(point.config))};
}

Row RowOf(const FrontierReport& report, const FrontierRival& rival) {
  return {CostOf(report, rival.chosen_by),
          fmt::format("  {:>8}  {:>8}  {:>8}  {:>8}  {:>8}  {:>8}  {}\n",
                      Percent(rival.chosen_by.work), AgreementOf(rival.chosen_by),
                      Percent(rival.held_out.work), AgreementOf(rival.held_out),
                      Times(rival.chosen_by.latency), Times(rival.chosen_by.time), rival.options)};
}

// The cheapest that reaches the target by moving answers; null if none does.
const FrontierRival* BestTracking(const FrontierReport& report) {
  const FrontierRival* best = nullptr;
  for (const FrontierRival& rival : report.rivals) {
    const double cost = CostOf(report, rival.chosen_by);
    if (!rival.name.starts_with("track-") || cost >= 1) continue;
    if (rival.chosen_by.agreement < report.target) continue;
    if (best == nullptr || cost < CostOf(report, best->chosen_by)) best = &rival;
  }
  return best;
}

// "F1 0.9612 for 37.0 % of a dense run's work".
std::string Bargain(const FrontierReport& report, const ClipScore& score) {
  return fmt::format("{} {} for {} of a dense run's {}", report.measure, AgreementOf(score),
                     Percent(CostOf(report, score)), report.is_by_time ? "time" : "work");
}

std::string CsvScore(const ClipScore& score) {
  const std::string agreement = score.agreement ? fmt::format("{:.5f}", *score.agreement) : "";
  return fmt::format("{:.5f},{},{:.5f},{:.5f}", score.work, agreement, score.latency, score.time);
}

std::string CsvScores(const ClipScore& score, const std::optional<ClipScore>& held_out) {
  return CsvScore(score) + "," + (held_out ? CsvScore(*held_out) : ",,,");
}

}  // namespace

std::string ToTable(const FrontierReport& report) {
  std::vector<Row> rows;
  for (const FrontierPoint& point : report.frontier) rows.push_back(RowOf(report, point));
  for (const FrontierRival& rival : report.rivals) rows.push_back(RowOf(report, rival));
  std::ranges::stable_sort(rows, [](const Row& a, const Row& b) { return a.cost < b.cost; });
  std::string text = fmt::format(
      "  {:^18}  {:^18}  {:^18}\n  {:>8}  {:>8}  {:>8}  {:>8}  {:>8}  {:>8}  settings\n",
      "frames that choose", "held-out frames", "frames that choose", "work", report.measure, "work",
      report.measure, "latency", "time");
  for (const Row& row : rows) text += row.text;
  return text + fmt::format(
                    "\nranked by {}; * is written\n"
                    "work     multiply-adds of answers and refreshes, as a share of dense runs'\n"
                    "{:8} agreement with dense answers, 1 at best\n"
                    "latency  median wait for an answer, in dense runs of {:.1f} ms\n"
                    "time     mean of an answer and the refresh after it, likewise\n"
                    "-        was not measured, or had nothing to compare\n",
                    report.is_by_time ? "time" : "work", report.measure, report.dense_ms);
}

std::string Advice(const FrontierReport& report) {
  const auto chosen = std::ranges::find_if(
      report.frontier, [](const FrontierPoint& point) { return point.is_chosen; });
  const ClipScore& score = chosen->chosen_by;
  const FrontierRival* const tracking = BestTracking(report);
  const bool tracks_for_less =
      tracking != nullptr &&
      (!report.is_reached || CostOf(report, tracking->chosen_by) < CostOf(report, score));
  std::string text;
  if (tracks_for_less) {
    text += fmt::format("tracking is the better choice on this clip: {} reaches {}",
                        tracking->options, Bargain(report, tracking->chosen_by));
    text += report.is_reached
                ? fmt::format(
                      ", mode cache {}; mode cache is written all the same, because no "
                      "guard watches over moved answers\n",
                      Bargain(report, score))
                : fmt::format(
                      "\nmode cache is not: no settings reach {} {} for less than dense "
                      "runs, so mode dense is written, with the safest of them\n",
                      report.measure, report.target);
  } else if (!report.is_reached) {
    text += fmt::format(
        "dense runs are the better choice: no settings of mode cache reach {} {} for less, so mode "
        "dense is written, with the safest of them\n",
        report.measure, report.target);
  } else {
    text +=
        fmt::format("mode cache is the better choice: {}; tracking {}\n", Bargain(report, score),
                    tracking == nullptr ? "does not reach the target for less than dense runs"
                                        : "reaches " + Bargain(report, tracking->chosen_by));
  }
  if (report.is_reached && !report.is_by_time && chosen->has_times && score.time >= 1) {
    text += fmt::format(
        "by time dense runs are the better choice: a frame and its refresh take {:.2f} times as "
        "long here; --by time looks for settings that take less\n",
        score.time);
  }
  if (!report.is_reached || !chosen->held_out) return text;
  if (!chosen->held_out->agreement) {
    text += "the held-out frames show nothing to compare, so nothing says that the choice holds\n";
  } else if (chosen->held_out->agreement < report.target) {
    text += fmt::format(
        "the chosen settings fall short on the held-out frames: {:.4f} instead of {}; more frames "
        "or a higher --agreement are safer\n",
        *chosen->held_out->agreement, report.target);
  }
  return text;
}

std::string ToCsv(const FrontierReport& report) {
  std::string text = fmt::format(
      "name,work,agreement,latency,time,held_out_work,held_out_agreement,held_out_latency,"
      "held_out_time,{}\n",
      CacheSettingsHeader());
  for (const FrontierPoint& point : report.frontier) {
    text += fmt::format("{},{},{}\n", point.is_chosen ? "chosen" : "frontier",
                        CsvScores(point.chosen_by, point.held_out), CacheSettingsRow(point.config));
  }
  const std::string header = CacheSettingsHeader();
  const auto commas = static_cast<size_t>(std::ranges::count(header, ','));
  for (const FrontierRival& rival : report.rivals) {
    text += fmt::format("{},{},{}\n", rival.name, CsvScores(rival.chosen_by, rival.held_out),
                        std::string(commas, ','));
  }
  return text;
}

}  // namespace cacheinf
