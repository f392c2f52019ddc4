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

class LiveCells {
 public:
  LiveCells(bool quick, const RunPlace& place, const ModeCourse& course, ModeTable* table)
      : quick_(quick), place_(place), course_(course), table_(table) {}

  void Run(const std::vector<Subject>& subjects, bool is_raw_and_slow) {
    for (const double mbit : kLiveMbits) {
      if (quick_ && mbit != 20) continue;
      if (is_raw_and_slow && mbit != 1) continue;
      for (const Subject& subject : subjects) {
        if (quick_ && subject.model->name != "yolov5n") continue;
        RunSubject(subject, mbit, is_raw_and_slow);
      }
    }
  }
  int left_out() const { return left_out_; }

 private:
  void RunSubject(const Subject& subject, double mbit, bool is_raw_and_slow) {
    ModeRunner runner(place_, LinkText(mbit));
    const bool has_local = quick_ || mbit == kLiveMbits.front();
    for (size_t i = 0; i < (quick_ ? 1 : kLiveSpeedups); ++i) {
      for (const Mode& mode : ModesOf(subject)) {
        const bool is_raw = mode.config.server.codec == "raw" && mode.needs_server;
        if ((is_raw && mbit == 1) != is_raw_and_slow) continue;
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
      table_->Add(subject, mode, {link, speedup, "live", std::move(live.answers), live.why});
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
  for (const bool is_raw_and_slow : {false, true}) cells.Run(subjects, is_raw_and_slow);
  return cells.left_out();
}

}  // namespace cacheinf
