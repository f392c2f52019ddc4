#ifndef CACHEINF_PROFILER_SCHEME_FILE_H_
#define CACHEINF_PROFILER_SCHEME_FILE_H_

#include <filesystem>
#include <optional>
#include <string>

#include "profiler/measured_schemes.h"

// Keeps measurements of schemes and tiles from one start to the next, in a small JSON file per key.

namespace cacheinf {

// What was measured, and where. Measurements hold for nothing else.
struct SchemeKey {
  std::string machine;  // its fingerprint, GPU included
  std::string build;
  std::string model;  // ModelDigest
  int threads = 1;

  bool operator==(const SchemeKey&) const = default;
};

struct MeasuredLayers {
  SchemeTimes schemes;
  TileChoice tiles;
};

std::filesystem::path SchemeFile(const std::filesystem::path& folder, const SchemeKey& key);

// None if there is no such file. Logs a line and returns none if it is damaged or has another key.
std::optional<MeasuredLayers> ReadSchemeFile(const std::filesystem::path& path,
                                             const SchemeKey& key);

// Makes the folder if it is missing, and replaces the file as a whole. Logs a line if it cannot.
void WriteSchemeFile(const std::filesystem::path& path, const SchemeKey& key,
                     const MeasuredLayers& layers);

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_SCHEME_FILE_H_
