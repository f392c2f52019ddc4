#include "common/link/mpi_link.h"

#include <poll.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/failure.h"
#include "common/base/log.h"
#include "common/link/descriptor.h"
#include "common/link/interface.h"
#include "common/link/mpi_child.h"
#include "common/link/mpi_knock.h"
#include "common/link/mpi_library.h"
#include "common/link/mpi_world.h"
#include "common/link/user_name.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kFirstPause(1000);
constexpr milliseconds kLongestPause(10000);
constexpr milliseconds kFileInterval(1000);  // between looks at the name server's file
constexpr size_t kMostPending = 64;
constexpr milliseconds kComplaintInterval(1000);

NameServer CheckedNameServer(const fs::path& file) {
  NameServer server = ReadNameServer(file);
  const std::string own = MpiLibraryText();
  if (!server.library.empty() && server.library != own) {
    throw InputError("the name server of " + file.string() + " has another Open MPI (" +
                     server.library + ") than this program (" + own +
                     "), and different builds cannot connect: run scripts/setup --mpi on both "
                     "machines and build again");
  }
  return server;
}

MpiNetwork NetworkOf(const LinkAddress& address) {
  const NameServer server = CheckedNameServer(address.files.name_server);
  const std::string& wanted = address.files.interface;
  MpiNetwork network;
  network.name_server = server.uri;
  if (wanted.empty() && !server.address.empty()) {
    network.interface = InterfaceTowards(server.address);
  } else if (!wanted.empty() && wanted != "all") {
    network.interface = FindInterface("--interface", wanted);
  }
  return network;
}

void LogLibrary() { LogInfo("MPI is " + QueryMpi().Describe()); }

}  // namespace

struct MpiConnector::State {
  // For a server within the same mpirun.
  std::shared_ptr<MpiWorld> world;

  // For a server with a name.
  LinkAddress address;
  MpiLimits limits;
  std::unique_ptr<MpiChild> child;
  steady_clock::time_point next_try;
  milliseconds pause = kFirstPause;
  std::string problem;

  void Try();
};

MpiConnector::MpiConnector(const LinkAddress& address, const MpiLimits& limits)
    : state_(std::make_unique<State>()) {
  state_->address = address;
  state_->limits = limits;
  if (address.name.empty()) {
    state_->world = MpiWorld::Join(false);
  } else {
    NetworkOf(address);
  }
  LogLibrary();
}

MpiConnector::~MpiConnector() = default;

std::unique_ptr<Link> MpiConnector::Poll() {
  if (state_->world) return state_->world->Connect();
  if (!state_->child) {
    if (steady_clock::now() >= state_->next_try) state_->Try();
    return nullptr;
  }
  MpiChild& child = *state_->child;
  const MpiChild::State child_state = child.Poll();
  if (!child.sentence().empty()) state_->problem = child.sentence();
  if (child_state == MpiChild::State::kConnected) {
    state_->pause = kFirstPause;
    state_->problem.clear();
    return std::move(state_->child);
  }
  if (child_state == MpiChild::State::kGone) {
    state_->child.reset();
    state_->next_try = steady_clock::now() + state_->pause;
    state_->pause = std::min(2 * state_->pause, kLongestPause);
  }
  return nullptr;
}

void MpiConnector::State::Try() {
  try {
    child = MpiChild::Connect(NetworkOf(address), address.name, limits);
  } catch (const std::runtime_error& error) {
    problem = error.what();
    next_try = steady_clock::now() + kFirstPause;
  }
}

const std::string& MpiConnector::problem() const { return state_->problem; }

struct MpiListener::State {
  // For robots within the same mpirun.
  std::shared_ptr<MpiWorld> world;

  // For robots that look up a name.
  LinkAddress address;
  MpiLimits limits;
  MpiNetwork network;
  std::optional<KnockListener> knocks;
  struct Pending {
    std::unique_ptr<MpiChild> child;  // the child that connects
    Descriptor knock;
  };
  std::vector<Pending> pending;
  std::unique_ptr<MpiChild> publisher;
  std::string said;  // last, why the name is not published
  steady_clock::time_point next_look;
  steady_clock::time_point next_complaint;

  void Publish();
  void KeepPublished();
  void Meet(Descriptor knock);
  void Refuse(const Descriptor& knock, const std::string& why);
  std::unique_ptr<Link> Accept();
  void WaitForNews(milliseconds at_most) const;
};

