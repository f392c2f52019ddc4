#include "common/link/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string_view>

#include "common/base/cache_folder.h"
#include "common/base/error.h"
#include "common/base/file.h"
#include "common/base/number_text.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

const std::string kTcp = "tcp://";
constexpr size_t kLongestName = 64;
constexpr size_t kLongestHost = 253;
constexpr int kLargestPort = 65535;
constexpr uint64_t kLargestFile = 4096;

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

std::string FromEnvironment(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

bool IsHost(const std::string& host) {
  if (host == "*") return true;
  if (!host.starts_with('[')) {
    return !host.empty() && host.size() <= kLongestHost &&
           std::ranges::all_of(host, IsNameCharacter);
  }
  in6_addr ignored;
  return host.ends_with(']') &&
         inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &ignored) == 1;
}

void ParseTcp(const std::string& option, const std::string& text, LinkAddress* address) {
  const size_t begin = kTcp.size();
  const size_t colon = std::max(text.rfind(':'), begin);
  const std::optional<int> port =
      NumberIn<int>(std::string_view(text).substr(std::min(colon + 1, text.size())));
  address->host = text.substr(begin, colon - begin);
  if (!port || *port < 0 || *port > kLargestPort || !IsHost(address->host)) {
    throw InputError(option, ": \"", text,
                     "\" is not tcp://HOST:PORT; a host is a name, an IPv4 address or an IPv6 one "
                     "in brackets");
  }
  address->port = *port;
}

}  // namespace

bool LinkAddress::is_loopback() const {
  in_addr number = {};
  const bool is_number = inet_pton(AF_INET, host.c_str(), &number) == 1;
  return (is_number && ntohl(number.s_addr) >> 24 == IN_LOOPBACKNET) || host == "localhost" ||
         host == "[::1]";
}

std::string LinkAddress::endpoint() const { return kTcp + host + ":" + std::to_string(port); }

LinkAddress ParseLinkAddress(const std::string& option, const std::string& text,
                             const LinkFiles& files) {
  LinkAddress address;
  address.files = files;
  if (!files.interface.empty() && !text.starts_with("mpi:")) {
    throw InputError("--interface is of mpi:NAME, but ", option, " is ", text,
                     "; tcp://HOST:PORT names the interface itself");
  }
  if (text.starts_with(kTcp)) {
    ParseTcp(option, text, &address);
    return address;
  }
  const size_t colon = text.find(':');
  if (text.substr(0, colon) != "mpi") {
    throw InputError(option, " takes mpi, mpi:NAME or tcp://HOST:PORT, not \"", text, "\"");
  }
  if (files.name_server.empty()) address.files.name_server = DefaultNameServerFile();
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
  std::string process;
  std::getline(lines, process);
  std::getline(lines, server.address);
  if (server.uri.find("://") == std::string::npos) {
    throw InputError(file.string(), " is not a name server's file; scripts/name-server writes one");
  }
  return server;
}

}  // namespace cacheinf
