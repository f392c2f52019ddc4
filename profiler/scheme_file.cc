#include "profiler/scheme_file.h"

#include <fmt/core.h>

#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>

#include "common/base/error.h"
#include "common/base/file.h"
#include "common/base/json_fields.h"
#include "common/base/log.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

constexpr int kFormat = 2;
constexpr uint64_t kLargestFile = 1 << 20;
constexpr Real kMs = {0, 1e9, "milliseconds"};

}  // namespace

CACHEINF_FIELDS(SchemeKey, build, machine, model, threads)

void VisitFields(MaybeConst<LayerTimes> auto& layer, auto& visit) {
  visit("direct_ms", layer.direct_ms, kMs);
  visit("layer", layer.layer);
  visit("winograd_ms", layer.winograd_ms, kMs);
}

void VisitFields(MaybeConst<LayerTiles> auto& layer, auto& visit) {
  visit("layer", layer.layer);
  visit("small_tiles_up_to", layer.small_tiles_up_to, kNotNegative);
}

namespace {

struct SchemeFileContent {
  int format = kFormat;
  SchemeKey key;
  MeasuredLayers measured;
};

void VisitFields(MaybeConst<SchemeFileContent> auto& file, auto& visit) {
  visit("format", file.format);
  if (file.format != kFormat) return;
  visit("key", file.key);
  visit("layers", file.measured.schemes);
  visit("tiles", file.measured.tiles);
}

}  // namespace

fs::path SchemeFile(const fs::path& folder, const SchemeKey& key) {
  const std::string_view build = std::string_view(key.build).substr(0, 12);
  return folder / fmt::format("{}-{}-{}-{}.json", key.model, key.machine, build, key.threads);
}

std::optional<MeasuredLayers> ReadSchemeFile(const fs::path& path, const SchemeKey& key) {
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  std::string why;
  try {
    auto file = ReadFields<SchemeFileContent>(JsonReader(ReadFile(path, kLargestFile), "damaged"));
    if (file.format == kFormat && file.key == key) return std::move(file.measured);
    why = file.format == kFormat ? "measured of something else" : "another format";
  } catch (const InputError& refusal) {
    why = refusal.what();
  }
  LogWarning(fmt::format("{} is not used: {}", path.string(), why));
  return std::nullopt;
}

void WriteSchemeFile(const fs::path& path, const SchemeKey& key, const MeasuredLayers& layers) {
  const std::string text = WriteFields(SchemeFileContent{kFormat, key, layers}).dump(2) + "\n";
  const std::string_view all = text;
  try {
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    ReplaceFile(path, {&all, 1});
  } catch (const InputError& error) {
    LogWarning(fmt::format("{}: schemes are measured at the next start as well", error.what()));
  }
}

}  // namespace cacheinf
