#include "tests/bench/mode_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/bench/timing.h"

namespace cacheinf {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kAsFast = 1.0;
constexpr double kFasterByCache = 0.9;
constexpr double kLittleWork = 0.5;
constexpr double kLittleMore = 1.05;
constexpr size_t kExplained = 20;  // cells
constexpr size_t kBestCells = 10;
constexpr char kAgainServerMs[] = "again_server_ms";

struct Cell {
  std::string model;
  std::string clip;
  double mbit = 0;  // 0: there is no link
  double speedup = 1;

  bool operator<(const Cell& other) const {
    return std::tie(model, clip, mbit, speedup) <
           std::tie(other.model, other.clip, other.mbit, other.speedup);
  }
};

Cell CellOf(const Json& row) {
  return {row["model"], row["clip"], row["mbit"].is_null() ? 0.0 : row["mbit"].get<double>(),
          row["speedup"]};
}

std::string TextOf(const Cell& cell) {
  const std::string link = cell.mbit > 0 ? fmt::format("{:g} Mbit/s, ", cell.mbit) : "";
  return fmt::format("{}, {}, {}{:g}×", cell.model, cell.clip, link, cell.speedup);
}

using ByMode = std::map<std::string, Json>;
using ByCell = std::map<Cell, ByMode>;

double Number(const ByMode& modes, const std::string& mode, const char* key) {
  return modes.at(mode).at(key).get<double>();
}

// A ratio over many cells that should not exceed `most`.
class Ratios {
 public:
  Ratios(std::string what, double most) : what_(std::move(what)), most_(most) {}

  void Add(double ratio, const std::string& where) {
    samples_.ms.push_back(ratio);
    if (ratio > most_) ++above_;
    if (ratio >= worst_) std::tie(worst_, where_) = std::pair(ratio, where);
  }

  // How far the worst is beyond its bound.
  double excess() const { return samples_.ms.empty() ? 0 : worst_ / most_; }

  std::string text() const {
    if (samples_.ms.empty()) return what_ + ": no cells";
    return fmt::format(
        "{}: {:.2f} at worst ({}), {:.2f} in the median, above {:g} in {} of {} cells ({:.1f} %)",
        what_, worst_, where_, samples_.Median(), most_, above_, samples_.ms.size(),
        100.0 * above_ / static_cast<double>(samples_.ms.size()));
  }

