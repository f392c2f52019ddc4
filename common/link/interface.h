#ifndef CACHEINF_COMMON_LINK_INTERFACE_H_
#define CACHEINF_COMMON_LINK_INTERFACE_H_

#include <optional>
#include <string>
#include <vector>

namespace cacheinf {

// An address of this machine in a network.
struct Interface {
  std::string name;     // "eth0"
  std::string address;  // IPv4 or IPv6, as a number
  bool is_loopback = false;
};

// The interfaces that are up, without link-local addresses; IPv4 first.
std::vector<Interface> OwnInterfaces();

// Finds one by its name or address. Throws InputError, naming the option and the interfaces that
// exist.
Interface FindInterface(const std::string& option, const std::string& text);

// The interface by which this machine reaches an address; none if it cannot. Sends nothing.
std::optional<Interface> InterfaceTowards(const std::string& address);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_INTERFACE_H_
