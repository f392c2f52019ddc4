#include <poll.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>

#include "common/base/error.h"
#include "common/base/printable.h"
#include "common/link/keys.h"
#include "common/link/zmq_link.h"
#include "common/link/zmq_socket.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kAttempt(5000);
constexpr milliseconds kFirstPause(250);
constexpr milliseconds kLongestPause(2000);
constexpr int kMostJitter = 4;  // a pause is longer by up to a quarter

constexpr int kEvents = ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
                        ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                        ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;

// The next event of a connection; 0: none.
int NextEvent(ZmqSocket* monitor) {
  ZmqPart part;
  if (!monitor->Receive(&part)) return 0;
  uint16_t event = 0;
  if (part.bytes().size() >= sizeof(event)) std::memcpy(&event, part.bytes().data(), sizeof(event));
  while (part.has_more() && monitor->Receive(&part)) {
  }
  return event;
}

class RobotLink final : public Link {
 public:
  RobotLink(ZmqSocket socket, ZmqSocket monitor)
      : socket_(std::move(socket)), monitor_(std::move(monitor)) {}

  ~RobotLink() override {
    if (fault_.empty()) socket_.SendLast();
  }
  RobotLink(const RobotLink&) = delete;
  RobotLink& operator=(const RobotLink&) = delete;

  bool Send(std::span<const uint8_t> packet) override {
    const bool is_sent = fault_.empty() && socket_.Send(packet) == ZmqSocket::Sent::kYes;
    wants_room_ = !is_sent;
    return is_sent;
  }

  bool Receive(std::vector<uint8_t>* packet) override {
    if (has_ended_ || !socket_.Receive(&part_)) {
      Hear();
      return false;
    }
    const size_t size = part_.bytes().size();
    if (size == 0 || size > kLargestPacket || part_.has_more()) {
      has_ended_ = true;
      fault_ = size == 0 ? LastWords() : "the peer sent what is no packet";
      return false;
    }
    packet->assign(part_.bytes().begin(), part_.bytes().end());
    return true;
  }

