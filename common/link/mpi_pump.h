#ifndef CACHEINF_COMMON_LINK_MPI_PUMP_H_
#define CACHEINF_COMMON_LINK_MPI_PUMP_H_

#include <mpi.h>

#include <array>
#include <cstdint>
#include <string>

#include "common/link/packet_queue.h"

namespace cacheinf {

// Moves packets between two queues and a peer, each as a message of bytes. MPI reads and writes the
// queues' slots. Never blocks. An empty message is the last one.
class MpiPump {
 public:
  // REQUIRES: the communicator returns errors; the queues outlive the pump.
  MpiPump(MPI_Comm communicator, int peer, int tag, PacketQueue* outgoing, PacketQueue* incoming);
  MpiPump(const MpiPump&) = delete;
  MpiPump& operator=(const MpiPump&) = delete;

  // Returns whether anything was moved.
  bool Pump();

  // Whether there are packets that MPI has not got yet.
  bool has_more_to_send() const { return sent_ != outgoing_.written; }

  // Tells the peer that nothing follows what is in the queue.
  void End() { is_ending_ = true; }
  // Whether the peer was told.
  bool has_ended() const { return has_ended_; }
  bool has_peer_ended() const { return has_peer_ended_; }

  // MPI's complaint; empty: none.
  const std::string& error() const { return error_; }

  // Cancels posted receives; do not pump after it. Returns false if a message is still on its way:
  // MPI then uses the queues, which must stay where they are.
  bool Cancel();

 private:
  bool PumpIn();
  bool PumpOut();
  bool Check(int result);
  bool IsDone(MPI_Request* request, int* bytes = nullptr);

  MPI_Comm communicator_;
  const int peer_;
  const int tag_;
  PacketQueue& outgoing_;
  PacketQueue& incoming_;
  std::array<MPI_Request, PacketQueue::kSlots> sends_;
  std::array<MPI_Request, PacketQueue::kSlots> receives_;
  MPI_Request end_ = MPI_REQUEST_NULL;
  uint32_t sent_ = 0;    // packets of `outgoing` given to MPI
  uint32_t posted_ = 0;  // slots of `incoming` ever given to MPI
  bool is_ending_ = false;
  bool is_end_sent_ = false;
  bool has_ended_ = false;
  bool has_peer_ended_ = false;
  std::string error_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_MPI_PUMP_H_
