#ifndef CACHEINF_COMMON_LINK_MPI_LINK_H_
#define CACHEINF_COMMON_LINK_MPI_LINK_H_

#include <chrono>
#include <memory>
#include <string>

#include "common/link/address.h"
#include "common/link/link.h"

namespace cacheinf {

// How long may take what Open MPI may hang in for ever; it is then given up and begun again.
struct MpiLimits {
  std::chrono::milliseconds start{10000};   // MPI, and the process that Open MPI starts for it
  std::chrono::milliseconds ask{1000};      // the name server
  std::chrono::milliseconds knock{15000};   // until the server has started MPI for this robot
  std::chrono::milliseconds connect{2000};  // by MPI, once both sides are ready
};

// A robot's side: connects to a server over MPI, again and again. Without a name both belong to one
// mpirun, and MPI runs in this process; else each connection has a process of its own, which can be
// killed when Open MPI hangs. One thread at a time uses it, but the links may have others.
class MpiConnector {
 public:
  // Throws InputError if this cannot work: a build without MPI, no mpirun, no name server's file,
  // or one of another Open MPI. Within mpirun it waits for the other programs.
  explicit MpiConnector(const LinkAddress& address, const MpiLimits& limits = {});
  ~MpiConnector();

  // The next link, once it stands; null until then. Never waits. To be called now and then while
  // a link is wanted, and not while the last one is in use.
  std::unique_ptr<Link> Poll();

  // One sentence: why there is no link yet. Empty if nothing is known to be wrong.
  const std::string& problem() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A server's side. One thread at a time uses it, but each link may have its own.
class MpiListener {
 public:
  // Ready when it returns. Throws InputError as MpiConnector does, and where the name server does
  // not answer.
  explicit MpiListener(const LinkAddress& address, const MpiLimits& limits = {});
  ~MpiListener();

  // The link of the next robot; null: none came within that time.
  std::unique_ptr<Link> Accept(std::chrono::milliseconds at_most);

  // Within mpirun: all robots have ended, and no link will ever come.
  bool is_finished() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_MPI_LINK_H_
