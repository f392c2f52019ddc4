#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "common/link/descriptor.h"
#include "common/link/mpi_child_protocol.h"
#include "common/link/mpi_knock.h"
#include "common/link/mpi_pump.h"
#include "common/link/user_name.h"

// Speaks MPI for a robot or server that mpirun did not start. Open MPI's connect and look-up hang
// for good when the other side dies, and then only killing the process helps.
//
//   cacheinf-mpi-child publish SOCKET NAME VALUE     gives a name to where a server can be found
//   cacheinf-mpi-child connect SOCKET MEMORY NAME    a robot's side of a connection
//   cacheinf-mpi-child accept SOCKET MEMORY KNOCK    a server's side, for the robot that knocked
//
// SOCKET, MEMORY and KNOCK are file descriptors.

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr milliseconds kRest(500);             // between look-ups of an unknown name
constexpr milliseconds kAddressPatience(400);  // for an address that does not answer
constexpr milliseconds kPortPatience(12000);   // until the server's MPI has started
constexpr milliseconds kEndPatience(500);      // for the last packets to leave
constexpr milliseconds kDrainPatience(50);     // for packets of a peer that is gone
constexpr milliseconds kHangupPatience(800);   // after a side is gone; then end whatever hangs
constexpr milliseconds kSilence(1);
constexpr nanoseconds kShortestSleep = microseconds(50);
constexpr nanoseconds kLongestSleep = milliseconds(50);
constexpr milliseconds kSettlePatience(1500);
constexpr int kTag = 1;
constexpr int kSettleTag = 2;

// Open MPI would leave folders. Never MPI_Finalize: it may wait for a peer that is gone.
[[noreturn]] void EndProcess() {
  const char* const folder = std::getenv("TMPDIR");
  if (folder != nullptr && fs::path(folder).filename().string().starts_with("cacheinf-mpi-")) {
    RemoveFolder(folder);
  }
  _exit(0);
}

// The program that started this one.
class Parent {
 public:
  explicit Parent(int socket) : socket_(socket) {
    // The process that Open MPI starts must not keep the connections open.
    fcntl(socket, F_SETFD, FD_CLOEXEC);
    std::thread([socket] {
      pollfd parent = {socket, 0, 0};
      while (poll(&parent, 1, -1) < 0 && errno == EINTR) {
      }
      std::this_thread::sleep_for(kHangupPatience);
      EndProcess();
    }).detach();
  }

  int socket() const { return socket_; }

  void Tell(MpiChildLetter letter, const std::string& sentence = "") const {
    const std::string message = static_cast<char>(letter) + sentence;
    send(socket_, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  [[noreturn]] void Leave(const std::string& why) const {
    Tell(MpiChildLetter::kGone, why);
    EndProcess();
  }

 private:
  const int socket_;
};

bool IsAtEnd(ssize_t received) {
  return received == 0 || (received < 0 && errno != EAGAIN && errno != EINTR);
}

// A local socket that was closed with unread messages first reports ECONNRESET; what it sent
// follows.
bool IsParentAtEnd(ssize_t received) { return IsAtEnd(received) && errno != ECONNRESET; }

// If somebody connects to MPI's port and sends half a word, MPI reads without end. Once nobody else
// is expected, nobody can connect.
void StopListening() {
  const Descriptor silence(eventfd(0, EFD_CLOEXEC));
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::atoi(entry.path().filename().c_str());
    int listens = 0;
    socklen_t size = sizeof(listens);
    if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0) {
      dup2(silence.get(), descriptor);  // MPI goes on to poll it
    }
  }
}

// Moves packets between parent and peer until one of them ends the connection.
class Carrier {
 public:
  Carrier(const Parent& parent, MPI_Comm peer, MpiChildMemory* memory, const Descriptor& knock)
      : parent_(parent),
        peer_(peer),
        memory_(*memory),
        knock_(knock.get()),
        pump_(peer, 0, kTag, &memory->to_peer, &memory->from_peer) {
    MPI_Comm_set_errhandler(peer, MPI_ERRORS_RETURN);
    // MPI may hang in a send to a peer that died.
    std::thread([&parent, socket = knock_] {
      pollfd gone = {socket, POLLRDHUP, 0};
      while (poll(&gone, 1, -1) < 0 && errno == EINTR) {
      }
      std::this_thread::sleep_for(kHangupPatience);
      parent.Leave("the connection was lost");
    }).detach();
  }

  [[noreturn]] void Run() {
    if (!Settle()) parent_.Leave("MPI connected, but carries nothing");
    StopListening();
    parent_.Tell(MpiChildLetter::kConnected);
    while (is_peer_there_ && !pump_.has_peer_ended() && pump_.error().empty()) {
      memory_.is_child_asleep = 1;
      if (!Pump()) Sleep();
      memory_.is_child_asleep = 0;
      if (has_parent_ended_) End();
    }
    // Packets that the peer sent before it died may still be on their way.
    const auto until = steady_clock::now() + kDrainPatience;
    while (!is_peer_there_ && pump_.error().empty() && steady_clock::now() < until) Pump();
    if (!pump_.error().empty()) parent_.Leave("the connection broke: " + pump_.error());
    parent_.Leave(pump_.has_peer_ended() ? "the peer ended the connection"
                                         : "the connection was lost");
  }

