#ifndef CACHEINF_COMMON_LINK_LINK_ENDS_H_
#define CACHEINF_COMMON_LINK_LINK_ENDS_H_

#include <chrono>
#include <memory>
#include <string>

#include "common/link/address.h"
#include "common/link/link.h"

namespace cacheinf {

class MpiConnector;
class MpiListener;
class ZmqConnector;
class ZmqListener;

// A robot's side of any address; mpi_link.h and zmq_link.h say how they connect.
class LinkConnector {
 public:
  // Throws InputError if no server can be there. Does not look for one, so it is quick.
  static void Check(const LinkAddress& address);

  // Throws InputError as Check does, and if this build or machine cannot connect that way.
  explicit LinkConnector(const LinkAddress& address);
  ~LinkConnector();

  // Returns the next link once it stands; null until then. Never waits. Call now and then while a
  // link is wanted, but not while the last one is in use.
  std::unique_ptr<Link> Poll();

  // Why there is no link yet, in one sentence. Empty if nothing is known to be wrong.
  const std::string& problem() const;

 private:
  std::unique_ptr<MpiConnector> mpi_;  // or
  std::unique_ptr<ZmqConnector> zmq_;
};

// A server's side.
class LinkListener {
 public:
  // Listens when it returns. Throws InputError if it cannot.
  explicit LinkListener(const LinkAddress& address);
  ~LinkListener();

  // Returns the next robot's link; null if none came within `at_most`.
  std::unique_ptr<Link> Accept(std::chrono::milliseconds at_most);

  // Whether no link will ever come.
  bool is_finished() const;

 private:
  std::unique_ptr<MpiListener> mpi_;  // or
  std::unique_ptr<ZmqListener> zmq_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_LINK_ENDS_H_
