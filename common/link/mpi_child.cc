#include "common/link/mpi_child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

#include "common/base/error.h"
#include "common/base/log.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr char kProgram[] = "cacheinf-mpi-child";
// The child pauses for half a second between two tries.
constexpr milliseconds kLongestRest(5000);

[[noreturn]] void ThrowSystemError(const std::string& what, int error) {
  throw std::system_error(error, std::generic_category(), what);
}

// Beside this program, if it is there.
fs::path Beside(const char* name) {
  std::error_code error;
  const fs::path beside = fs::read_symlink("/proc/self/exe", error).parent_path() / name;
  return fs::exists(beside, error) ? beside : fs::path(name);
}

std::string ProgramPath() {
  const char* const named = std::getenv("CACHEINF_MPI_CHILD");
  return named != nullptr ? named : Beside(kProgram).string();
}

// Empty if there is no room for one.
fs::path MakeFolder() {
  std::error_code error;
  std::string path = (fs::temp_directory_path(error) / "cacheinf-mpi-XXXXXX").string();
  return mkdtemp(path.data()) == nullptr ? fs::path() : fs::path(path);
}

std::vector<std::string> ChildEnvironment(const MpiNetwork& network, const fs::path& folder) {
  std::map<std::string, std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const size_t equals = std::min(text.find('='), text.size());
    variables[text.substr(0, equals)] = text.substr(equals);
  }
  const auto set = [&variables](const std::string& name, const std::string& value) {
    variables[name] = "=" + value;
  };
  set("OMPI_MCA_pmix_server_uri", network.name_server);
  if (network.interface) {
    set("OMPI_MCA_btl_tcp_if_include", network.interface->name);
    set("OMPI_MCA_oob_tcp_if_include", network.interface->name);
    set("CACHEINF_BIND", network.interface->address);
  }
  if (!folder.empty()) set("TMPDIR", folder.string());
  // Lets a robot that runs as root start MPI.
  set("OMPI_ALLOW_RUN_AS_ROOT", "1");
  set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables) environment.push_back(name + value);
  return environment;
}

