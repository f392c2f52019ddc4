#include "common/link/address.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "common/base/cache_folder.h"
#include "common/base/error.h"
#include "common/base/file.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestName = 64;
constexpr uint64_t kLargestFile = 4096;

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

std::string FromEnvironment(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

}  // namespace

LinkAddress ParseLinkAddress(const std::string& option, const std::string& text,
                             const fs::path& name_server) {
  const size_t colon = text.find(':');
  if (text.substr(0, colon) != "mpi") {
    throw InputError(option, " takes mpi or mpi:NAME, not \"", text, "\"");
  }
  LinkAddress address;
  address.name_server = name_server.empty() ? DefaultNameServerFile() : name_server;
  if (colon == std::string::npos) return address;
  address.name = text.substr(colon + 1);
  if (address.name.empty() || address.name.size() > kLongestName ||
      !std::ranges::all_of(address.name, IsNameCharacter)) {
    throw InputError(option,
                     ": a name has 1 to 64 letters, digits, dots, dashes and underscores; \"",
                     address.name, "\" is not one");
  }
  return address;
}

fs::path DefaultNameServerFile() {
  if (std::string file = FromEnvironment("CACHEINF_NAME_SERVER"); !file.empty()) return file;
  return CacheFolder() / "name-server";
}

NameServer ReadNameServer(const fs::path& file) {
  if (!fs::exists(file)) {
    throw InputError("there is no name server's file ", file.string(),
                     ": scripts/name-server start writes it, and other machines take a copy");
  }
  std::istringstream lines(ReadFile(file, kLargestFile));
  NameServer server;
  std::getline(lines, server.uri);
  std::getline(lines, server.library);
  if (server.uri.find("://") == std::string::npos) {
    throw InputError(file.string(), " is not a name server's file; scripts/name-server writes one");
  }
  return server;
}

}  // namespace cacheinf
