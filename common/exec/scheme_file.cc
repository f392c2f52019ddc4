#include "common/exec/scheme_file.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "common/base/error.h"
#include "common/base/file.h"
#include "common/base/log.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kFormat = 2;
constexpr uint64_t kLargestFile = 1 << 20;
constexpr double kLongestMs = 1e9;

json ToJson(const SchemeKey& key) {
  return {{"machine", key.machine},
          {"build", key.build},
          {"model", key.model},
          {"threads", key.threads}};
}

double TimeOf(const json& layer, const char* scheme) {
  const double time_ms = layer.at(scheme).get<double>();
  if (!(time_ms >= 0.0 && time_ms <= kLongestMs)) {
    throw InputError(fmt::format("a time of {} ms", time_ms));
  }
  return time_ms;
}

int PixelsOf(const json& layer) {
  const json& count = layer.at("small_tiles_up_to");
  const int64_t pixels = count.is_number_integer() ? count.get<int64_t>() : -1;
  if (pixels < 0 || pixels > std::numeric_limits<int>::max()) {
    throw InputError("a number of pixels that cannot be");
  }
  return static_cast<int>(pixels);
}

// Throws InputError or json::exception.
MeasuredLayers Parse(const std::string& text, const SchemeKey& key) {
  const json file = json::parse(text);
  if (file.at("format") != kFormat) throw InputError("another format");
  if (file.at("key") != ToJson(key)) throw InputError("measured of something else");
  MeasuredLayers layers;
  for (const json& layer : file.at("layers")) {
    layers.schemes.push_back({layer.at("layer").get<std::string>(), TimeOf(layer, "direct_ms"),
                              TimeOf(layer, "winograd_ms")});
  }
  for (const json& layer : file.at("tiles")) {
    layers.tiles.push_back({layer.at("layer").get<std::string>(), PixelsOf(layer)});
  }
  return layers;
}

std::string Write(const SchemeKey& key, const MeasuredLayers& measured) {
  json layers = json::array();
  for (const LayerTimes& layer : measured.schemes) {
    layers.push_back({{"layer", layer.layer},
                      {"direct_ms", layer.direct_ms},
                      {"winograd_ms", layer.winograd_ms}});
  }
  json tiles = json::array();
  for (const LayerTiles& layer : measured.tiles) {
    tiles.push_back({{"layer", layer.layer}, {"small_tiles_up_to", layer.small_tiles_up_to}});
  }
  const json file = {
      {"format", kFormat}, {"key", ToJson(key)}, {"layers", layers}, {"tiles", tiles}};
  return file.dump(2) + "\n";
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
    return Parse(ReadFile(path, kLargestFile), key);
  } catch (const InputError& refusal) {
    why = refusal.what();
  } catch (const json::exception&) {
    why = "damaged";
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
  file << Write(key, layers) << std::flush;
  if (file) fs::rename(unfinished, path, error);
  if (file && !error) return;
  fs::remove(unfinished, error);
  LogWarning(fmt::format("{} cannot be written: schemes are measured at the next start as well",
                         path.string()));
}

}  // namespace cacheinf
