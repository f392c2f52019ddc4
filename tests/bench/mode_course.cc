#include "tests/bench/mode_course.h"

#include <fmt/core.h>

#include <exception>
#include <iostream>

#include "common/base/program.h"

namespace cacheinf {

ModeCourse::ModeCourse(bool is_quick, BenchReport* report)
    : report_(report),
      rounds_(is_quick ? 1 : 3),
      live_minutes_(is_quick ? 4 : 30),
      all_minutes_(is_quick ? 4.8 : 39),
      stop_(StopOnSignals()),
      begin_(clock_.Now()) {}

void ModeCourse::Attempt(const std::string& what, const std::function<void()>& action) const {
  if (stop_) return;
  try {
    std::cerr << fmt::format("[{:4.1f} min] {}\n", minutes(), what);
    action();
  } catch (const std::exception& error) {
    report_->AddNote(fmt::format("{} failed: {}", what, error.what()));
    std::cerr << what << " failed: " << error.what() << "\n";
  }
}

}  // namespace cacheinf