 private:
  std::string what_;
  double most_;
  Samples samples_;
  double worst_ = 0;
  std::string where_;
  int above_ = 0;
};

// Puts the modes without a link into every cell with one.
ByCell WithLocalModes(const ByCell& cells) {
  ByCell all;
  for (const auto& [cell, modes] : cells) {
    if (cell.mbit == 0) continue;
    ByMode& joined = all[cell];
    joined = modes;
    Cell local = cell;
    local.mbit = 0;
    if (const auto found = cells.find(local); found != cells.end()) {
      joined.insert(found->second.begin(), found->second.end());
    }
  }
  return all;
}

// Rows of planners that CacheInf is compared with.
bool IsBaseline(const std::string& mode) { return mode == "ds" || mode == "ds-c" || mode == "hp"; }

// Without the time that a frame waited for the robot.
double WorkMs(const Json& row) {
  return row["robot_ms"].get<double>() + row["server_ms"].get<double>() +
         row["link_ms"].get<double>();
}

// Relative to what a plan took.
std::string PlanText(const Json& row) {
  std::string text = row["mode"];
  if (!row["plan"].is_null()) text += fmt::format(" ({})", row["plan"].get<std::string>());
  if (!row["predicted_ms"].is_null()) {
    text += fmt::format(", predicted {:.1f} ms,", row["predicted_ms"].get<double>());
  }
  return text + fmt::format(" took {:.1f} ms ({:.1f} from when it was taken up)",
                            row["median_ms"].get<double>(), WorkMs(row));
}

// If nobody knows, all but those known to be worse.
bool IsAsGood(const std::string& mode, const Json& other, const Json& chosen) {
  if (other["agreement"].is_null() || chosen["agreement"].is_null()) {
    return mode != "every-k" && mode != "small-local";
  }
  return other["agreement"] >= chosen["agreement"];
}

// Over both repetitions, if there are two.
double MeanOf(const Json& row, const char* key, const char* again) {
  const double ms = row[key];
  const auto repeated = row.find(again);
  const bool is_repeated = repeated != row.end() && !repeated->is_null();
  return is_repeated ? (ms + repeated->get<double>()) / 2 : ms;
}

double MedianMs(const Json& row) { return MeanOf(row, "median_ms", "again_ms"); }
double ServerMs(const Json& row) { return MeanOf(row, "server_ms", kAgainServerMs); }

double SpreadMs(const Json& row) {
  if (row["again_ms"].is_null()) return 0;
  return std::abs(row["median_ms"].get<double>() - row["again_ms"].get<double>());
}

// The quickest measured mode with at least cacheinf's agreement; null if there is none, or cacheinf
// itself is only predicted. (Half of every-k's answers take no time.)
const Json* BestOther(const ByMode& modes) {
  const auto chosen = modes.find("cacheinf");
  if (chosen == modes.end() || chosen->second["measured"] == "predicted") return nullptr;
  const Json* best = nullptr;
  for (const auto& [mode, other] : modes) {
    if (mode == "cacheinf" || mode == "every-k" || other["measured"] == "predicted") continue;
    if (!IsAsGood(mode, other, chosen->second)) continue;
    if (best == nullptr || MedianMs(other) < MedianMs(*best)) best = &other;
  }
  return best;
}

// The codecs with which a caching server does little of the work.
std::vector<std::string> CodecsOfLittleWork(const ByMode& modes) {
  std::vector<std::string> codecs;
  for (const std::string codec : {"remote-raw", "remote-jpeg", "remote-video"}) {
    if (!modes.contains(codec + "/dense") || !modes.contains(codec + "/cache")) continue;
    if (Number(modes, codec + "/cache", "active_server") <= kLittleWork) codecs.push_back(codec);
  }
  return codecs;
}

// Nothing if a mode is missing.
std::optional<double> VideoRatio(const ByMode& modes) {
  if (!modes.contains("plain-video") || !modes.contains("remote-video/dense")) return {};
  return MedianMs(modes.at("remote-video/dense")) / MedianMs(modes.at("plain-video"));
}

double CachedRatio(const ByMode& modes, const std::string& codec) {
  return ServerMs(modes.at(codec + "/cache")) / ServerMs(modes.at(codec + "/dense"));
}

// What was chosen in every cell, beside what could have been.
class ChoiceChecks {
 public:
  explicit ChoiceChecks(std::string measured) : measured_(std::move(measured)) {}

  void Add(const std::string& where, const ByMode& modes) {
    const auto chosen = modes.find("cacheinf");
    if (chosen == modes.end()) return;
    const Json& row = chosen->second;
    const double chosen_ms = MedianMs(row);
    AddGains(modes, chosen_ms);
    if (!row["predicted_ms"].is_null() && row["measured"] != "predicted") {
      own_errors_.ms.push_back(std::abs(row["predicted_ms"].get<double>() / WorkMs(row) - 1));
    }
    for (const auto& [mode, other] : modes) {
      if (!other["predicted_ms"].is_null() && other["measured"] != "predicted" &&
          !IsBaseline(mode) && mode != "cacheinf") {
        errors_.ms.push_back(std::abs(other["predicted_ms"].get<double>() / WorkMs(other) - 1));
      }
    }
    if (row["measured"] == "predicted") return;
    const auto every = modes.find("every-k");
    if (every != modes.end() && IsAsGood("every-k", every->second, row)) {
      ++every_;
      if (MedianMs(every->second) * kLittleMore < chosen_ms) ++every_wins_;
    }
    const Json* const best = BestOther(modes);
    if (best == nullptr) return;
    const double ratio = chosen_ms / MedianMs(*best);
    ratios_.Add(ratio, where);
    work_.Add(WorkMs(row) / WorkMs(*best), where);
    if (ratio <= kLittleMore) return;
    const double spread_ms = std::max(SpreadMs(row), SpreadMs(*best));
    const bool is_spread = chosen_ms - MedianMs(*best) <= spread_ms;
    within_spread_ += is_spread ? 1 : 0;
    std::string why = row["why"];
    if (!why.empty()) why = "; it said: " + why;
    explained_.emplace_back(
        ratio, fmt::format("{}, {}: {:.2f}{}: {}; {}{}", where, measured_, ratio,
                           is_spread ? " (within two repetitions' spread)" : "", PlanText(row),
                           PlanText(*best), why));
  }

