#ifndef CACHEINF_COMMON_LINK_IP_ADDRESS_H_
#define CACHEINF_COMMON_LINK_IP_ADDRESS_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

namespace cacheinf {

// An IPv4 or IPv6 address with a port, as the system's calls take it.
struct IpAddress {
  sockaddr_storage storage = {};

  int family() const { return storage.ss_family; }
  socklen_t size() const {
    return family() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  }
  int port() const {
    return ntohs(family() == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(storage).sin6_port
                                      : reinterpret_cast<const sockaddr_in&>(storage).sin_port);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

// Nothing if the text is not a numeric address.
inline std::optional<IpAddress> ParseIpAddress(const std::string& text, int port) {
  IpAddress address;
  auto& v4 = reinterpret_cast<sockaddr_in&>(address.storage);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address.storage);
  const in_port_t port_there = htons(static_cast<uint16_t>(port));
  if (inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = port_there;
    return address;
  }
  if (inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) != 1) return std::nullopt;
  v6.sin6_family = AF_INET6;
  v6.sin6_port = port_there;
  return address;
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_IP_ADDRESS_H_
