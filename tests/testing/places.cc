#include "tests/testing/places.h"

namespace cacheinf {

std::filesystem::path SourceFolder() { return CACHEINF_SOURCE_DIR; }

std::string ProgramPath(const std::string& name) { return CACHEINF_BIN_DIR "/" + name; }

}  // namespace cacheinf