  void AddTo(BenchReport* report) {
    report->AddNote(ratios_.text() + (within_spread_ == 0
                                          ? ""
                                          : fmt::format(", {} of which within two repetitions' "
                                                        "spread",
                                                        within_spread_)));
    report->AddNote(work_.text());
    if (every_ > 0) {
      report->AddNote(
          fmt::format("every-k, whose repeated answers take no time, has cacheinf's agreement in "
                      "{} cells ({}), and less median_ms in {} of them",
                      every_, measured_, every_wins_));
    }
    std::sort(explained_.rbegin(), explained_.rend());
    for (size_t i = 0; i < std::min(kExplained, explained_.size()); ++i) {
      report->AddNote(explained_[i].second);
    }
    for (auto& [mode, gains] : gains_) {
      std::sort(gains.ms.rbegin(), gains.ms.rend());
      Samples best = gains;
      best.ms.resize(std::min(best.ms.size(), kBestCells));
      report->AddNote(fmt::format(
          "{} ÷ cacheinf, {}: {:.2f} in the median of {} cells, {:.2f} in that of the best {}",
          mode, measured_, gains.Median(), gains.ms.size(), best.Median(), best.ms.size()));
    }
    AddErrors("modes that are plans, by profiles", errors_, report);
    AddErrors("cacheinf, by the robot as it goes", own_errors_, report);
  }

 private:
  void AddErrors(const char* whose, const Samples& errors, BenchReport* report) const {
    if (errors.ms.empty()) return;
    report->AddNote(fmt::format(
        "|predicted ÷ taken - 1| of {}, {}: {:.2f} in the median, {:.2f} at the 95th percentile of "
        "{} cells",
        whose, measured_, errors.Median(), errors.Quantile(0.95), errors.ms.size()));
  }

  void AddGains(const ByMode& modes, double chosen_ms) {
    for (const char* const mode :
         {"hp", "ds", "ds-c", "remote-jpeg/dense", "remote-jpeg/cache", "plain-video"}) {
      const auto other = modes.find(mode);
      if (other == modes.end()) continue;
      gains_[mode].ms.push_back(other->second["median_ms"].get<double>() / chosen_ms);
    }
  }

  const std::string measured_;
  Ratios ratios_{"cacheinf ÷ the best other mode of at least its agreement, " + measured_,
                 kLittleMore};
  Ratios work_{"the same without the camera, from when a frame was taken up", kLittleMore};
  std::vector<std::pair<double, std::string>> explained_;
  std::map<std::string, Samples> gains_;
  Samples errors_;
  Samples own_errors_;
  int every_ = 0;
  int every_wins_ = 0;
  int within_spread_ = 0;  // of those that take too much
};

// The most frequent first.
std::string WinsText(const std::map<std::string, int>& wins) {
  std::vector<std::pair<int, std::string>> sorted;
  for (const auto& [mode, count] : wins) sorted.emplace_back(count, mode);
  std::sort(sorted.rbegin(), sorted.rend());
  std::string text;
  for (const auto& [count, mode] : sorted) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", mode, count);
  }
  return text;
}

// What is in hand at the deadlines in mode cacheinf, beside the best fixed mode of the cell.
class OnTimeChecks {
 public:
  // What should hold: so near the best, in that share of the cells, and never further than that.
  struct Promise {
    double near = 0;
    double share = 0;
    std::optional<double> most = {};
  };
  OnTimeChecks(std::string measured, const Promise& promise)
      : measured_(std::move(measured)), promise_(promise) {}

  // `row` is of mode cacheinf, `modes` has the same cell's others.
  void Add(const std::string& where, const Json& row, const ByMode& modes) {
    const double deadline_ms = row["deadline_ms"];
    const std::string key = OnTimeKey(deadline_ms);
    if (row[key].is_null() || row["measured"] == "predicted") return;
    const Json* best = nullptr;
    for (const auto& [mode, other] : modes) {
      if (mode == "cacheinf" || IsBaseline(mode) || other["measured"] == "predicted") continue;
      if (other[key].is_null()) continue;
      if (best == nullptr || other[key] > (*best)[key]) best = &other;
    }
    if (best == nullptr) return;
    const double in_hand = row[key];
    const double below = (*best)[key].get<double>() - in_hand;
    for (Count* const count : {&all_, &by_deadline_[deadline_ms]}) {
      count->below.ms.push_back(below);
      count->near += below <= promise_.near ? 1 : 0;
      ++count->wins[below <= 0 ? "cacheinf" : (*best)["mode"].get<std::string>()];
    }
    if (below <= promise_.near) return;
    std::string why = row["why"];
    if (!why.empty()) why = "; it said: " + why;
    explained_.emplace_back(
        below,
        fmt::format("{}, {}, {:g} ms: {:.3f} below: {:.3f} in hand ({:.2f} late), {}; {:.3f} in "
                    "hand ({:.2f} later than 100 ms), {}{}",
                    where, measured_, deadline_ms, below, in_hand, row["late"].get<double>(),
                    PlanText(row), (*best)[key].get<double>(), (*best)["late"].get<double>(),
                    PlanText(*best), why));
  }

