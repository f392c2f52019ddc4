#include "common/link/mpi_pump.h"

#include <algorithm>

namespace cacheinf {

MpiPump::MpiPump(MPI_Comm communicator, int peer, int tag, PacketQueue* outgoing,
                 PacketQueue* incoming)
    : communicator_(communicator),
      peer_(peer),
      tag_(tag),
      outgoing_(*outgoing),
      incoming_(*incoming) {
  sends_.fill(MPI_REQUEST_NULL);
  receives_.fill(MPI_REQUEST_NULL);
}

bool MpiPump::Pump() {
  const bool has_received = PumpIn();
  const bool has_sent = PumpOut();
  return has_received || has_sent;
}

bool MpiPump::PumpIn() {
  bool has_moved = false;
  while (error_.empty() && !has_peer_ended_ && posted_ - incoming_.read < PacketQueue::kSlots) {
    PacketQueue::Slot& slot = incoming_.slot(posted_);
    MPI_Request& request = receives_[posted_ % PacketQueue::kSlots];
    if (!Check(MPI_Irecv(slot.bytes.data(), static_cast<int>(slot.bytes.size()), MPI_BYTE, peer_,
                         tag_, communicator_, &request))) {
      break;
    }
    ++posted_;
  }
  while (error_.empty() && !has_peer_ended_ && incoming_.written != posted_) {
    const uint32_t number = incoming_.written;
    int bytes = 0;
    if (!IsDone(&receives_[number % PacketQueue::kSlots], &bytes)) break;
    has_moved = true;
    if (bytes == 0) {
      has_peer_ended_ = true;
    } else {
      incoming_.slot(number).size = static_cast<uint32_t>(bytes);
      ++incoming_.written;
    }
  }
  return has_moved;
}

bool MpiPump::PumpOut() {
  bool has_moved = false;
  while (error_.empty() && sent_ != outgoing_.written) {
    PacketQueue::Slot& slot = outgoing_.slot(sent_);
    const auto bytes = static_cast<int>(std::min<size_t>(slot.size, slot.bytes.size()));
    if (!Check(MPI_Isend(slot.bytes.data(), bytes, MPI_BYTE, peer_, tag_, communicator_,
                         &sends_[sent_ % PacketQueue::kSlots]))) {
      break;
    }
    ++sent_;
    has_moved = true;
  }
  while (error_.empty() && outgoing_.read != sent_ &&
         IsDone(&sends_[outgoing_.read % PacketQueue::kSlots])) {
    ++outgoing_.read;
    has_moved = true;
  }
  if (is_ending_ && error_.empty() && !is_end_sent_) {
    is_end_sent_ = Check(MPI_Isend(nullptr, 0, MPI_BYTE, peer_, tag_, communicator_, &end_));
  }
  if (is_end_sent_ && error_.empty() && outgoing_.empty() && !has_ended_)
    has_ended_ = IsDone(&end_);
  return has_moved;
}

bool MpiPump::Check(int result) {
  if (result == MPI_SUCCESS) return true;
  std::array<char, MPI_MAX_ERROR_STRING> text;
  int length = 0;
  MPI_Error_string(result, text.data(), &length);
  error_ = "MPI says " + std::string(text.data(), static_cast<size_t>(length));
  return false;
}

bool MpiPump::IsDone(MPI_Request* request, int* bytes) {
  int is_done = 0;
  MPI_Status status;
  if (!Check(MPI_Test(request, &is_done, &status)) || is_done == 0) return false;
  if (bytes != nullptr) MPI_Get_count(&status, MPI_BYTE, bytes);
  return true;
}

bool MpiPump::Cancel() {
  bool is_free = outgoing_.read == sent_;
  for (MPI_Request& request : receives_) {
    if (request == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&request);
    is_free = IsDone(&request) && is_free;
  }
  return is_free;
}

}  // namespace cacheinf
