#include "common/link/interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <system_error>

#include "common/base/error.h"
#include "common/link/descriptor.h"
#include "common/link/ip_address.h"

namespace cacheinf {
namespace {

// Nothing if it is no address, or a link-local one.
std::optional<std::string> TextOf(const sockaddr* address) {
  if (address == nullptr) return std::nullopt;
  const void* number = nullptr;
  if (address->sa_family == AF_INET) {
    number = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  } else if (address->sa_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    if (!IN6_IS_ADDR_LINKLOCAL(&v6)) number = &v6;
  }
  std::array<char, INET6_ADDRSTRLEN> text;
  if (number == nullptr ||
      inet_ntop(address->sa_family, number, text.data(), text.size()) == nullptr) {
    return std::nullopt;
  }
  return text.data();
}

}  // namespace

std::vector<Interface> OwnInterfaces() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) {
    throw std::system_error(errno, std::generic_category(), "getifaddrs");
  }
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(first, &freeifaddrs);
  std::vector<Interface> found;
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    const std::optional<std::string> address = TextOf(each->ifa_addr);
    if (!address || (each->ifa_flags & IFF_UP) == 0) continue;
    found.push_back({each->ifa_name, *address, (each->ifa_flags & IFF_LOOPBACK) != 0});
  }
  std::stable_partition(found.begin(), found.end(), [](const Interface& each) {
    return each.address.find(':') == std::string::npos;
  });
  return found;
}

Interface FindInterface(const std::string& option, const std::string& text) {
  std::string names;
  for (const Interface& each : OwnInterfaces()) {
    if (each.name == text || each.address == text) return each;
    names += (names.empty() ? "" : ", ") + each.name + " (" + each.address + ")";
  }
  throw InputError(option, ": this machine has no interface \"", text, "\", but ", names);
}

std::optional<Interface> InterfaceTowards(const std::string& address) {
  constexpr int kAnyPort = 9;
  const std::optional<IpAddress> peer = ParseIpAddress(address, kAnyPort);
  if (!peer) return std::nullopt;
  const Descriptor socket(::socket(peer->family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  IpAddress own;
  socklen_t size = sizeof(own.storage);
  if (!socket || connect(socket.get(), peer->get(), peer->size()) != 0 ||
      getsockname(socket.get(), own.get(), &size) != 0) {
    return std::nullopt;
  }
  const std::optional<std::string> text = TextOf(own.get());
  for (const Interface& each : OwnInterfaces()) {
    if (each.address == text) return each;
  }
  return std::nullopt;
}

}  // namespace cacheinf
