#ifndef CACHEINF_COMMON_LINK_ZMQ_LINK_H_
#define CACHEINF_COMMON_LINK_ZMQ_LINK_H_

#include <chrono>
#include <memory>
#include <string>

#include "common/link/address.h"
#include "common/link/link.h"

namespace cacheinf {

// Links between machines: messages of ZeroMQ over TCP, encrypted by CURVE. Each side knows the
// other's public key; without keys they meet on one machine only.

// A robot's side: connects to a server again and again. For one thread at a time; links may have
// their own threads.
class ZmqConnector {
 public:
  // Throws InputError if no server can be at the address, or a key is missing or wrong. Looks for
  // no server.
  static void Check(const LinkAddress& address);

  // Throws as Check does.
  explicit ZmqConnector(const LinkAddress& address);
  ~ZmqConnector();

  // Returns the next link once the server has greeted; null until then. Never waits. Call now and
  // then while a link is wanted, but not while the last one is in use.
  std::unique_ptr<Link> Poll();

  // Why there is no link yet, in one sentence. Empty if nothing is known to be wrong.
  const std::string& problem() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A server's side: a thread moves the packets of all its links. A robot whose key is struck from
// the list loses its link within a second. For one thread at a time; links may have their own
// threads, and outlive it, broken.
class ZmqListener {
 public:
  // Listens when it returns. Throws InputError as Check does, and if the port is not available.
  explicit ZmqListener(const LinkAddress& address);
  // Waits at most half a second for sent packets to leave.
  ~ZmqListener();

  // The port at which it listens; if asked for port 0, the one that the system chose.
  int port() const;

  // Returns the next robot's link; null if none came within `at_most`.
  std::unique_ptr<Link> Accept(std::chrono::milliseconds at_most);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_ZMQ_LINK_H_
