#ifndef CACHEINF_COMMON_LINK_MPI_CHILD_H_
#define CACHEINF_COMMON_LINK_MPI_CHILD_H_

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/link/descriptor.h"
#include "common/link/link.h"
#include "common/link/mpi_child_protocol.h"
#include "common/link/mpi_link.h"

namespace cacheinf {

// A process of its own, cacheinf-mpi-child, that speaks MPI with one peer, and the end of the link
// to it. Nothing that happens to MPI in there can block this process. The program lies beside this
// one or in $PATH, or is what $CACHEINF_MPI_CHILD names.
class MpiChild final : public Link {
 public:
  enum class State { kStarting, kConnected, kDone, kGone };

  // Those that have ended by themselves leave nothing behind; so does starting another.
  static void BuryDead();

  // Each starts one, or throws std::runtime_error. `uri` is the name server's.
  static std::unique_ptr<MpiChild> Publish(const std::string& uri, const std::string& name,
                                           const std::string& value, const MpiLimits& limits);
  static std::unique_ptr<MpiChild> Connect(const std::string& uri, const std::string& name,
                                           const MpiLimits& limits);
  static std::unique_ptr<MpiChild> Accept(const std::string& uri, const Descriptor& knock,
                                          const MpiLimits& limits);
  // Does not wait. What was sent still leaves, if that takes less than half a second.
  ~MpiChild() override;
  MpiChild(const MpiChild&) = delete;
  MpiChild& operator=(const MpiChild&) = delete;

  // Hears what the child has to say, and kills it if it takes too long.
  State Poll();
  // Why nobody is connected yet, or no longer. Empty: nothing is known yet.
  const std::string& sentence() const { return sentence_; }
  // For poll: readable when Poll is worth a call.
  int descriptor() const { return socket_.get(); }

  bool Send(std::span<const uint8_t> packet) override;
  bool Receive(std::vector<uint8_t>* packet) override;
  void Wait(std::chrono::nanoseconds at_most) override;
  std::string fault() const override;

 private:
  explicit MpiChild(const MpiLimits& limits);
  // Starts the program with these words and the sockets and files that it inherits.
  void Start(const std::string& uri, std::vector<std::string> words, std::vector<int> inherited);
  Descriptor ShareMemory();
  void Hear();
  void Take(MpiChildLetter letter, const std::string& sentence);
  void SetLimit(const char* doing, std::chrono::milliseconds at_most);
  void EndBecause(const std::string& why);

  const MpiLimits limits_;
  Descriptor socket_;
  pid_t process_ = -1;
  MpiChildMemory* memory_ = nullptr;
  State state_ = State::kStarting;
  std::string sentence_;
  const char* doing_ = nullptr;  // what it may not take longer for than `until`
  std::chrono::steady_clock::time_point until_;
  bool wants_room_ = false;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_MPI_CHILD_H_
