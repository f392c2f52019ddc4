#include "common/link/mpi_world.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/link/mpi_pump.h"
#include "common/link/packet_queue.h"

namespace cacheinf {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

// A link's tag is its number, from 1. With this tag a robot tells the server the number of a link
// that it opens, and 0 when it leaves.
constexpr int kNewsTag = 0;
constexpr std::chrono::milliseconds kEndPatience(500);
// A message waits for 2 % of the silence before it, within these limits.
constexpr std::chrono::microseconds kShortestSleep(50);
constexpr std::chrono::microseconds kLongestSleep(2000);

// One thread at a time calls MPI.
std::mutex& MpiMutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

struct MpiWorld::Wire {
  Wire(int peer, int tag) : pump(MPI_COMM_WORLD, peer, tag, &outgoing, &incoming) {}

  PacketQueue outgoing{};
  PacketQueue incoming{};
  MpiPump pump;
};

class MpiWorld::WorldLink final : public Link {
 public:
  WorldLink(std::shared_ptr<MpiWorld> world, int peer, int tag)
      : world_(std::move(world)), wire_(std::make_unique<Wire>(peer, tag)) {}

  ~WorldLink() override {
    const std::lock_guard lock(MpiMutex());
    wire_->pump.End();
    wire_->pump.Pump();
    world_->closing_.push_back(std::move(wire_));
  }

  bool Send(std::span<const uint8_t> packet) override {
    wants_room_ = !wire_->outgoing.Push(packet);
    Pump();
    return !wants_room_;
  }

  bool Receive(std::vector<uint8_t>* packet) override {
    if (wire_->incoming.empty()) Pump();
    return wire_->incoming.Pop(packet);
  }

  void Wait(nanoseconds at_most) override {
    const auto until = steady_clock::now() + at_most;
    for (;;) {
      Pump();
      const auto now = steady_clock::now();
      if (now >= until || !wire_->incoming.empty() || !fault().empty() ||
          (wants_room_ && !wire_->outgoing.full())) {
        return;
      }
      const nanoseconds interval =
          std::clamp<nanoseconds>((now - moved_at_) / 50, kShortestSleep, kLongestSleep);
      std::this_thread::sleep_for(std::min<nanoseconds>(until - now, interval));
    }
  }

  std::string fault() const override {
    const MpiPump& pump = wire_->pump;
    if (!pump.error().empty()) return "the connection broke: " + pump.error();
    return pump.has_peer_ended() ? "the peer ended the connection" : "";
  }

 private:
  void Pump() {
    const std::lock_guard lock(MpiMutex());
    if (wire_->pump.Pump()) moved_at_ = steady_clock::now();
  }

  const std::shared_ptr<MpiWorld> world_;
  std::unique_ptr<Wire> wire_;
  steady_clock::time_point moved_at_ = steady_clock::now();
  bool wants_room_ = false;
};

std::shared_ptr<MpiWorld> MpiWorld::Join(bool is_server) {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr) {
    throw InputError(
        "mpi without a name is for programs that one mpirun starts; otherwise give both sides "
        "mpi:NAME");
  }
  return std::shared_ptr<MpiWorld>(new MpiWorld(is_server));
}

MpiWorld::MpiWorld(bool is_server) : is_server_(is_server) {
  // A program that leaves first must not wait for the others.
  setenv("OMPI_MCA_async_mpi_finalize", "1", 0);
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level);
  if (level < MPI_THREAD_SERIALIZED) throw std::runtime_error("this MPI allows no threads");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int programs = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &programs);
  std::vector<int> servers(static_cast<size_t>(programs));
  const int own = is_server ? 1 : 0;
  MPI_Allgather(&own, 1, MPI_INT, servers.data(), 1, MPI_INT, MPI_COMM_WORLD);
  if (std::ranges::count(servers, 1) != 1) {
    MPI_Finalize();
    throw InputError("among the programs of one mpirun exactly one must be a server");
  }
  server_ = static_cast<int>(std::ranges::find(servers, 1) - servers.begin());
  robots_ = programs - 1;
}

MpiWorld::~MpiWorld() {
  const std::lock_guard lock(MpiMutex());
  if (!is_server_) Tell(0);
  if (hearing_ != MPI_REQUEST_NULL) {
    MPI_Cancel(&hearing_);
    MPI_Request_free(&hearing_);
  }
  const auto until = steady_clock::now() + kEndPatience;
  const auto has_ended = [](const std::unique_ptr<Wire>& wire) {
    wire->pump.Pump();
    return wire->pump.has_ended() || !wire->pump.error().empty();
  };
  while (!std::ranges::all_of(closing_, has_ended) && steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  for (std::unique_ptr<Wire>& wire : closing_) {
    if (!wire->pump.Cancel()) static_cast<void>(wire.release());  // MPI still uses it
  }
  MPI_Finalize();
}

void MpiWorld::Tell(int32_t number) {
  MPI_Request request = MPI_REQUEST_NULL;
  // So few bytes have already left when this returns.
  MPI_Isend(&number, sizeof(number), MPI_BYTE, server_, kNewsTag, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
}

// Releases wires that both ends have ended.
void MpiWorld::DropEnded() {
  std::vector<uint8_t> unread;
  std::erase_if(closing_, [&unread](const std::unique_ptr<Wire>& wire) {
    while (wire->incoming.Pop(&unread)) continue;
    wire->pump.Pump();
    const bool is_over = wire->pump.has_ended() && wire->pump.has_peer_ended();
    return (is_over || !wire->pump.error().empty()) && wire->pump.Cancel();
  });
}

std::unique_ptr<Link> MpiWorld::Connect() {
  const std::lock_guard lock(MpiMutex());
  DropEnded();
  Tell(++links_);
  return std::make_unique<WorldLink>(shared_from_this(), server_, links_);
}

std::unique_ptr<Link> MpiWorld::Accept() {
  const std::lock_guard lock(MpiMutex());
  DropEnded();
  for (;;) {
    if (hearing_ == MPI_REQUEST_NULL) {
      MPI_Irecv(heard_.data(), sizeof(heard_), MPI_BYTE, MPI_ANY_SOURCE, kNewsTag, MPI_COMM_WORLD,
                &hearing_);
    }
    int has_heard = 0;
    MPI_Status status;
    if (MPI_Test(&hearing_, &has_heard, &status) != MPI_SUCCESS || has_heard == 0) return nullptr;
    if (heard_[0] > 0) {
      return std::make_unique<WorldLink>(shared_from_this(), status.MPI_SOURCE, heard_[0]);
    }
    ++robots_left_;
  }
}

}  // namespace cacheinf
