#include "common/link/mpi_knock.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <system_error>

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr char kGreeting[] = "cacheinf/1";
constexpr milliseconds kPatience(1000);  // for a visitor who says nothing
constexpr size_t kMostVisitors = 64;
constexpr size_t kLongestLine = 1024;
constexpr size_t kLongestPublished = 900;  // MPI takes 1024

[[noreturn]] void ThrowSystemError(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

std::string RandomToken() {
  std::array<unsigned char, 8> bytes;
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    ThrowSystemError("getrandom");
  }
  std::string token;
  for (const unsigned char byte : bytes) {
    std::array<char, 3> digits;
    std::snprintf(digits.data(), digits.size(), "%02x", byte);
    token += digits.data();
  }
  return token;
}

// Listens on IPv4 and IPv6, or on IPv4 alone where the system has no IPv6.
Descriptor Listen() {
  for (const int family : {AF_INET6, AF_INET}) {
    Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) continue;
    const int no = 0;
    if (family == AF_INET6) setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
    sockaddr_storage any = {};
    any.ss_family = static_cast<sa_family_t>(family);
    const socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&any), size) == 0 &&
        listen(socket.get(), SOMAXCONN) == 0) {
      return socket;
    }
  }
  ThrowSystemError("no TCP port can be opened");
}

int PortOf(const Descriptor& socket) {
  sockaddr_storage bound = {};
  socklen_t size = sizeof(bound);
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
    ThrowSystemError("getsockname");
  }
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                           : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
}

// Addresses of this machine, loopback last, without link-local ones.
std::vector<std::string> OwnAddresses() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) ThrowSystemError("getifaddrs");
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(first, &freeifaddrs);
  std::vector<std::string> addresses;
  std::vector<std::string> loopback;
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_UP) == 0) continue;
    const void* number = nullptr;
    if (each->ifa_addr->sa_family == AF_INET) {
      number = &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr;
    } else if (each->ifa_addr->sa_family == AF_INET6) {
      const auto& address = reinterpret_cast<const sockaddr_in6*>(each->ifa_addr)->sin6_addr;
      if (!IN6_IS_ADDR_LINKLOCAL(&address)) number = &address;
    }
    std::array<char, INET6_ADDRSTRLEN> text;
    if (number == nullptr ||
        inet_ntop(each->ifa_addr->sa_family, number, text.data(), text.size()) == nullptr) {
      continue;
    }
    ((each->ifa_flags & IFF_LOOPBACK) != 0 ? loopback : addresses).emplace_back(text.data());
  }
  addresses.insert(addresses.end(), loopback.begin(), loopback.end());
  return addresses;
}

bool WaitFor(const Descriptor& connection, int16_t events, steady_clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(until - steady_clock::now());
    pollfd waited = {connection.get(), events, 0};
    const int count = poll(&waited, 1, std::max(0, static_cast<int>(left.count()) + 1));
    if (count > 0) return true;
    if (count == 0 || errno != EINTR) return false;
  }
}

Descriptor Connect(const std::string& address, int port, steady_clock::time_point until) {
  sockaddr_storage peer = {};
  socklen_t size = 0;
  auto& v4 = reinterpret_cast<sockaddr_in&>(peer);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(peer);
  if (inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<uint16_t>(port));
    size = sizeof(v4);
  } else if (inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(static_cast<uint16_t>(port));
    size = sizeof(v6);
  } else {
    return {};
  }
  Descriptor socket(::socket(peer.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return {};
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&peer), size) == 0) return socket;
  if (errno != EINPROGRESS || !WaitFor(socket, POLLOUT, until)) return {};
  int error = 0;
  socklen_t error_size = sizeof(error);
  getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &error_size);
  return error == 0 ? std::move(socket) : Descriptor();
}

}  // namespace

KnockListener::KnockListener() : socket_(Listen()), token_(RandomToken()) {
  published_ = std::string(kGreeting) + " " + token_ + " " + std::to_string(PortOf(socket_));
  for (const std::string& address : OwnAddresses()) {
    if (published_.size() + 1 + address.size() <= kLongestPublished) published_ += " " + address;
  }
}

std::vector<int> KnockListener::descriptors() const {
  std::vector<int> descriptors = {socket_.get()};
  for (const Visitor& visitor : visitors_) descriptors.push_back(visitor.connection.get());
  return descriptors;
}

Descriptor KnockListener::Accept() {
  const auto now = steady_clock::now();
  while (visitors_.size() < kMostVisitors) {
    Descriptor connection(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection) break;
    visitors_.push_back({std::move(connection), "", now + kPatience});
  }
  const std::string expected = std::string(kGreeting) + " " + token_ + "\n";
  for (size_t i = 0; i < visitors_.size();) {
    Visitor& visitor = visitors_[i];
    std::array<char, 64> bytes;
    const ssize_t count = recv(visitor.connection.get(), bytes.data(), bytes.size(), 0);
    const bool is_waiting = count < 0 && (errno == EAGAIN || errno == EINTR);
    if (count > 0) visitor.text.append(bytes.data(), static_cast<size_t>(count));
    if (visitor.text == expected) {
      Descriptor connection = std::move(visitor.connection);
      visitors_.erase(visitors_.begin() + static_cast<ptrdiff_t>(i));
      if (WriteLine(connection, kGreeting)) return connection;
    } else if ((count <= 0 && !is_waiting) || now > visitor.until ||
               !expected.starts_with(visitor.text)) {
      visitors_.erase(visitors_.begin() + static_cast<ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  return {};
}

Descriptor Knock(const std::string& published, milliseconds at_most) {
  std::istringstream words(published);
  std::string greeting;
  std::string token;
  int port = 0;
  words >> greeting >> token >> port;
  if (greeting != kGreeting || port <= 0 || port > 65535) return {};
  for (std::string address; words >> address;) {
    Descriptor connection = Connect(address, port, steady_clock::now() + at_most);
    if (connection && WriteLine(connection, greeting + " " + token) &&
        ReadLine(connection, at_most) == greeting) {
      return connection;
    }
  }
  return {};
}

std::optional<std::string> ReadLine(const Descriptor& connection, milliseconds at_most) {
  const auto until = steady_clock::now() + at_most;
  std::string line;
  // Byte by byte, to leave what follows the line.
  while (line.size() < kLongestLine && WaitFor(connection, POLLIN, until)) {
    char byte = 0;
    const ssize_t count = recv(connection.get(), &byte, 1, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count <= 0) break;
    if (byte == '\n') return line;
    line += byte;
  }
  return std::nullopt;
}

bool WriteLine(const Descriptor& connection, const std::string& line) {
  const std::string bytes = line + "\n";
  return send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

}  // namespace cacheinf
