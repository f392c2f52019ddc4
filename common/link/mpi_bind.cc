#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

// Open MPI 4.1 listens at every address of a machine, whatever interfaces it is told to use. So its
// programs, and cacheinf-mpi-child, get this in place of the system's call: a socket that would be
// bound to every address is bound to $CACHEINF_BIND instead.

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the system's are reserved
extern "C" __attribute__((visibility("default"))) int bind(int socket, const sockaddr* address,
                                                           socklen_t size) noexcept {
  sockaddr_storage only = {};
  const char* const text = std::getenv("CACHEINF_BIND");
  if (text != nullptr && address != nullptr && size <= sizeof(only)) {
    std::memcpy(&only, address, size);
    auto& v4 = reinterpret_cast<sockaddr_in&>(only);
    auto& v6 = reinterpret_cast<sockaddr_in6&>(only);
    if (only.ss_family == AF_INET && v4.sin_addr.s_addr == htonl(INADDR_ANY)) {
      if (inet_pton(AF_INET, text, &v4.sin_addr) != 1) v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    } else if (only.ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr)) {
      if (inet_pton(AF_INET6, text, &v6.sin6_addr) != 1) v6.sin6_addr = IN6ADDR_LOOPBACK_INIT;
    }
    address = reinterpret_cast<const sockaddr*>(&only);
  }
  return static_cast<int>(syscall(SYS_bind, socket, address, size));
}
