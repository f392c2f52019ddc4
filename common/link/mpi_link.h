#ifndef CACHEINF_COMMON_LINK_MPI_LINK_H_
#define CACHEINF_COMMON_LINK_MPI_LINK_H_

#include <chrono>
#include <memory>
#include <string>

#include "common/link/address.h"
#include "common/link/link.h"

namespace cacheinf {

// Time limits for calls that may hang forever in Open MPI; beyond them the call is dropped and
// begun again.
struct MpiLimits {
  std::chrono::milliseconds start{10000};   // MPI and the process that Open MPI starts for it
  std::chrono::milliseconds ask{1000};      // the name server
  std::chrono::milliseconds knock{15000};   // until the server has started MPI for this robot
  std::chrono::milliseconds connect{2000};  // by MPI, once both sides are ready
};

// A robot's side: connects to a server over MPI, again and again. Without a name both belong to one
// mpirun, and MPI runs in this process. With one, each connection has its own process, which can be
// killed when Open MPI hangs. For one thread at a time; links may have their own threads.
class MpiConnector {
 public:
  // Waits for the other programs within mpirun. Throws InputError if this cannot work: a build
  // without MPI, no mpirun, no name server's file, or one of another Open MPI.
  explicit MpiConnector(const LinkAddress& address, const MpiLimits& limits = {});
  ~MpiConnector();

  // Returns the next link once it stands; null until then. Never waits. Call now and then while a
  // link is wanted, but not while the last one is in use.
  std::unique_ptr<Link> Poll();

  // Why there is no link yet, in one sentence. Empty if nothing is known to be wrong.
  const std::string& problem() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A server's side. For one thread at a time; links may have their own threads.
class MpiListener {
 public:
  // Listens when it returns. Throws InputError as MpiConnector does, and if the name server does
  // not answer.
  explicit MpiListener(const LinkAddress& address, const MpiLimits& limits = {});
  ~MpiListener();

  // Returns the next robot's link; null if none came within `at_most`.
  std::unique_ptr<Link> Accept(std::chrono::milliseconds at_most);

  // Within mpirun: whether all robots have ended, so that no link will ever come.
  bool is_finished() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_MPI_LINK_H_