MpiListener::MpiListener(const LinkAddress& address, const MpiLimits& limits)
    : state_(std::make_unique<State>()) {
  if (address.name.empty()) {
    state_->world = MpiWorld::Join(true);
    LogLibrary();
    return;
  }
  state_->address = address;
  state_->limits = limits;
  state_->network = NetworkOf(address);
  const std::optional<Interface>& interface = state_->network.interface;
  state_->knocks.emplace(interface ? interface->address : "");
  state_->Publish();
  const MpiChild& publisher = *state_->publisher;
  while (state_->publisher->Poll() == MpiChild::State::kStarting) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  if (state_->publisher->Poll() == MpiChild::State::kGone) {
    throw InputError("the name " + address.name + " cannot be published: " + publisher.sentence() +
                     "; take another name, or see scripts/name-server status");
  }
  LogLibrary();
  LogInfo("mpi:" + address.name + " is for robots of user " + UserName() + " at " +
          (interface ? interface->name + " (" + interface->address + ")" : "every interface"));
}

MpiListener::~MpiListener() = default;

std::unique_ptr<Link> MpiListener::Accept(milliseconds at_most) {
  const auto until = steady_clock::now() + at_most;
  for (;;) {
    std::unique_ptr<Link> link = state_->world ? state_->world->Accept() : state_->Accept();
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
    if (link || left <= milliseconds(0)) return link;
    state_->WaitForNews(left);
  }
}

bool MpiListener::is_finished() const { return state_->world && state_->world->have_all_left(); }

void MpiListener::State::Publish() {
  publisher = MpiChild::Publish(network, address.name, knocks->published(), limits);
  next_look = steady_clock::now() + kFileInterval;
}

// Publishes the name again at a new name server, which does not know it.
void MpiListener::State::KeepPublished() {
  if (steady_clock::now() < next_look) return;
  next_look = steady_clock::now() + kFileInterval;
  MpiChild::BuryDead();
  const MpiChild::State child_state = publisher->Poll();
  if (child_state == MpiChild::State::kStarting) return;
  try {
    const bool has_failed = child_state == MpiChild::State::kGone;
    const std::string uri = CheckedNameServer(address.files.name_server).uri;
    if (uri == network.name_server && !has_failed) return;
    if (has_failed && std::exchange(said, publisher->sentence()) != publisher->sentence()) {
      LogWarning("the name " + address.name + " is not published: " + publisher->sentence());
    }
    network.name_server = uri;
    Publish();
  } catch (const std::runtime_error& error) {
    LogDebug(error.what());  // without the file nobody finds this server by name
  }
}

std::unique_ptr<Link> MpiListener::State::Accept() {
  KeepPublished();
  for (Descriptor knock = knocks->Accept(); knock; knock = knocks->Accept()) {
    Meet(std::move(knock));
  }
  for (size_t i = 0; i < pending.size(); ++i) {
    const MpiChild::State child_state = pending[i].child->Poll();
    if (child_state == MpiChild::State::kStarting) continue;
    Pending ended = std::move(pending[i]);
    pending.erase(pending.begin() + static_cast<ptrdiff_t>(i--));
    if (child_state == MpiChild::State::kConnected) return std::move(ended.child);
    Refuse(ended.knock, ended.child->sentence());
  }
  return nullptr;
}

void MpiListener::State::Meet(Descriptor knock) {
  try {
    if (pending.size() >= kMostPending) throw InputError("too many robots come at once");
    std::unique_ptr<MpiChild> child = MpiChild::Accept(network, knock, limits);
    pending.push_back({std::move(child), std::move(knock)});
  } catch (const std::exception& error) {
    Refuse(knock, SentenceOf(error));
  }
}

// Says why on both sides.
void MpiListener::State::Refuse(const Descriptor& knock, const std::string& why) {
  WriteLine(knock, kRefusal + why);
  // Visitors must not be able to fill the log.
  const auto now = steady_clock::now();
  if (now < next_complaint) return;
  next_complaint = now + kComplaintInterval;
  LogWarning("a robot could not be connected: " + why);
}

void MpiListener::State::WaitForNews(milliseconds at_most) const {
  std::vector<pollfd> waited;
  const auto add = [&waited](int descriptor) { waited.push_back({descriptor, POLLIN, 0}); };
  milliseconds longest(world ? 5 : 200);  // limits and files change without waking poll
  if (!world) {
    for (const int descriptor : knocks->descriptors()) add(descriptor);
    for (const Pending& each : pending) add(each.child->descriptor());
  }
  poll(waited.data(), waited.size(), static_cast<int>(std::min(longest, at_most).count()));
}

}  // namespace cacheinf