  void AddTo(BenchReport* report) {
    if (all_.below.ms.empty()) return;
    report->AddNote(
        fmt::format("on time, {}, all deadlines: {}; wanted in {:.0f} %{}", measured_, TextOf(all_),
                    100 * promise_.share,
                    promise_.most ? fmt::format(", at most {:g} below", *promise_.most) : ""));
    for (const auto& [deadline_ms, count] : by_deadline_) {
      report->AddNote(fmt::format("on time, {}, {:g} ms: {}; most in hand in so many cells: {}",
                                  measured_, deadline_ms, TextOf(count), WinsText(count.wins)));
    }
    std::sort(explained_.rbegin(), explained_.rend());
    for (size_t i = 0; i < std::min(kExplained, explained_.size()); ++i) {
      report->AddNote(explained_[i].second);
    }
  }

 private:
  struct Count {
    Samples below;
    int near = 0;
    std::map<std::string, int> wins;
  };

  std::string TextOf(const Count& count) const {
    const auto cells = static_cast<double>(count.below.ms.size());
    return fmt::format(
        "cacheinf is within {:g} of the best mode in {:.1f} % of {} cells, {:.3f} "
        "below at worst, {:.3f} in the median",
        promise_.near, 100 * count.near / cells, count.below.ms.size(), count.below.Quantile(1),
        count.below.Median());
  }

  const std::string measured_;
  const Promise promise_;
  Count all_;
  std::map<double, Count> by_deadline_;
  std::vector<std::pair<double, std::string>> explained_;
};

std::string Wins(const ByCell& cells) {
  std::map<std::string, int> wins;
  for (const auto& [cell, modes] : cells) {
    std::string best;
    for (const auto& [mode, row] : modes) {
      // Half of every-k's answers take no time, and a planner's time is another mode's.
      if (mode == "every-k" || IsBaseline(mode)) continue;
      if (best.empty() || row["median_ms"] < modes.at(best)["median_ms"]) best = mode;
    }
    if (!best.empty()) ++wins[best];
  }
  return WinsText(wins);
}

void AddTable(const ByCell& cells, const std::string& measured, const std::set<std::string>& modes,
              BenchReport* report) {
  for (const auto& [cell, rows] : cells) {
    Json row = {{"model", cell.model},
                {"clip", cell.clip},
                {"mbit", cell.mbit},
                {"speedup", cell.speedup},
                {"measured", measured}};
    for (const std::string& mode : modes) {
      const auto found = rows.find(mode);
      row[mode] = found == rows.end() ? Json() : found->second.at("median_ms");
    }
    report->AddTableRow(std::move(row));
  }
}

// Grouped by how they were measured.
std::map<std::string, ByCell> CellsOf(const std::vector<Json>& rows) {
  std::map<std::string, ByCell> by_measured;
  for (const Json& row : rows) {
    std::string mode = row["mode"];
    if (mode.starts_with("every-")) mode = "every-k";
    const auto [place, is_new] = by_measured[row["measured"]][CellOf(row)].try_emplace(mode, row);
    if (is_new) continue;
    place->second["again_ms"] = row["median_ms"];
    place->second[kAgainServerMs] = row["server_ms"];
  }
  return by_measured;
}

}  // namespace

std::string OnTimeKey(double deadline_ms) { return fmt::format("on_time_{:g}", deadline_ms); }

std::vector<std::string> ModeChecks::ToRepeat(const std::string& model, const std::string& clip,
                                              double mbit, double speedup) const {
  const ByCell live = WithLocalModes(CellsOf(rows_)["live"]);
  const auto found = live.find({model, clip, mbit, speedup});
  if (found == live.end()) return {};
  const ByMode& modes = found->second;
  std::vector<std::string> again;
  const Json* const best = BestOther(modes);
  if (best != nullptr && MedianMs(modes.at("cacheinf")) > kLittleMore * MedianMs(*best)) {
    again = {"cacheinf", (*best)["mode"]};
  }
  if (VideoRatio(modes) > kAsFast) {
    again.insert(again.end(), {"remote-video/dense", "plain-video"});
  }
  for (const std::string& codec : CodecsOfLittleWork(modes)) {
    if (CachedRatio(modes, codec) <= kFasterByCache) continue;
    again.insert(again.end(), {codec + "/dense", codec + "/cache"});
  }
  return again;
}

