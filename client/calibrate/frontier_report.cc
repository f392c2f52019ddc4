#include "client/calibrate/frontier_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "client/calibrate/cache_settings.h"

namespace cacheinf {
namespace {

std::string Percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string Agreement(const ClipScore& score) {
  return score.agreement ? fmt::format("{:.4f}", *score.agreement) : "-";
}

std::string TableRow(const std::string& mark, const ClipScore& score,
                     const std::optional<ClipScore>& held_out, const std::string& settings) {
  return fmt::format("{:1} {:>8}  {:>9}  {:>8}  {:>9}  {:>7.2f}  {:>5.2f}  {}\n", mark,
                     Percent(score.work), Agreement(score),
                     held_out ? Percent(held_out->work) : "-",
                     held_out ? Agreement(*held_out) : "-", score.latency, score.time, settings);
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
  std::string text = fmt::format("  {:>8}  {:>9}  {:>8}  {:>9}  {:>7}  {:>5}  settings\n", "work",
                                 "agreement", "held out", "agreement", "latency", "time");
  for (const FrontierPoint& point : report.frontier) {
    text += TableRow(point.is_chosen ? "*" : "", point.chosen_by, point.held_out,
                     DescribeCacheSettings(point.config));
  }
  for (const FrontierRival& rival : report.rivals) {
    text += TableRow("", rival.chosen_by, rival.held_out, rival.name + ", nothing kept");
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
  const auto commas = static_cast<size_t>(std::count(header.begin(), header.end(), ','));
  for (const FrontierRival& rival : report.rivals) {
    text += fmt::format("{},{},{}\n", rival.name, CsvScores(rival.chosen_by, rival.held_out),
                        std::string(commas, ','));
  }
  return text;
}

}  // namespace cacheinf
