#include "common/link/delay_line.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string_view>
#include <utility>

#include "common/base/error.h"
#include "common/base/file.h"
#include "common/base/number_text.h"

namespace cacheinf {
namespace {

using std::chrono::nanoseconds;

constexpr double kBytesPerMegabit = 125e3;
constexpr double kMostMegabits = 1e6;
constexpr uint64_t kLargestTrace = uint64_t{64} << 20;
// Limits of a trace's times: what nanoseconds can tell apart, and hold.
constexpr double kLeastSeconds = 1e-6;
constexpr double kMostSeconds = 1e8;

std::optional<double> Number(std::string_view text) {
  const auto number = NumberIn<double>(text);
  return number && *number >= 0 && *number <= 1e12 ? number : std::nullopt;
}

struct Unit {
  std::string_view name;
  double factor;
};

// Parses a number with one of the units.
std::optional<double> Quantity(std::string_view text, std::initializer_list<Unit> units) {
  for (const auto& [name, factor] : units) {
    if (!text.ends_with(name)) continue;
    if (const auto number = Number(text.substr(0, text.size() - name.size()))) {
      return *number * factor;
    }
  }
  return std::nullopt;
}

nanoseconds FromSeconds(double seconds) { return nanoseconds(std::llround(seconds * 1e9)); }

std::vector<std::string> Split(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
  if (!fields.empty() && fields.back().ends_with('\r')) fields.back().pop_back();
  return fields;
}

std::vector<LinkShape::Piece> ReadTrace(const std::string& path, const std::string& column) {
  std::istringstream stream(ReadFile(path, kLargestTrace));
  std::string line;
  std::getline(stream, line);
  const std::vector<std::string> names = Split(line);
  const size_t index = column.empty() ? 1 : std::ranges::find(names, column) - names.begin();
  if (index >= names.size()) {
    throw InputError(path, ": has no ",
                     (column.empty() ? "second column" : "column \"" + column + "\""));
  }

  std::vector<std::pair<double, double>> rows;  // seconds, Mbit/s
  for (int number = 2; std::getline(stream, line); ++number) {
    const std::vector<std::string> fields = Split(line);
    if (fields.empty()) continue;
    const auto seconds = Number(fields[0]);
    const auto megabits = index < fields.size() ? Number(fields[index]) : std::nullopt;
    if (!seconds || !megabits || *megabits > kMostMegabits || *seconds > kMostSeconds ||
        (!rows.empty() && *seconds < rows.back().first + kLeastSeconds)) {
      throw InputError(path, ", line ", number,
                       ": needs a time later than the one before, and a bandwidth in Mbit/s");
    }
    rows.emplace_back(*seconds, *megabits);
  }
  const auto is_open = [](const auto& row) { return row.second > 0; };
  if (rows.size() < 2 || std::ranges::none_of(rows, is_open)) {
    throw InputError(path, ": needs at least two lines, and a bandwidth above 0");
  }

  std::vector<LinkShape::Piece> pieces;
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t next = std::min(i + 1, rows.size() - 1);
    const double seconds = rows[next].first - rows[next - 1].first;
    pieces.push_back({FromSeconds(seconds), rows[i].second * kBytesPerMegabit});
  }
  return pieces;
}

}  // namespace

LinkShape ParseLinkShape(const std::string& text) {
  const size_t comma = text.rfind(',');
  const std::string bandwidth = text.substr(0, comma);
  LinkShape shape;
  if (comma != std::string::npos) {
    const auto delay =
        Quantity(std::string_view(text).substr(comma + 1), {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}});
    if (!delay || *delay > 60) {
      throw InputError("link \"", text, "\": \"", text.substr(comma + 1),
                       "\" is not a delay such as 3ms, of at most a minute");
    }
    shape.delay = FromSeconds(*delay);
  }
  if (const auto megabits = Quantity(bandwidth, {{"kbit", 1e-3}, {"mbit", 1}, {"gbit", 1e3}})) {
    if (*megabits < 1e-3 || *megabits > kMostMegabits) {
      throw InputError("link \"", text, "\": a bandwidth lies between 1kbit and 1000gbit");
    }
    shape.bandwidth = {{std::chrono::hours(1), *megabits * kBytesPerMegabit}};
    return shape;
  }
  const size_t colon = bandwidth.rfind(':');
  const std::string path = bandwidth.substr(0, colon);
  if (!path.ends_with(".csv")) {
    throw InputError("link \"", text, "\": \"", bandwidth,
                     "\" is neither a bandwidth such as 93mbit nor a trace such as trace.csv");
  }
  shape.bandwidth = ReadTrace(path, colon == std::string::npos ? "" : bandwidth.substr(colon + 1));
  return shape;
}

DelayLine::DelayLine(LinkShape shape, Time now)
    : shape_(std::move(shape)), piece_end_(now), busy_until_(now) {
  if (shape_.bandwidth.empty()) return;
  Time all{};
  for (const LinkShape::Piece& piece : shape_.bandwidth) all += piece.duration;
  piece_end_ += shape_.bandwidth.front().duration - now % all;
}

bool DelayLine::HasRoom(Time now) const {
  size_t waiting = 0;
  for (auto entry = packets_.rbegin(); entry != packets_.rend(); ++entry) {
    if (entry->leaves_at <= now) break;
    waiting += entry->bytes.size();
  }
  return waiting <= kRoom;
}

void DelayLine::Push(std::span<const uint8_t> packet, Time now, Time jitter) {
  busy_until_ = std::max(busy_until_, now);
  if (!shape_.bandwidth.empty()) Transmit(packet.size());
  packets_.push_back(
      {{packet.begin(), packet.end()}, busy_until_, busy_until_ + shape_.delay + jitter});
}

std::optional<std::chrono::nanoseconds> DelayLine::first_arrival() const {
  if (packets_.empty()) return std::nullopt;
  return packets_.front().arrives_at;
}

// Advances busy_until_ by the transmission.
void DelayLine::Transmit(size_t bytes) {
  auto left = static_cast<double>(bytes);
  for (;;) {
    while (piece_end_ <= busy_until_) {
      piece_ = (piece_ + 1) % shape_.bandwidth.size();
      piece_end_ += shape_.bandwidth[piece_].duration;
    }
    const double rate = shape_.bandwidth[piece_].bytes_per_second;
    const double room = rate * 1e-9 * static_cast<double>((piece_end_ - busy_until_).count());
    if (room >= left) {
      busy_until_ += FromSeconds(left / rate);
      return;
    }
    left -= room;
    busy_until_ = piece_end_;
  }
}

}  // namespace cacheinf
