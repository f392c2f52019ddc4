#include "tests/bench/modes_live.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace cacheinf {
namespace {

constexpr std::array kLiveMbits = {93.0, 20.0, 1.0};
constexpr size_t kLiveSpeedups = 2;

// Raw pictures take seconds over slow links; they are replayed.
bool IsSlow(const Mode& mode) { return mode.needs_server && mode.config.server.codec == "raw"; }

class LiveCells {
 public:
  LiveCells(bool quick, const RunPlace& place, const ModeCourse& course, ModeTable* table)
      : quick_(quick), place_(place), course_(course), table_(table) {}

  void Run(const std::vector<Subject>& subjects) {
    for (const double mbit : kLiveMbits) {
      if (quick_ && mbit != 20) continue;
      for (const Subject& subject : subjects) {
        if (quick_ && subject.model->name != "yolov5n") continue;
        RunSubject(subject, mbit);
      }
    }
  }
  int left_out() const { return left_out_; }

 private:
  void RunSubject(const Subject& subject, double mbit) {
    ModeRunner runner(place_, LinkText(mbit));
    const bool has_local = quick_ || mbit == kLiveMbits.front();
    for (size_t i = 0; i < (quick_ ? 1 : kLiveSpeedups); ++i) {
      for (const Mode& mode : ModesOf(subject)) {
        if (mbit != kLiveMbits.front() && IsSlow(mode)) continue;
        if (!mode.needs_server && !has_local) continue;
        if (course_.is_live_over()) {
          ++left_out_;
          continue;
        }
        RunCell(subject, mode, mbit, kSpeedups[i], &runner);
      }
      const auto repeated =
          table_->checks().ToRepeat(subject.model->name, subject.clip, mbit, kSpeedups[i]);
      for (const Mode& mode : ModesOf(subject)) {
        if (course_.is_live_over() || std::ranges::find(repeated, mode.name) == repeated.end()) {
          continue;
        }
        RunCell(subject, mode, mbit, kSpeedups[i], &runner);
      }
    }
  }

  void RunCell(const Subject& subject, const Mode& mode, double mbit, double speedup,
               ModeRunner* runner) {
    const auto link = mode.needs_server ? std::optional(mbit) : std::nullopt;
    const std::string what = fmt::format("live {} {} {} {} {}x", subject.model->name, subject.clip,
                                         mode.name, link ? LinkText(mbit) : "-", speedup);
    course_.Attempt(what, [&] {
      LiveAnswers live =
          runner->RunLive(subject, mode, speedup, [this] { return course_.is_live_over(); });
      Cell cell = {link, speedup, "live", std::move(live.answers)};
      if (IsOnTime(mode)) cell.handed_out = std::move(live.handed_out);
      cell.why = live.why;
      table_->Add(subject, mode, cell);
    });
  }

  const bool quick_;
  const RunPlace& place_;
  const ModeCourse& course_;
  ModeTable* const table_;
  int left_out_ = 0;
};

}  // namespace

int RunLiveCells(const std::vector<Subject>& subjects, bool quick, const RunPlace& place,
                 const ModeCourse& course, ModeTable* table) {
  LiveCells cells(quick, place, course, table);
  cells.Run(subjects);
  return cells.left_out();
}

}  // namespace cacheinf
