#ifndef CACHEINF_COMMON_LINK_MPI_CHILD_H_
#define CACHEINF_COMMON_LINK_MPI_CHILD_H_

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/link/descriptor.h"
#include "common/link/interface.h"
#include "common/link/link.h"
#include "common/link/mpi_child_protocol.h"
#include "common/link/mpi_link.h"

namespace cacheinf {

// What Open MPI may use, beyond its defaults.
struct MpiNetwork {
  std::string name_server;             // its URI
  std::optional<Interface> interface;  // the only one; none: all
};

// A separate process, cacheinf-mpi-child, that speaks MPI with one peer, and our end of the link to
// it. Nothing that happens to MPI there can block this process. The program is $CACHEINF_MPI_CHILD,
// or lies beside this one or in $PATH.
class MpiChild final : public Link {
 public:
  enum class State { kStarting, kConnected, kDone, kGone };

  // Reaps children that have ended by themselves. So does starting another.
  static void BuryDead();

  // Each starts a process, or throws std::runtime_error: InputError if the program is missing.
  static std::unique_ptr<MpiChild> Publish(const MpiNetwork& network, const std::string& name,
                                           const std::string& value, const MpiLimits& limits);
  static std::unique_ptr<MpiChild> Connect(const MpiNetwork& network, const std::string& name,
                                           const MpiLimits& limits);
  static std::unique_ptr<MpiChild> Accept(const MpiNetwork& network, const Descriptor& knock,
                                          const MpiLimits& limits);
  // Does not wait. What was sent still leaves if that takes less than half a second.
  ~MpiChild() override;
  MpiChild(const MpiChild&) = delete;
  MpiChild& operator=(const MpiChild&) = delete;

  // Takes the child's messages, and kills it if it takes too long.
  State Poll();
  // Why nobody is connected yet, or any more. Empty: nothing is known.
  const std::string& sentence() const { return sentence_; }
  // For poll: readable when Poll has something to do.
  int descriptor() const { return socket_.get(); }

  bool Send(std::span<const uint8_t> packet) override;
  bool Receive(std::vector<uint8_t>* packet) override;
  void Wait(std::chrono::nanoseconds at_most) override;
  void Rest(std::chrono::nanoseconds interval) override;
  std::string fault() const override;

 private:
  explicit MpiChild(const MpiLimits& limits);
  // Starts the program with these arguments and the sockets and files to inherit.
  void Start(const MpiNetwork& network, std::vector<std::string> words, std::vector<int> inherited);
  void Kill();
  Descriptor ShareMemory();
  void Hear();
  void Take(MpiChildLetter letter, const std::string& sentence);
  void SetLimit(const char* doing, std::chrono::milliseconds at_most);
  void EndBecause(const std::string& why);

  const MpiLimits limits_;
  Descriptor socket_;
  pid_t process_ = -1;
  std::filesystem::path folder_;  // the process's own, for files that Open MPI leaves behind
  MpiChildMemory* memory_ = nullptr;
  State state_ = State::kStarting;
  std::string sentence_;
  const char* doing_ = nullptr;  // what must end by `until_`
  std::chrono::steady_clock::time_point until_;
  bool wants_room_ = false;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_MPI_CHILD_H_