std::vector<char*> Pointers(std::vector<std::string>* texts) {
  std::vector<char*> pointers;
  for (std::string& text : *texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Adds a child, if any, to those left to end by themselves, and reaps the ones that have.
void Bury(pid_t left_alone = -1, fs::path folder = {}) {
  static std::mutex mutex;
  static std::vector<std::pair<pid_t, fs::path>> alone;
  const std::lock_guard lock(mutex);
  if (left_alone > 0) alone.emplace_back(left_alone, std::move(folder));
  std::erase_if(alone, [](const auto& each) {
    if (waitpid(each.first, nullptr, WNOHANG) == 0) return false;
    RemoveFolder(each.second);
    return true;
  });
}

}  // namespace

MpiChild::MpiChild(const MpiLimits& limits) : limits_(limits) {
  SetLimit("Open MPI does not start", limits.start);
}

std::unique_ptr<MpiChild> MpiChild::Publish(const MpiNetwork& network, const std::string& name,
                                            const std::string& value, const MpiLimits& limits) {
  std::unique_ptr<MpiChild> child(new MpiChild(limits));
  child->Start(network, {"publish", name, value}, {});
  return child;
}

std::unique_ptr<MpiChild> MpiChild::Connect(const MpiNetwork& network, const std::string& name,
                                            const MpiLimits& limits) {
  std::unique_ptr<MpiChild> child(new MpiChild(limits));
  const Descriptor memory = child->ShareMemory();
  child->Start(network, {"connect", std::to_string(memory.get()), name}, {memory.get()});
  return child;
}

std::unique_ptr<MpiChild> MpiChild::Accept(const MpiNetwork& network, const Descriptor& knock,
                                           const MpiLimits& limits) {
  std::unique_ptr<MpiChild> child(new MpiChild(limits));
  const Descriptor memory = child->ShareMemory();
  child->Start(network, {"accept", std::to_string(memory.get()), std::to_string(knock.get())},
               {memory.get(), knock.get()});
  return child;
}

void MpiChild::BuryDead() { Bury(); }

MpiChild::~MpiChild() {
  if (process_ > 0) {
    const auto letter = MpiChildLetter::kEnd;
    send(socket_.get(), &letter, sizeof(letter), MSG_NOSIGNAL | MSG_DONTWAIT);
    socket_ = Descriptor();
    state_ == State::kStarting ? Kill() : Bury(process_, folder_);
  }
  if (memory_ != nullptr) munmap(memory_, sizeof(MpiChildMemory));
}

Descriptor MpiChild::ShareMemory() {
  Descriptor memory(memfd_create("cacheinf-link", MFD_CLOEXEC));
  if (!memory || ftruncate(memory.get(), sizeof(MpiChildMemory)) != 0) {
    ThrowSystemError("shared memory", errno);
  }
  void* const mapped =
      mmap(nullptr, sizeof(MpiChildMemory), PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (mapped == MAP_FAILED) ThrowSystemError("shared memory", errno);
  memory_ = static_cast<MpiChildMemory*>(mapped);
  return memory;
}

void MpiChild::Start(const MpiNetwork& network, std::vector<std::string> words,
                     std::vector<int> inherited) {
  Bury();
  std::array<int, 2> ends;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    ThrowSystemError("socketpair", errno);
  }
  socket_ = Descriptor(ends[0]);
  const Descriptor child_end(ends[1]);
  inherited.push_back(child_end.get());
  words.insert(words.begin() + 1, std::to_string(child_end.get()));
  words.insert(words.begin(), ProgramPath());
  folder_ = MakeFolder();
  std::vector<std::string> environment = ChildEnvironment(network, folder_);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // Duplicating a descriptor onto itself keeps it open in the child.
  for (const int each : inherited) posix_spawn_file_actions_adddup2(&actions, each, each);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  // Open MPI prints a long story about every peer that dies.
  if (!IsLogged(LogLevel::kDebug)) {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  // A signal from the keyboard must not reach the child: this process ends the connection in order.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  const int error = posix_spawnp(&process_, words.front().c_str(), &actions, &attributes,
                                 Pointers(&words).data(), Pointers(&environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return;
  process_ = -1;
  RemoveFolder(folder_);
  if (error == ENOENT || error == EACCES) {
    throw InputError(words.front(), " cannot be started: ", std::strerror(error),
                     "; it belongs beside this program, or where $CACHEINF_MPI_CHILD says");
  }
  ThrowSystemError(words.front() + " cannot be started", error);
}

MpiChild::State MpiChild::Poll() {
  Hear();
  if (state_ == State::kStarting && steady_clock::now() > until_) {
    Kill();
    EndBecause(doing_);
  }
  return state_;
}

// A killed child leaves its folder.
void MpiChild::Kill() {
  const pid_t process = std::exchange(process_, -1);
  if (process <= 0) return;
  kill(process, SIGKILL);
  waitpid(process, nullptr, 0);
  RemoveFolder(folder_);
}

void MpiChild::Hear() {
  while (state_ != State::kGone) {
    std::array<char, 256> message;
    const ssize_t size = recv(socket_.get(), message.data(), message.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size < 0 && errno == ECONNRESET) continue;  // it left wakes unread; its last words follow
    if (size > 0) {
      Take(static_cast<MpiChildLetter>(message[0]), std::string(message.data() + 1, size - 1));
    } else if (state_ == State::kDone) {
      return;
    } else {
      // Open MPI may end a process whose peer dies.
      Kill();
      EndBecause(state_ == State::kConnected ? "the connection was lost"
                                             : "Open MPI ended its process, and says why when the "
                                               "log level is debug");
    }
  }
}

void MpiChild::Take(MpiChildLetter letter, const std::string& sentence) {
  switch (letter) {
    case MpiChildLetter::kWake:
    case MpiChildLetter::kEnd:
      break;
    case MpiChildLetter::kAsking:
      SetLimit("the name server does not answer", limits_.ask);
      break;
    case MpiChildLetter::kKnocking:
      SetLimit("the server does not answer", limits_.knock);
      break;
    case MpiChildLetter::kMeeting:
      SetLimit("MPI takes too long to connect", limits_.connect);
      break;
    case MpiChildLetter::kResting:
      sentence_ = sentence;
      SetLimit("the process that speaks MPI hangs", kLongestRest);
      break;
    case MpiChildLetter::kConnected:
      state_ = State::kConnected;
      sentence_.clear();
      break;
    case MpiChildLetter::kDone:
      state_ = State::kDone;
      Bury(std::exchange(process_, -1), folder_);  // the child now ends by itself
      break;
    case MpiChildLetter::kGone:
      EndBecause(sentence);
      break;
  }
}

void MpiChild::SetLimit(const char* doing, milliseconds at_most) {
  doing_ = doing;
  until_ = steady_clock::now() + at_most;
}

void MpiChild::EndBecause(const std::string& why) {
  state_ = State::kGone;
  sentence_ = why;
}

bool MpiChild::Send(std::span<const uint8_t> packet) {
  memory_->parent_rests_us = 0;
  wants_room_ = !memory_->to_peer.Push(packet);
  if (!wants_room_) Wake(&memory_->is_child_asleep, socket_.get());
  return !wants_room_;
}

bool MpiChild::Receive(std::vector<uint8_t>* packet) {
  if (memory_->from_peer.Pop(packet)) return true;
  Hear();
  // Packets may have arrived before it ended.
  return memory_->from_peer.Pop(packet);
}

void MpiChild::Rest(std::chrono::nanoseconds interval) {
  memory_->parent_rests_us = static_cast<uint32_t>(interval.count() / 1000);
}

void MpiChild::Wait(std::chrono::nanoseconds at_most) {
  memory_->parent_rests_us = 0;
  memory_->is_parent_asleep = 1;
  const bool has_news = !memory_->from_peer.empty() || state_ == State::kGone ||
                        (wants_room_ && !memory_->to_peer.full());
  if (!has_news) {
    const timespec limit = {static_cast<time_t>(at_most.count() / 1'000'000'000),
                            static_cast<long>(at_most.count() % 1'000'000'000)};
    pollfd waited = {socket_.get(), POLLIN, 0};
    ppoll(&waited, 1, &limit, nullptr);
  }
  memory_->is_parent_asleep = 0;
  Hear();
}

std::string MpiChild::fault() const { return state_ == State::kGone ? sentence_ : ""; }

}  // namespace cacheinf
