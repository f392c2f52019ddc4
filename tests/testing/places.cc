#include "tests/testing/places.h"

#include <cstdlib>

namespace cacheinf {

std::filesystem::path SourceFolder() { return CACHEINF_SOURCE_DIR; }

std::string ProgramPath(const std::string& name) { return CACHEINF_BIN_DIR "/" + name; }

std::filesystem::path SharedData(const std::string& file) {
  const char* const folder = std::getenv("CACHEINF_SHARED");
  const std::filesystem::path shared = folder != nullptr ? folder : SourceFolder() / "../shared";
  return shared / "data" / file;
}

}  // namespace cacheinf
