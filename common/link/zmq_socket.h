#ifndef CACHEINF_COMMON_LINK_ZMQ_SOCKET_H_
#define CACHEINF_COMMON_LINK_ZMQ_SOCKET_H_

#include <zmq.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "common/link/keys.h"
#include "common/link/wire.h"  // IWYU pragma: export

namespace cacheinf {

// ZeroMQ's own threads, for all sockets that hold it. The last holder waits at most half a second
// for sent messages to leave.
using ZmqContext = std::shared_ptr<void>;

inline constexpr int kZmqLingerMs = 500;

// Throws std::runtime_error if the system gives no thread.
ZmqContext MakeZmqContext();

// A received part of a message.
class ZmqPart {
 public:
  ZmqPart() { zmq_msg_init(&message_); }
  ~ZmqPart() { zmq_msg_close(&message_); }
  ZmqPart(const ZmqPart&) = delete;
  ZmqPart& operator=(const ZmqPart&) = delete;

  std::span<const uint8_t> bytes() const;
  std::string text() const;
  bool has_more() const { return zmq_msg_more(&message_) != 0; }
  // The public key's text by which the sender was let in; empty if it needed none.
  std::string sender_key() const;

 private:
  friend class ZmqSocket;
  mutable zmq_msg_t message_;
};

// A socket of ZeroMQ; never waits. For one thread at a time.
class ZmqSocket {
 public:
  // Throws std::runtime_error if the system has no more of them.
  ZmqSocket(ZmqContext context, int type);
  ZmqSocket(ZmqSocket&&) = default;
  ZmqSocket& operator=(ZmqSocket&&) = delete;  // would let go of the context before the socket

  // REQUIRES: values that ZeroMQ takes.
  void Set(int option, int value);
  void Set(int option, std::span<const uint8_t> value);
  // Sets the options of all sockets between machines: limits of buffers and times, and the keys.
  void SetForPeers(const KeyPair* own);

  // The socket's own events: ZMQ_POLLIN and ZMQ_POLLOUT.
  int events() const;
  // For poll: readable when `events` may have changed.
  int descriptor() const;

  enum class Sent : uint8_t { kYes, kNoRoom, kNobody };
  Sent Send(std::span<const uint8_t> bytes, bool has_more = false);
  // Sends an empty message, which ends a connection, even where there is no room for another
  // packet.
  void SendLast();
  // Replaces `part` by the next; false if there is none.
  bool Receive(ZmqPart* part);

  // A socket that hears what happens to this one's connections.
  ZmqSocket Monitor(int events);

  void* get() const { return socket_.get(); }

 private:
  ZmqContext context_;
  std::unique_ptr<void, int (*)(void*)> socket_;
};

inline std::span<const uint8_t> BytesOf(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_ZMQ_SOCKET_H_
