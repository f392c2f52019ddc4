#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

#include "common/link/descriptor.h"
#include "common/link/mpi_child_protocol.h"
#include "common/link/mpi_knock.h"
#include "common/link/mpi_pump.h"

// Speaks MPI for a robot or a server that was not started by mpirun: Open MPI's connect and look-up
// hang for good when the other side dies, and then nothing helps but to kill the process.
//
//   cacheinf-mpi-child publish SOCKET NAME VALUE     gives a name to where a server can be found
//   cacheinf-mpi-child connect SOCKET MEMORY NAME    a robot's side of a connection
//   cacheinf-mpi-child accept SOCKET MEMORY KNOCK    a server's side, for the robot that knocked
//
// SOCKET, MEMORY and KNOCK are file descriptors.

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr milliseconds kRest(500);             // between look-ups of a name that is not there
constexpr milliseconds kAddressPatience(400);  // with an address that does not answer
constexpr milliseconds kPortPatience(12000);   // until the server's MPI has started
constexpr milliseconds kEndPatience(500);      // to get rid of the last packets
constexpr milliseconds kDrainPatience(50);     // for packets of a peer that is gone
constexpr milliseconds kHangupPatience(800);  // of a parent that is gone; then whatever hangs, ends
constexpr int kTag = 1;

// Among names that others publish with the same name server.
std::string ServiceName(const std::string& name) { return "cacheinf/" + name; }

class Child {
 public:
  explicit Child(int socket) : socket_(socket) {
    // Open MPI starts a process, which must not keep the connections open.
    fcntl(socket, F_SETFD, FD_CLOEXEC);
    std::thread([socket] {
      pollfd parent = {socket, 0, 0};
      while (poll(&parent, 1, -1) < 0 && errno == EINTR) {
      }
      std::this_thread::sleep_for(kHangupPatience);
      _exit(0);
    }).detach();
  }

  void Say(MpiChildLetter letter, const std::string& sentence = "") const {
    const std::string message = static_cast<char>(letter) + sentence;
    send(socket_, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  [[noreturn]] void Leave(const std::string& why) const {
    Say(MpiChildLetter::kGone, why);
    // Never MPI_Finalize: it may wait for a peer that is gone.
    _exit(0);
  }

  void StartMpi() const {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  }

  void Publish(const std::string& name, const std::string& value) const {
    StartMpi();
    Say(MpiChildLetter::kAsking);
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "ompi_global_scope", "true");
    if (MPI_Publish_name(ServiceName(name).c_str(), info, value.c_str()) != MPI_SUCCESS) {
      Leave("the name server did not take the name " + name);
    }
    Say(MpiChildLetter::kDone);
    _exit(0);  // the name server keeps it
  }

  // Until somebody is found, and then until the end.
  void Connect(MpiChildMemory* memory, const std::string& name) const {
    StartMpi();
    for (;;) {
      const std::string rest = ConnectOnce(memory, name);
      Say(MpiChildLetter::kResting, rest);
      std::this_thread::sleep_for(kRest);
    }
  }

  void Accept(MpiChildMemory* memory, Descriptor knock) const {
    StartMpi();
    std::array<char, MPI_MAX_PORT_NAME> port = {};
    if (MPI_Open_port(MPI_INFO_NULL, port.data()) != MPI_SUCCESS) Leave("MPI opens no port");
    Say(MpiChildLetter::kMeeting);
    if (!WriteLine(knock, port.data())) Leave("the robot went away before it was connected");
    MPI_Comm robot = MPI_COMM_NULL;
    if (MPI_Comm_accept(port.data(), MPI_INFO_NULL, 0, MPI_COMM_SELF, &robot) != MPI_SUCCESS) {
      Leave("MPI did not connect to the robot");
    }
    Carry(robot, memory, knock);
  }

 private:
  // Returns why nobody is there.
  std::string ConnectOnce(MpiChildMemory* memory, const std::string& name) const {
    Say(MpiChildLetter::kAsking);
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "ompi_lookup_order", "global");
    std::array<char, MPI_MAX_PORT_NAME> published = {};
    const int result = MPI_Lookup_name(ServiceName(name).c_str(), info, published.data());
    MPI_Info_free(&info);
    if (result != MPI_SUCCESS) return "the name server knows no server " + name;
    Say(MpiChildLetter::kKnocking);
    const Descriptor knock = Knock(published.data(), kAddressPatience);
    if (!knock) return "the server " + name + " does not answer";
    std::string port = ReadLine(knock, kPortPatience).value_or("");
    if (port.empty()) return "the server " + name + " could not begin a connection";
    Say(MpiChildLetter::kMeeting);
    port.resize(MPI_MAX_PORT_NAME);
    MPI_Comm server = MPI_COMM_NULL;
    if (MPI_Comm_connect(port.c_str(), MPI_INFO_NULL, 0, MPI_COMM_SELF, &server) != MPI_SUCCESS) {
      Leave("MPI did not connect to the server " + name);
    }
    Carry(server, memory, knock);
  }

