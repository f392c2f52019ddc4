#include "client/record/decision_text.h"

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/json_fields.h"
#include "common/exec/decision_fields.h"
#include "sparse_ops/mask/wire.h"

namespace cacheinf {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr size_t kMostWords = size_t{1} << 20;  // in a mask: 8192 × 8192 pixels

}  // namespace

void to_json(nlohmann::ordered_json& json, const Mask& mask) {
  const ConstMaskView view = mask;
  std::vector<uint8_t> bytes;
  if (view.pixel_count() > 0) {
    bytes.resize(MaxEncodedMaskBytes(view.height, view.width));
    bytes.resize(EncodeMask(view, bytes.data()));
  }
  std::string text;
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  json = std::move(text);
}

void ReadField(const JsonReader& json, const char* key, Mask& mask) {
  const std::string text = json.Text(key);
  mask = {};
  if (text.empty()) return;
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    const size_t high = kDigits.find(text[i]);
    const size_t low = kDigits.find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) break;
    bytes.push_back(static_cast<uint8_t>(high << 4 | low));
  }
  if (2 * bytes.size() != text.size()) json.Refuse(key, "pairs of hexadecimal digits");
  const char* const wrong = DecodeMask(bytes.data(), bytes.size(), kMostWords, &mask);
  if (wrong != nullptr) json.Refuse(key, fmt::format("a mask, but {}", wrong));
}

std::string ToText(const FrameDecision& decision) { return WriteFields(decision).dump(); }

FrameDecision ReadFrameDecision(const std::string& text, const std::string& name) {
  return ReadFields<FrameDecision>(JsonReader(text, name));
}

}  // namespace cacheinf
