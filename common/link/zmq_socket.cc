#include "common/link/zmq_socket.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>

#include "common/link/link.h"

namespace cacheinf {
namespace {

constexpr int kPackets = 2;             // to leave, in ZeroMQ's own queue
constexpr int kSendBuffer = 64 * 1024;  // of the system; the channel's credit bounds the rest
constexpr int kReceiveBuffer = 256 * 1024;
constexpr int kMostOverhead = 64;  // of CURVE in a message
constexpr int kHandshakeMs = 3000;
constexpr int kConnectMs = 3000;
constexpr int kSilentMs = 5000;  // then the system lets go of a connection
constexpr int kFirstProbeS = 2;  // of one in silence
constexpr int kProbes = 3;

[[noreturn]] void Throw(const std::string& what) {
  throw std::runtime_error("ZeroMQ: " + what + ": " + zmq_strerror(zmq_errno()));
}

// Throws std::system_error if the system cannot give two more threads. ZeroMQ takes two with a
// context's first socket, and aborts if it cannot have them.
void TryTwoThreads() {
  const auto wait = [](const std::stop_token& stop) {
    while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::microseconds(20));
  };
  const std::jthread first(wait);
  const std::jthread second(wait);
}

}  // namespace

ZmqContext MakeZmqContext() {
  TryTwoThreads();
  ZmqContext context(zmq_ctx_new(), [](void* made) {
    while (made != nullptr && zmq_ctx_term(made) != 0 && zmq_errno() == EINTR) {
    }
  });
  if (!context) Throw("no context");
  return context;
}

std::span<const uint8_t> ZmqPart::bytes() const {
  return {static_cast<const uint8_t*>(zmq_msg_data(&message_)), zmq_msg_size(&message_)};
}

std::string ZmqPart::text() const {
  return {static_cast<const char*>(zmq_msg_data(&message_)), zmq_msg_size(&message_)};
}

std::string ZmqPart::sender_key() const {
  const char* const key = zmq_msg_gets(&message_, "User-Id");
  return key == nullptr ? "" : key;
}

ZmqSocket::ZmqSocket(ZmqContext context, int type)
    : context_(std::move(context)), socket_(zmq_socket(context_.get(), type), &zmq_close) {
  if (!socket_) Throw("no socket");
}

void ZmqSocket::Set(int option, int value) {
  if (zmq_setsockopt(get(), option, &value, sizeof(value)) != 0) Throw("option");
}

void ZmqSocket::Set(int option, std::span<const uint8_t> value) {
  if (zmq_setsockopt(get(), option, value.data(), value.size()) != 0) Throw("option");
}

void ZmqSocket::SetForPeers(const KeyPair* own) {
  Set(ZMQ_SNDHWM, kPackets);
  // libzmq 4.3.4 ends the process if it has to answer on a connection that failed while its queue
  // of received packets was full. So that queue is never full (it is emptied at once), and there
  // are no heartbeats of ZeroMQ's.
  Set(ZMQ_RCVHWM, 0);
  Set(ZMQ_SNDBUF, kSendBuffer);
  Set(ZMQ_RCVBUF, kReceiveBuffer);
  Set(ZMQ_HANDSHAKE_IVL, kHandshakeMs);
  Set(ZMQ_CONNECT_TIMEOUT, kConnectMs);
  Set(ZMQ_TCP_MAXRT, kSilentMs);
  Set(ZMQ_TCP_KEEPALIVE, 1);
  Set(ZMQ_TCP_KEEPALIVE_IDLE, kFirstProbeS);
  Set(ZMQ_TCP_KEEPALIVE_INTVL, 1);
  Set(ZMQ_TCP_KEEPALIVE_CNT, kProbes);
  Set(ZMQ_LINGER, kZmqLingerMs);
  Set(ZMQ_RECONNECT_IVL, -1);
  const auto largest = static_cast<int64_t>(Link::kLargestPacket) + kMostOverhead;
  if (zmq_setsockopt(get(), ZMQ_MAXMSGSIZE, &largest, sizeof(largest)) != 0) Throw("option");
  if (own == nullptr) return;
  Set(ZMQ_CURVE_PUBLICKEY, own->open);
  Set(ZMQ_CURVE_SECRETKEY, own->secret);
}

int ZmqSocket::events() const {
  int events = 0;
  size_t size = sizeof(events);
  while (zmq_getsockopt(get(), ZMQ_EVENTS, &events, &size) != 0 && zmq_errno() == EINTR) {
  }
  return events;
}

int ZmqSocket::descriptor() const {
  int descriptor = -1;
  size_t size = sizeof(descriptor);
  if (zmq_getsockopt(get(), ZMQ_FD, &descriptor, &size) != 0) Throw("descriptor");
  return descriptor;
}

ZmqSocket::Sent ZmqSocket::Send(std::span<const uint8_t> bytes, bool has_more) {
  const int flags = ZMQ_DONTWAIT | (has_more ? ZMQ_SNDMORE : 0);
  if (zmq_send(get(), bytes.data(), bytes.size(), flags) >= 0) return Sent::kYes;
  return zmq_errno() == EHOSTUNREACH ? Sent::kNobody : Sent::kNoRoom;
}

void ZmqSocket::SendLast() {
  const int room = kPackets + 1;
  zmq_setsockopt(get(), ZMQ_SNDHWM, &room, sizeof(room));
  Send({});
}

bool ZmqSocket::Receive(ZmqPart* part) {
  return zmq_msg_recv(&part->message_, get(), ZMQ_DONTWAIT) >= 0;
}

ZmqSocket ZmqSocket::Monitor(int events) {
  static std::atomic<uint64_t> count = 0;
  const std::string endpoint = "inproc://monitor-" + std::to_string(count++);
  if (zmq_socket_monitor(get(), endpoint.c_str(), events) != 0) Throw("monitor");
  ZmqSocket monitor(context_, ZMQ_PAIR);
  if (zmq_connect(monitor.get(), endpoint.c_str()) != 0) Throw("monitor");
  return monitor;
}

}  // namespace cacheinf
