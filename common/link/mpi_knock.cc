#include "common/link/mpi_knock.h"

#include <fcntl.h>
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
#include <iterator>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "common/link/interface.h"
#include "common/link/ip_address.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr char kGreeting[] = "cacheinf/1";
constexpr char kQuestion[] = " ?";
constexpr milliseconds kPatience(1000);  // for a visitor who says nothing
constexpr size_t kMostVisitors = 256;    // then the one who has said nothing for longest goes
constexpr milliseconds kBreath(50);      // where there is no file for another
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

// Listens at an address, or at all (empty): on IPv4 and IPv6, or on IPv4 alone where the system has
// no IPv6.
Descriptor Listen(const std::string& only) {
  const std::vector<std::string> all = {"::", "0.0.0.0"};
  for (const std::string& text : only.empty() ? all : std::vector<std::string>{only}) {
    const std::optional<IpAddress> address = ParseIpAddress(text, 0);
    if (!address) continue;
    Descriptor socket(::socket(address->family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) continue;
    const int no = 0;
    if (text == "::") setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
    if (bind(socket.get(), address->get(), address->size()) == 0 &&
        listen(socket.get(), SOMAXCONN) == 0) {
      return socket;
    }
  }
  ThrowSystemError("no TCP port can be opened");
}

// Whether the sender of the last bytes has hung up, or sent them so long ago that nobody waits for
// an answer any more: a process that was stopped finds all visitors of that time.
bool HasGivenUp(const Descriptor& connection) {
  char byte = 0;
  const ssize_t count = recv(connection.get(), &byte, 1, MSG_PEEK);
  if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return true;
  tcp_info info = {};
  socklen_t size = sizeof(info);
  return getsockopt(connection.get(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
         milliseconds(info.tcpi_last_data_recv) > kPatience;
}

int PortOf(const Descriptor& socket) {
  IpAddress bound;
  socklen_t size = sizeof(bound.storage);
  if (getsockname(socket.get(), bound.get(), &size) != 0) ThrowSystemError("getsockname");
  return bound.port();
}

// Addresses of this machine, loopback last.
std::vector<std::string> OwnAddresses() {
  std::vector<std::string> addresses;
  for (const bool is_loopback : {false, true}) {
    for (const Interface& each : OwnInterfaces()) {
      if (each.is_loopback == is_loopback) addresses.push_back(each.address);
    }
  }
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
  const std::optional<IpAddress> peer = ParseIpAddress(address, port);
  if (!peer) return {};
  Descriptor socket(::socket(peer->family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return {};
  if (connect(socket.get(), peer->get(), peer->size()) == 0) return socket;
  if (errno != EINPROGRESS || !WaitFor(socket, POLLOUT, until)) return {};
  int error = 0;
  socklen_t error_size = sizeof(error);
  getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &error_size);
  return error == 0 ? std::move(socket) : Descriptor();
}

}  // namespace

KnockListener::KnockListener(const std::string& only)
    : socket_(Listen(only)), token_(RandomToken()) {
  published_ = std::string(kGreeting) + " " + token_ + " " + std::to_string(PortOf(socket_));
  for (const std::string& address : only.empty() ? OwnAddresses() : std::vector{only}) {
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
  for (;;) {
    Descriptor connection(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection) {
      // Else poll would find them waiting again and again.
      const bool lacks_files = errno == EMFILE || errno == ENFILE;
      if (!lacks_files) break;
      if (visitors_.empty()) {
        std::this_thread::sleep_for(kBreath);
        break;
      }
      visitors_.pop_front();
      continue;
    }
    visitors_.push_back({std::move(connection), "", now + kPatience});
    Descriptor robot = Hear(&visitors_.back(), now);
    if (!visitors_.back().connection) visitors_.pop_back();
    if (robot) return robot;
    if (visitors_.size() > kMostVisitors) visitors_.pop_front();
  }
  Descriptor robot;
  for (auto visitor = visitors_.begin(); visitor != visitors_.end() && !robot;) {
    robot = Hear(&*visitor, now);
    visitor = visitor->connection ? std::next(visitor) : visitors_.erase(visitor);
  }
  return robot;
}

// Returns the connection of a robot that has said the right words; drops a visitor who says
// anything else, or nothing in time.
Descriptor KnockListener::Hear(Visitor* visitor, steady_clock::time_point now) const {
  const std::string knock = std::string(kGreeting) + " " + token_;
  std::array<char, 64> bytes;
  const ssize_t count = recv(visitor->connection.get(), bytes.data(), bytes.size(), 0);
  const bool is_waiting = count < 0 && (errno == EAGAIN || errno == EINTR);
  if (count > 0) visitor->text.append(bytes.data(), static_cast<size_t>(count));
  const bool is_robot = visitor->text == knock + "\n";
  const bool is_question = visitor->text == knock + kQuestion + "\n";
  const bool may_become_one = (knock + "\n").starts_with(visitor->text) ||
                              (knock + kQuestion + "\n").starts_with(visitor->text);
  const bool is_over = (count <= 0 && !is_waiting) || now > visitor->until;
  if (!is_robot && !is_question && may_become_one && !is_over) return {};
  Descriptor connection = std::exchange(visitor->connection, Descriptor());
  const bool is_greeted =
      (is_robot || is_question) && !HasGivenUp(connection) && WriteLine(connection, kGreeting);
  return is_robot && is_greeted ? std::move(connection) : Descriptor();
}

namespace {

// Says the token, and perhaps more, to the first who answers.
Descriptor Greet(const std::string& published, const std::string& more, milliseconds at_most) {
  std::istringstream words(published);
  std::string greeting;
  std::string token;
  int port = 0;
  words >> greeting >> token >> port;
  if (greeting != kGreeting || port <= 0 || port > 65535) return {};
  for (std::string address; words >> address;) {
    Descriptor connection = Connect(address, port, steady_clock::now() + at_most);
    if (connection && WriteLine(connection, greeting + " " + token + more) &&
        ReadLine(connection, at_most) == greeting) {
      return connection;
    }
  }
  return {};
}

}  // namespace

bool IsAnswered(const std::string& published, milliseconds at_most) {
  return static_cast<bool>(Greet(published, kQuestion, at_most));
}

Descriptor Knock(const std::string& published, milliseconds at_most) {
  return Greet(published, "", at_most);
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
