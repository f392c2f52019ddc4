#ifndef CACHEINF_COMMON_EXEC_SCHEME_FILE_H_
#define CACHEINF_COMMON_EXEC_SCHEME_FILE_H_

#include <filesystem>
#include <optional>
#include <string>

#include "common/exec/schemes.h"

// Keeps what was measured of schemes and tiles from one start to the next, in one small JSON file
// per key.

namespace cacheinf {

// What was measured, and where. Measurements are valid for nothing else.
struct SchemeKey {
  std::string machine;  // its fingerprint, which its GPU is part of
  std::string build;
  std::string model;  // ModelDigest
  int threads = 1;
};

struct MeasuredLayers {
  SchemeTimes schemes;
  TileChoice tiles;
};

// The file of this key in the folder.
std::filesystem::path SchemeFile(const std::filesystem::path& folder, const SchemeKey& key);

// None if there is no such file. None, and one line in the log, if it is damaged or of another key.
std::optional<MeasuredLayers> ReadSchemeFile(const std::filesystem::path& path,
                                             const SchemeKey& key);

// Makes the folder if it is missing, and replaces the file as a whole. Says so in the log, in one
// line, if it cannot.
void WriteSchemeFile(const std::filesystem::path& path, const SchemeKey& key,
                     const MeasuredLayers& layers);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_SCHEME_FILE_H_
