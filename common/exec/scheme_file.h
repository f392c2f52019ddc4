#ifndef CACHEINF_COMMON_EXEC_SCHEME_FILE_H_
#define CACHEINF_COMMON_EXEC_SCHEME_FILE_H_

#include <filesystem>
#include <optional>
#include <string>

#include "common/exec/schemes.h"

// Measured times of schemes as they are kept from one start to the next, one small JSON file for
// all that they hold for.

namespace cacheinf {

// What times were measured on; they are valid for nothing else.
struct SchemeKey {
  std::string machine;  // its fingerprint
  std::string build;
  std::string model;  // ModelDigest
  int threads = 1;
};

// $XDG_CACHE_HOME/cacheinf/schemes, or ~/.cache/cacheinf/schemes; none if neither is known.
std::optional<std::filesystem::path> SchemeFolder();

// The file of this key in the folder.
std::filesystem::path SchemeFile(const std::filesystem::path& folder, const SchemeKey& key);

// None if there is no such file. None, and one line in the log, if it is damaged or of another key.
std::optional<SchemeTimes> ReadSchemeFile(const std::filesystem::path& path, const SchemeKey& key);

// Makes the folder if it is missing, and replaces the file as a whole. Says so in the log, in one
// line, if it cannot.
void WriteSchemeFile(const std::filesystem::path& path, const SchemeKey& key,
                     const SchemeTimes& times);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_SCHEME_FILE_H_
