#ifndef CACHEINF_COMMON_LINK_MPI_CHILD_PROTOCOL_H_
#define CACHEINF_COMMON_LINK_MPI_CHILD_PROTOCOL_H_

#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "common/link/packet_queue.h"

namespace cacheinf {

// What a program shares with the process that speaks MPI for it, cacheinf-mpi-child: this memory,
// and a socket for messages of one letter and perhaps a sentence. A program that closes the socket
// without kEnd has died.
struct MpiChildMemory {
  PacketQueue to_peer;
  PacketQueue from_peer;
  // A side that sleeps sets its flag; the other side then sends kWake when there is something to
  // do.
  std::atomic<uint32_t> is_parent_asleep;
  std::atomic<uint32_t> is_child_asleep;
  // How long the parent will not look for packets. The child need not look sooner.
  std::atomic<uint32_t> parent_rests_us;
};

enum class MpiChildLetter : char {
  kWake = 'w',  // to either side
  kEnd = 'e',   // to the child: let the peer have all that was sent, and know that it was all
  // What the child does from now on. Before the first of these it starts MPI.
  kAsking = 'a',     // the name server
  kKnocking = 'k',   // at the server
  kMeeting = 'm',    // MPI connects
  kConnected = 'c',  // packets move
  kDone = 'd',       // the name is published
  kResting = 'r',    // nobody is there, for the reason in the sentence; it tries again
  kGone = 'g',       // the connection is gone, for the reason in the sentence
};

// Removes a folder from which Open MPI's own process may be removing files, too.
inline void RemoveFolder(const std::filesystem::path& folder) {
  constexpr int kTries = 5;
  std::error_code error;
  for (int i = 0; i < kTries; ++i) {
    std::filesystem::remove_all(folder, error);
    if (!error) return;
  }
}

// Wakes a sleeper once.
inline void Wake(std::atomic<uint32_t>* is_asleep, int socket) {
  if (is_asleep->load() == 0 || is_asleep->exchange(0) == 0) return;
  const auto letter = MpiChildLetter::kWake;
  send(socket, &letter, sizeof(letter), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_MPI_CHILD_PROTOCOL_H_