void ModeChecks::AddTo(BenchReport* report) const {
  std::map<std::string, ByCell> by_measured = CellsOf(rows_);
  std::set<std::string> modes;
  for (const auto& [measured, cells] : by_measured) {
    for (const auto& [cell, of_modes] : cells) {
      for (const auto& [mode, row] : of_modes) modes.insert(mode);
    }
  }
  Ratios video("remote-video with a dense server ÷ plain-video", kAsFast);
  Ratios cached("server_ms of a cached server ÷ that of a dense one, where its work is at most .5",
                kFasterByCache);
  Ratios replayed("live median_ms ÷ replayed, or the reverse", 1.25);
  for (const auto& [measured, cells] : by_measured) {
    for (const auto& [cell, of_modes] : cells) {
      const std::string where = fmt::format("{}, {}", TextOf(cell), measured);
      if (const auto ratio = VideoRatio(of_modes)) video.Add(*ratio, where);
      for (const std::string& codec : CodecsOfLittleWork(of_modes)) {
        cached.Add(CachedRatio(of_modes, codec), where + ", " + codec);
      }
    }
  }
  Samples signed_difference;
  for (const auto& [cell, of_modes] : by_measured["live"]) {
    const auto again = by_measured["replayed"].find(cell);
    if (again == by_measured["replayed"].end()) continue;
    for (const auto& [mode, row] : of_modes) {
      if (!again->second.contains(mode) || mode == "every-k") continue;
      const double ratio =
          row["median_ms"].get<double>() / Number(again->second, mode, "median_ms");
      signed_difference.ms.push_back(ratio);
      replayed.Add(std::max(ratio, 1 / ratio), TextOf(cell) + ", " + mode);
    }
  }
  const ByCell all = WithLocalModes(by_measured["replayed"]);
  const ByCell live = WithLocalModes(by_measured["live"]);
  ByCell with_predicted = all;
  for (auto& [cell, of_modes] : with_predicted) {
    const ByMode& predicted = by_measured["predicted"][cell];
    of_modes.insert(predicted.begin(), predicted.end());
  }
  AddTable(live, "live", modes, report);
  AddTable(with_predicted, "replayed", modes, report);
  std::vector<const Ratios*> worst_first = {&video, &cached, &replayed};
  std::stable_sort(worst_first.begin(), worst_first.end(),
                   [](const Ratios* a, const Ratios* b) { return a->excess() > b->excess(); });
  for (const Ratios* ratios : worst_first) report->AddNote(ratios->text());
  for (const auto& [measured, cells] :
       {std::pair<std::string, const ByCell&>("live", live), {"replayed", with_predicted}}) {
    ChoiceChecks choices(measured);
    for (const auto& [cell, of_modes] : cells) choices.Add(TextOf(cell), of_modes);
    choices.AddTo(report);
  }
  for (const auto& [measured, cells, promise] :
       {std::tuple<std::string, const ByCell&, OnTimeChecks::Promise>(
            "live", live, {.near = 0.03, .share = 0.9, .most = 0.08}),
        {"replayed", all, {.near = 0.01, .share = 0.95}}}) {
    OnTimeChecks checks(measured, promise);
    for (const Json& row : on_time_rows_) {
      if (row["measured"] != measured) continue;
      const auto modes = cells.find(CellOf(row));
      if (modes != cells.end()) checks.Add(TextOf(modes->first), row, modes->second);
    }
    checks.AddTo(report);
  }
  if (!signed_difference.ms.empty()) {
    report->AddNote(
        fmt::format("live median_ms ÷ replayed: {:.2f} in the median, {:.2f} to {:.2f} in "
                    "eight of ten cells",
                    signed_difference.Median(), signed_difference.Quantile(0.1),
                    signed_difference.Quantile(0.9)));
  }
  report->AddNote("least median_ms in so many cells, live: " + Wins(live));
  report->AddNote("least median_ms in so many cells, replayed: " + Wins(all));
}

}  // namespace cacheinf
