#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <sstream>

#include "profiler/machine.h"
#include "tests/bench/bench.h"

namespace cacheinf {
namespace {

std::string CellText(const nlohmann::ordered_json& cell) {
  if (cell.is_string()) return cell.get<std::string>();
  if (cell.is_null()) return "-";
  if (!cell.is_number_float()) return cell.dump();
  std::array<char, 32> text;
  const double number = cell.get<double>();
  const bool is_tiny = number != 0.0 && std::abs(number) < 1e-3;
  const char* format = is_tiny ? "%.1e" : (number < 10.0 ? "%.3f" : "%.1f");
  std::snprintf(text.data(), text.size(), format, number);
  return text.data();
}

std::string UtcNow() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts = {};
  gmtime_r(&now, &parts);
  std::array<char, 32> text;
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

}  // namespace

void BenchReport::AddRow(nlohmann::ordered_json row) { rows_.push_back(std::move(row)); }

void BenchReport::AddTableRow(nlohmann::ordered_json row) { table_rows_.push_back(std::move(row)); }

void BenchReport::AddNote(const std::string& note) { notes_.push_back(note); }

void BenchReport::AddNoise(const Timing& timing) { noise_ = std::max(noise_, timing.noise); }

std::string BenchReport::Table() const {
  std::ostringstream text;
  const std::vector<nlohmann::ordered_json>& shown = table_rows_.empty() ? rows_ : table_rows_;
  if (!shown.empty()) {
    // Column by column: the key, then every row's cell. Names left, numbers right.
    std::vector<std::string> lines(shown.size() + 1);
    for (const auto& [key, first] : shown.front().items()) {
      std::vector<std::string> column = {key};
      for (const nlohmann::ordered_json& row : shown) column.push_back(CellText(row.at(key)));
      size_t width = 0;
      for (const std::string& cell : column) width = std::max(width, cell.size());
      for (size_t i = 0; i < lines.size(); ++i) {
        const std::string gap(width - column[i].size(), ' ');
        if (!lines[i].empty()) lines[i] += "  ";
        lines[i] += first.is_string() ? column[i] + gap : gap + column[i];
      }
    }
    for (const std::string& line : lines) text << line << "\n";
  }
  for (const std::string& note : notes_) text << note << "\n";
  if (IsTooNoisy(noise_)) {
    text << "The machine was too noisy: a fixed piece of arithmetic took "
         << std::lround((noise_ - 1.0) * 100.0)
         << " % longer than its median in a tenth of the rounds.\n";
  }
  return text.str();
}

nlohmann::ordered_json BenchReport::ToJson(const std::string& bench,
                                           const std::string& commit) const {
  return {{"bench", bench},   {"commit", commit}, {"machine", cacheinf::ToJson(DescribeMachine())},
          {"date", UtcNow()}, {"rows", rows_},    {"notes", notes_},
          {"noise", noise_}};
}

}  // namespace cacheinf