  void Wait(std::chrono::nanoseconds at_most) override {
    const int wanted = ZMQ_POLLIN | (wants_room_ ? ZMQ_POLLOUT : 0);
    if (fault_.empty() && (socket_.events() & wanted) == 0) {
      const timespec limit = {static_cast<time_t>(at_most.count() / 1'000'000'000),
                              static_cast<long>(at_most.count() % 1'000'000'000)};
      std::array<pollfd, 2> waited = {pollfd{socket_.descriptor(), POLLIN, 0},
                                      pollfd{monitor_.descriptor(), POLLIN, 0}};
      ppoll(waited.data(), waited.size(), &limit, nullptr);
    }
    Hear();
  }

  std::string fault() const override { return fault_; }

 private:
  // An empty part ends the connection; a second one says why.
  std::string LastWords() {
    if (!part_.has_more() || !socket_.Receive(&part_)) return "the peer ended the connection";
    return "the peer ended the connection: " + Printable(part_.text());
  }

  // Messages that came before the connection was lost are received first: they may say why.
  void Hear() {
    while (const int event = NextEvent(&monitor_)) {
      if ((event & (ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED)) != 0) is_lost_ = true;
    }
    if (is_lost_ && fault_.empty() && (socket_.events() & ZMQ_POLLIN) == 0) {
      fault_ = "the connection was lost";
    }
  }

  ZmqSocket socket_;
  ZmqSocket monitor_;
  ZmqPart part_;
  bool wants_room_ = false;
  bool has_ended_ = false;
  bool is_lost_ = false;
  std::string fault_;
};

struct RobotSideKeys {
  KeyPair own;
  PublicKey server{};
};

// None: this machine only.
std::optional<RobotSideKeys> ReadKeysForServer(const LinkAddress& address) {
  const std::string where = address.endpoint();
  if (address.host == "*" || address.port == 0) {
    throw InputError("--server ", where, ": a robot needs to know one host and its port");
  }
  const bool has_own = !address.files.key.empty();
  const bool has_server = !address.files.trusted.empty();
  if (has_own != has_server || (!has_own && !address.is_loopback())) {
    throw InputError("--server ", where,
                     " needs --robot-key with the robot's own secret key and --server-key with the "
                     "server's public one; cacheinf-server keygen makes keys");
  }
  if (!has_own) return std::nullopt;
  return RobotSideKeys{ReadKeyPair(address.files.key), ReadPublicKey(address.files.trusted)};
}

}  // namespace

struct ZmqConnector::State {
  // One socket for one connection, which does not connect again.
  struct Attempt {
    explicit Attempt(ZmqSocket made) : socket(std::move(made)), monitor(socket.Monitor(kEvents)) {}

    ZmqSocket socket;
    ZmqSocket monitor;
    steady_clock::time_point until = steady_clock::now() + kAttempt;
    bool is_through = false;  // both know each other
  };

  explicit State(const LinkAddress& where) : address(where), keys(ReadKeysForServer(where)) {}

  void Begin();
  // Why the attempt has failed; empty: it has not.
  std::string Failure();
  std::unique_ptr<Link> TakeLink();
  void Pause(std::string why);

  const LinkAddress address;
  const std::optional<RobotSideKeys> keys;
  const ZmqContext context = MakeZmqContext();
  std::optional<Attempt> attempt;
  steady_clock::time_point next_try;
  milliseconds pause = kFirstPause;
  std::minstd_rand random{std::random_device()()};
  std::string problem;
};

void ZmqConnector::State::Begin() {
  ZmqSocket socket(context, ZMQ_DEALER);
  socket.SetForPeers(keys ? &keys->own : nullptr);
  if (keys) socket.Set(ZMQ_CURVE_SERVERKEY, keys->server);
  if (address.host.starts_with('[')) socket.Set(ZMQ_IPV6, 1);
  socket.Set(ZMQ_LINGER, 0);  // until there is a server
  attempt.emplace(std::move(socket));
  LinkAddress found = address;
  // ZeroMQ would look for a server only at IPv6's address, or only at IPv4's.
  if (found.host == "localhost") found.host = "127.0.0.1";
  if (zmq_connect(attempt->socket.get(), found.endpoint().c_str()) != 0) {
    Pause("the address " + address.endpoint() + " cannot be used: " + zmq_strerror(zmq_errno()));
    return;
  }
  attempt->socket.Send(BytesOf(kZmqHello));
}

std::string ZmqConnector::State::Failure() {
  const std::string where = address.endpoint();
  while (const int event = NextEvent(&attempt->monitor)) {
    switch (event) {
      case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
        attempt->is_through = true;
        break;
      case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
        return "the server at " + where + " does not have this robot's key in its list: " +
               (keys ? ToText(keys->own.open) : "it has none");
      case ZMQ_EVENT_CLOSED:
        return "nobody listens at " + where;
      default:
        if (attempt->is_through) return "the server at " + where + " ended the connection";
        return "no handshake with what listens at " + where + ": " +
               (keys ? "it hangs, it is no server of CacheInf, it does not list this robot's key, "
                       "it has another key than --server-key says, or it has none"
                     : "it hangs, it is no server of CacheInf, or it wants keys");
    }
  }
  if (steady_clock::now() < attempt->until) return "";
  return attempt->is_through
             ? "the server at " + where + " is not answering"
             : "nobody answers at " + where + ": it is off or out of reach, or its name is unknown";
}

std::unique_ptr<Link> ZmqConnector::State::TakeLink() {
  ZmqPart reply;
  if (!attempt->socket.Receive(&reply)) return nullptr;
  if (reply.text() != kZmqHello) {
    Pause("the server at " + address.endpoint() + " says: " + Printable(reply.text()));
    return nullptr;
  }
  attempt->socket.Set(ZMQ_LINGER, kZmqLingerMs);
  auto link = std::make_unique<RobotLink>(std::move(attempt->socket), std::move(attempt->monitor));
  attempt.reset();
  pause = kFirstPause;
  problem.clear();
  return link;
}

void ZmqConnector::State::Pause(std::string why) {
  attempt.reset();
  problem = std::move(why);
  const auto jitter = pause.count() / kMostJitter;
  next_try = steady_clock::now() + pause +
             milliseconds(std::uniform_int_distribution<int64_t>(0, jitter)(random));
  pause = std::min(2 * pause, kLongestPause);
}

void ZmqConnector::Check(const LinkAddress& address) { (void)ReadKeysForServer(address); }

ZmqConnector::ZmqConnector(const LinkAddress& address) : state_(std::make_unique<State>(address)) {}

ZmqConnector::~ZmqConnector() = default;

std::unique_ptr<Link> ZmqConnector::Poll() {
  State& state = *state_;
  try {
    if (!state.attempt) {
      if (steady_clock::now() >= state.next_try) state.Begin();
      return nullptr;
    }
    std::unique_ptr<Link> link = state.TakeLink();
    if (link || !state.attempt) return link;
    if (std::string failure = state.Failure(); !failure.empty()) state.Pause(std::move(failure));
  } catch (const std::runtime_error& error) {  // the system gives no socket
    state.Pause(error.what());
  }
  return nullptr;
}

const std::string& ZmqConnector::problem() const { return state_->problem; }

}  // namespace cacheinf