 private:
  // Uses all connections that MPI wants between the two.
  bool Settle() {
    constexpr int kMessages = 8;  // MPI takes its networks in turn
    std::array<char, 2 * kMessages> bytes = {};
    std::array<MPI_Request, 2 * kMessages> requests;
    for (int i = 0; i < kMessages; ++i) {
      MPI_Isend(&bytes[i], 1, MPI_BYTE, 0, kSettleTag, peer_, &requests[i]);
      MPI_Irecv(&bytes[kMessages + i], 1, MPI_BYTE, 0, kSettleTag, peer_, &requests[kMessages + i]);
    }
    const auto until = steady_clock::now() + kSettlePatience;
    int is_done = 0;
    while (steady_clock::now() < until &&
           MPI_Testall(2 * kMessages, requests.data(), &is_done, MPI_STATUSES_IGNORE) ==
               MPI_SUCCESS &&
           is_done == 0) {
      std::this_thread::sleep_for(kShortestSleep);
    }
    return is_done != 0;
  }

  bool Pump() {
    const bool is_sending = pump_.has_more_to_send();
    if (!pump_.Pump()) return false;
    const auto now = steady_clock::now();
    // MPI's messages wake nobody. So the first one after a silence is followed by a byte on the
    // socket; later ones find the peer awake.
    if (is_sending && now - moved_at_ > kSilence) {
      const char byte = 0;
      send(knock_, &byte, sizeof(byte), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    moved_at_ = now;
    Wake(&memory_.is_parent_asleep, parent_.socket());
    return true;
  }

  // Sleeps until parent or peer may have something. Looks less and less often for an announced
  // message that is late, and no more often than the parent would take it.
  void Sleep() {
    nanoseconds interval = (steady_clock::now() - moved_at_) / 10;
    if (memory_.to_peer.empty()) {
      interval = std::max<nanoseconds>(interval, microseconds(memory_.parent_rests_us));
    }
    const nanoseconds at_most = std::clamp<nanoseconds>(interval, kShortestSleep, kLongestSleep);
    const timespec limit = {0, static_cast<long>(at_most.count())};
    std::array<pollfd, 2> waited = {pollfd{parent_.socket(), POLLIN, 0}, pollfd{knock_, POLLIN, 0}};
    if (ppoll(waited.data(), waited.size(), &limit, nullptr) <= 0) return;
    if (waited[0].revents != 0) {
      auto letter = MpiChildLetter::kWake;
      errno = 0;
      if (IsParentAtEnd(recv(parent_.socket(), &letter, sizeof(letter), MSG_DONTWAIT)))
        EndProcess();
      has_parent_ended_ = letter == MpiChildLetter::kEnd;
    }
    if (waited[1].revents != 0) {
      std::array<char, 64> bytes;
      is_peer_there_ = !IsAtEnd(recv(knock_, bytes.data(), bytes.size(), MSG_DONTWAIT));
      moved_at_ = steady_clock::now();
    }
  }

  // The peer takes everything that the parent sent, and hangs up.
  [[noreturn]] void End() {
    pump_.End();
    const auto until = steady_clock::now() + kEndPatience;
    std::array<char, 64> bytes;
    while (pump_.error().empty() && !pump_.has_peer_ended() && steady_clock::now() < until &&
           !IsAtEnd(recv(knock_, bytes.data(), bytes.size(), MSG_DONTWAIT))) {
      if (!Pump()) std::this_thread::sleep_for(kShortestSleep);
    }
    EndProcess();
  }

  const Parent& parent_;
  MPI_Comm peer_;
  MpiChildMemory& memory_;
  const int knock_;
  MpiPump pump_;
  steady_clock::time_point moved_at_ = steady_clock::now();
  bool has_parent_ended_ = false;
  bool is_peer_there_ = true;
};

fs::path BindLibrary() {
  std::error_code error;
  const fs::path beside =
      fs::read_symlink("/proc/self/exe", error).parent_path() / "cacheinf-mpi-bind.so";
  return fs::exists(beside, error) ? beside : fs::path();
}

void StartMpi() {
  // For the process that MPI starts (mpi_bind.cc).
  if (std::getenv("CACHEINF_BIND") != nullptr) setenv("LD_PRELOAD", BindLibrary().c_str(), 1);
  // MPI looks there for its orted, which must be of the same build.
  const char* const path = std::getenv("PATH");
  const std::string programs = CACHEINF_MPI_PROGRAMS;
  setenv("PATH", path == nullptr ? programs.c_str() : (programs + ":" + path).c_str(), 1);
  MPI_Init(nullptr, nullptr);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

// Keeps our names apart from others at the same name server.
std::string ServiceName(const std::string& name) { return "cacheinf/" + name; }

// Returns what is published under the name; empty if the name server does not know it.
std::string Lookup(const Parent& parent, const std::string& name) {
  parent.Tell(MpiChildLetter::kAsking);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "ompi_lookup_order", "global");
  std::array<char, MPI_MAX_PORT_NAME> published = {};
  const int result = MPI_Lookup_name(ServiceName(name).c_str(), info, published.data());
  MPI_Info_free(&info);
  return result == MPI_SUCCESS ? published.data() : "";
}

[[noreturn]] void Publish(const Parent& parent, const std::string& name, const std::string& value) {
  StartMpi();
  // A server that has died may have left the name; one that hangs loses it.
  if (const std::string other = Lookup(parent, name); !other.empty() && other != value) {
    parent.Tell(MpiChildLetter::kKnocking);
    if (IsAnswered(other, kAddressPatience)) parent.Leave("another server has it");
    parent.Tell(MpiChildLetter::kAsking);
  }
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "ompi_global_scope", "true");
  if (MPI_Publish_name(ServiceName(name).c_str(), info, value.c_str()) != MPI_SUCCESS) {
    parent.Leave("the name server did not take the name " + name);
  }
  parent.Tell(MpiChildLetter::kDone);
  EndProcess();  // the name server keeps the name
}

// Returns why nobody is there.
std::string ConnectOnce(const Parent& parent, MpiChildMemory* memory, const std::string& name) {
  const std::string published = Lookup(parent, name);
  if (published.empty()) {
    return "the name server knows no server " + name + " that user " + UserName() + " has started";
  }
  parent.Tell(MpiChildLetter::kKnocking);
  const Descriptor knock = Knock(published, kAddressPatience);
  if (!knock) return "the server " + name + " does not answer";
  std::string port = ReadLine(knock, kPortPatience).value_or("");
  if (port.empty()) return "the server " + name + " could not open a connection";
  if (port.front() == kRefusal) return "the server " + name + " says: " + port.substr(1);
  parent.Tell(MpiChildLetter::kMeeting);
  port.resize(MPI_MAX_PORT_NAME);
  MPI_Comm server = MPI_COMM_NULL;
  if (MPI_Comm_connect(port.c_str(), MPI_INFO_NULL, 0, MPI_COMM_SELF, &server) != MPI_SUCCESS) {
    parent.Leave("MPI did not connect to the server " + name);
  }
  Carrier(parent, server, memory, knock).Run();
}

// Tries until it finds the server, then runs until the end.
[[noreturn]] void Connect(const Parent& parent, MpiChildMemory* memory, const std::string& name) {
  StartMpi();
  for (;;) {
    const std::string why = ConnectOnce(parent, memory, name);
    parent.Tell(MpiChildLetter::kResting, why);
    std::this_thread::sleep_for(kRest);
  }
}

[[noreturn]] void Accept(const Parent& parent, MpiChildMemory* memory, const Descriptor& knock) {
  fcntl(knock.get(), F_SETFD, FD_CLOEXEC);
  StartMpi();
  std::array<char, MPI_MAX_PORT_NAME> port = {};
  if (MPI_Open_port(MPI_INFO_NULL, port.data()) != MPI_SUCCESS) {
    parent.Leave("MPI opens no port");
  }
  parent.Tell(MpiChildLetter::kMeeting);
  if (!WriteLine(knock, port.data())) parent.Leave("it went away");
  MPI_Comm robot = MPI_COMM_NULL;
  if (MPI_Comm_accept(port.data(), MPI_INFO_NULL, 0, MPI_COMM_SELF, &robot) != MPI_SUCCESS) {
    parent.Leave("MPI did not accept it");
  }
  Carrier(parent, robot, memory, knock).Run();
}

MpiChildMemory* MapMemory(int descriptor) {
  struct stat status = {};
  if (fstat(descriptor, &status) != 0 || status.st_size != sizeof(MpiChildMemory)) return nullptr;
  void* const memory =
      mmap(nullptr, sizeof(MpiChildMemory), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<MpiChildMemory*>(memory);
}

int Run(const std::vector<std::string>& words) {
  if (words.size() != 4) {
    std::fputs("cacheinf-mpi-child: robots and servers start it, nobody else\n", stderr);
    return 2;
  }
  const std::string& role = words[0];
  const Parent parent(std::atoi(words[1].c_str()));
  if (role == "publish") Publish(parent, words[2], words[3]);
  MpiChildMemory* const memory = MapMemory(std::atoi(words[2].c_str()));
  if (memory == nullptr) parent.Leave("cacheinf-mpi-child is of another version");
  if (role == "connect") Connect(parent, memory, words[3]);
  Accept(parent, memory, Descriptor(std::atoi(words[3].c_str())));
}

}  // namespace
}  // namespace cacheinf

int main(int argc, char** argv) {
  return cacheinf::Run(std::vector<std::string>(argv + 1, argv + argc));
}
