#include "common/exec/decision_text.h"

#include <fmt/core.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>
#include <vector>

#include "common/base/checked_json.h"
#include "sparse_ops/mask/wire.h"

namespace cacheinf {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr size_t kMostWords = size_t{1} << 20;  // in a mask: 8192 × 8192 pixels
constexpr int64_t kLargestShift = 1 << 14;
constexpr size_t kKeys = 11;

std::string ToHex(ConstMaskView mask) {
  if (mask.pixel_count() == 0) return "";
  std::vector<uint8_t> bytes(MaxEncodedMaskBytes(mask.height, mask.width));
  bytes.resize(EncodeMask(mask, bytes.data()));
  std::string text;
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Mask ReadMask(const CheckedJson& json, const char* key) {
  const std::string text = json.Text(key);
  if (text.empty()) return {};
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    const size_t high = kDigits.find(text[i]);
    const size_t low = kDigits.find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) break;
    bytes.push_back(static_cast<uint8_t>(high << 4 | low));
  }
  if (2 * bytes.size() != text.size()) json.Refuse(key, "pairs of hexadecimal digits");
  Mask mask;
  const char* const wrong = DecodeMask(bytes.data(), bytes.size(), kMostWords, &mask);
  if (wrong != nullptr) json.Refuse(key, fmt::format("a mask, but {}", wrong));
  return mask;
}

std::vector<double> FiniteNumbers(const CheckedJson& json, const char* key, size_t count) {
  std::vector<double> numbers = json.Numbers(key);
  bool is_sound = numbers.size() == count;
  for (const double number : numbers) is_sound = is_sound && std::isfinite(number);
  if (!is_sound) json.Refuse(key, fmt::format("{} numbers", count));
  return numbers;
}

Shift ReadShift(const CheckedJson& json) {
  const std::vector<int64_t> numbers = json.Integers("scroll");
  bool is_sound = numbers.size() == 2;
  for (const int64_t number : numbers) {
    is_sound = is_sound && -kLargestShift <= number && number <= kLargestShift;
  }
  if (!is_sound) json.Refuse("scroll", "two numbers of pixels");
  return {static_cast<int>(numbers[0]), static_cast<int>(numbers[1])};
}

std::vector<int> ReadRows(const CheckedJson& json) {
  std::vector<int> rows;
  for (const int64_t row : json.Integers("robot_rows")) {
    if (row < 0 || row > std::numeric_limits<int>::max()) json.Refuse("robot_rows", "rows");
    rows.push_back(static_cast<int>(row));
  }
  return rows;
}

}  // namespace

const char* FaultOf(const FrameDecision& decision) {
  if (decision.base < -1 || decision.base >= decision.number) {
    return "base must be -1 or a number before this one's";
  }
  const ConstMaskView changed = decision.changed;
  const ConstMaskView forced = decision.forced;
  if (changed.height != forced.height || changed.width != forced.width) {
    return "forced must be a mask of the size of changed";
  }
  const bool is_whole = decision.kind == FrameDecision::Kind::kWhole;
  const bool is_refresh = decision.kind == FrameDecision::Kind::kRefresh;
  if (is_whole && CountActive(changed) != changed.pixel_count()) {
    return "changed must be everything in a whole frame";
  }
  if (is_refresh && !IsEmpty(changed)) return "changed must be nothing in a refresh";
  if (!is_whole && (decision.base < 0 || changed.pixel_count() == 0)) {
    return "kind must be whole without a base and a mask";
  }
  if (!decision.scroll.is_zero() && !decision.stored_from_frame.IsIdentity()) {
    return "scroll must be zero if the maps move otherwise";
  }
  return nullptr;
}

std::string ToText(const FrameDecision& decision) {
  const auto& m = decision.stored_from_frame.m;
  const CheckedJson::Json json = {
      {"number", decision.number},
      {"base", decision.base},
      {"frame", decision.frame},
      {"kind", NameOf(decision.kind)},
      {"changed", ToHex(decision.changed)},
      {"forced", ToHex(decision.forced)},
      {"scroll", {decision.scroll.rows, decision.scroll.columns}},
      {"stored_from_frame",
       {m[0][0], m[0][1], m[0][2], m[1][0], m[1][1], m[1][2], m[2][0], m[2][1], m[2][2]}},
      {"light", {decision.light.gain, decision.light.offset}},
      {"settings", decision.settings},
      {"robot_rows", decision.robot_rows}};
  return json.dump();
}

FrameDecision ReadFrameDecision(const std::string& text, const std::string& name) {
  const CheckedJson json(text, name);
  if (json.json().size() != kKeys) throw InputError(name + ": not the fields of a decision");
  FrameDecision decision;
  decision.number = json.Integer("number", 0);
  decision.base = json.Integer("base");
  decision.frame = json.Integer("frame", 0);
  decision.kind = json.Choice<FrameDecision::Kind>("kind");
  decision.changed = ReadMask(json, "changed");
  decision.forced = ReadMask(json, "forced");
  decision.scroll = ReadShift(json);
  const std::vector<double> motion = FiniteNumbers(json, "stored_from_frame", 9);
  for (size_t i = 0; i < motion.size(); ++i) decision.stored_from_frame.m[i / 3][i % 3] = motion[i];
  const std::vector<double> light = FiniteNumbers(json, "light", 2);
  decision.light = {light[0], light[1]};
  decision.settings = json.Integer("settings", 0);
  decision.robot_rows = ReadRows(json);
  const char* const fault = FaultOf(decision);
  if (fault != nullptr) throw InputError(name + ": " + fault);
  return decision;
}

}  // namespace cacheinf