  [[noreturn]] void Carry(MPI_Comm peer, MpiChildMemory* memory, const Descriptor& knock) const {
    MPI_Comm_set_errhandler(peer, MPI_ERRORS_RETURN);
    MpiPump pump(peer, 0, kTag, &memory->to_peer, &memory->from_peer);
    Say(MpiChildLetter::kConnected);
    auto moved_at = steady_clock::now();
    bool is_parent_there = true;
    bool is_peer_there = true;
    while (is_parent_there && is_peer_there && !pump.has_peer_ended() && pump.error().empty()) {
      const auto now = steady_clock::now();
      if (pump.Pump()) {
        moved_at = now;
        Wake(&memory->is_parent_asleep, socket_);
        continue;
      }
      memory->is_child_asleep = 1;
      if (!pump.has_more_to_send()) {
        Sleep(knock, MpiPollInterval(now - moved_at), &is_parent_there, &is_peer_there);
      }
      memory->is_child_asleep = 0;
    }
    if (!is_parent_there) End(&pump, knock);
    // What the peer sent before it died may still be on its way.
    const auto until = steady_clock::now() + kDrainPatience;
    while (!is_peer_there && pump.error().empty() && steady_clock::now() < until) {
      if (pump.Pump()) Wake(&memory->is_parent_asleep, socket_);
    }
    Wake(&memory->is_parent_asleep, socket_);
    if (!pump.error().empty()) Leave("the connection broke: " + pump.error());
    Leave(pump.has_peer_ended() ? "the peer ended the connection" : "the connection was lost");
  }

  // Until the parent or the peer may have something, at most for that long.
  void Sleep(const Descriptor& knock, nanoseconds at_most, bool* is_parent_there,
             bool* is_peer_there) const {
    const timespec limit = {0, static_cast<long>(at_most.count())};
    std::array<pollfd, 2> waited = {pollfd{socket_, POLLIN, 0}, pollfd{knock.get(), POLLIN, 0}};
    if (ppoll(waited.data(), waited.size(), &limit, nullptr) <= 0) return;
    auto letter = MpiChildLetter::kWake;
    if (waited[0].revents != 0) {
      if (IsAtEnd(recv(socket_, &letter, sizeof(letter), MSG_DONTWAIT))) _exit(0);
      *is_parent_there = letter != MpiChildLetter::kEnd;
    }
    // A peer says nothing here, but hangs up.
    if (waited[1].revents != 0) {
      *is_peer_there = !IsAtEnd(recv(knock.get(), &letter, sizeof(letter), MSG_DONTWAIT));
    }
  }

  static bool IsAtEnd(ssize_t received) {
    return received == 0 || (received < 0 && errno != EAGAIN && errno != EINTR);
  }

  // The peer takes all that the parent sent, and hangs up.
  [[noreturn]] void End(MpiPump* pump, const Descriptor& knock) const {
    pump->End();
    const auto until = steady_clock::now() + kEndPatience;
    char byte = 0;
    while (pump->error().empty() && !pump->has_peer_ended() && steady_clock::now() < until &&
           !IsAtEnd(recv(knock.get(), &byte, sizeof(byte), MSG_DONTWAIT))) {
      if (!pump->Pump()) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    _exit(0);
  }

  const int socket_;
};

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
  const Child child(std::atoi(words[1].c_str()));
  if (role == "publish") {
    child.Publish(words[2], words[3]);
  } else {
    MpiChildMemory* const memory = MapMemory(std::atoi(words[2].c_str()));
    if (memory == nullptr) child.Leave("cacheinf-mpi-child is of another version");
    if (role == "connect") {
      child.Connect(memory, words[3]);
    } else {
      const int knock = std::atoi(words[3].c_str());
      fcntl(knock, F_SETFD, FD_CLOEXEC);
      child.Accept(memory, Descriptor(knock));
    }
  }
  return 0;
}

}  // namespace
}  // namespace cacheinf

int main(int argc, char** argv) {
  return cacheinf::Run(std::vector<std::string>(argv + 1, argv + argc));
}
