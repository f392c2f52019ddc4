#include "common/exec/scheme_file.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
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

void VisitFields(MaybeConst<SchemeKey> auto& key, auto& visit) {
  visit("build", key.build);
  visit("machine", key.machine);
  visit("model", key.model);
  visit("threads", key.threads);
}

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
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  // Robots that start at once must not write to the same file.
  const fs::path unfinished = path.string() + fmt::format(".{}", getpid());
  std::ofstream file(unfinished, std::ios::binary);
  file << WriteFields(SchemeFileContent{kFormat, key, layers}).dump(2) << "\n" << std::flush;
  if (file) fs::rename(unfinished, path, error);
  if (file && !error) return;
  fs::remove(unfinished, error);
  LogWarning(fmt::format("{} cannot be written: schemes are measured at the next start as well",
                         path.string()));
}

}  // namespace cacheinf
