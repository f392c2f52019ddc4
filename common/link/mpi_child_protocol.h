#ifndef CACHEINF_COMMON_LINK_MPI_CHILD_PROTOCOL_H_
#define CACHEINF_COMMON_LINK_MPI_CHILD_PROTOCOL_H_

#include <sys/socket.h>

#include <atomic>
#include <cstdint>

#include "common/link/packet_queue.h"

namespace cacheinf {

// What a program and the process that speaks MPI for it, cacheinf-mpi-child, have in common: this
// memory, and a socket that carries messages of one letter and perhaps a sentence. A program that
// closes the socket without kEnd has died.
struct MpiChildMemory {
  PacketQueue to_peer;
  PacketQueue from_peer;
  // Whoever sleeps says so, to be sent kWake when there is something to do.
  std::atomic<uint32_t> is_parent_asleep;
  std::atomic<uint32_t> is_child_asleep;
};

enum class MpiChildLetter : char {
  kWake = 'w',  // to either side
  kEnd = 'e',   // to the child: the peer is to have all that was sent, and to know that it was all
  // What the child does from now on; before the first one, it starts MPI.
  kAsking = 'a',     // the name server
  kKnocking = 'k',   // at the server
  kMeeting = 'm',    // MPI connects
  kConnected = 'c',  // packets move
  kDone = 'd',       // the name is published
  kResting = 'r',    // nobody is there, says the sentence; it tries again
  kGone = 'g',       // the connection is, for the reason that the sentence says
};

// Sleepers are woken once.
inline void Wake(std::atomic<uint32_t>* is_asleep, int socket) {
  if (is_asleep->load() == 0 || is_asleep->exchange(0) == 0) return;
  const auto letter = MpiChildLetter::kWake;
  send(socket, &letter, sizeof(letter), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_MPI_CHILD_PROTOCOL_H_
