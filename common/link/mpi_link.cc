#include "common/link/mpi_link.h"

#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/link/mpi_child.h"
#include "common/link/mpi_knock.h"
#include "common/link/mpi_library.h"
#include "common/link/mpi_world.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kFirstPause(1000);
constexpr milliseconds kLongestPause(10000);
constexpr milliseconds kFileInterval(1000);  // between looks at the name server's file
constexpr size_t kMostPending = 64;

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
    CheckedNameServer(address.files.name_server);
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
    child =
        MpiChild::Connect(CheckedNameServer(address.files.name_server).uri, address.name, limits);
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
  NameServer name_server;
  std::optional<KnockListener> knocks;
  std::vector<std::unique_ptr<MpiChild>> pending;  // MPI is connecting
  std::unique_ptr<MpiChild> publisher;
  steady_clock::time_point next_look;

  void Publish();
  void KeepPublished();
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
  state_->name_server = CheckedNameServer(address.files.name_server);
  state_->knocks.emplace();
  state_->Publish();
  const MpiChild& publisher = *state_->publisher;
  while (state_->publisher->Poll() == MpiChild::State::kStarting) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  if (state_->publisher->Poll() == MpiChild::State::kGone) {
    throw InputError("the name " + address.name + " cannot be published: " + publisher.sentence() +
                     "; scripts/name-server status says more");
  }
  LogLibrary();
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
  publisher = MpiChild::Publish(name_server.uri, address.name, knocks->published(), limits);
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
    const NameServer current = CheckedNameServer(address.files.name_server);
    if (current.uri == name_server.uri && !has_failed) return;
    if (has_failed) {
      LogWarning("the name " + address.name + " is not published: " + publisher->sentence());
    }
    name_server = current;
    Publish();
  } catch (const std::runtime_error& error) {
    LogDebug(error.what());  // without the file nobody finds this server by it
  }
}

std::unique_ptr<Link> MpiListener::State::Accept() {
  KeepPublished();
  for (Descriptor knock = knocks->Accept(); knock; knock = knocks->Accept()) {
    if (pending.size() < kMostPending) {
      pending.push_back(MpiChild::Accept(name_server.uri, knock, limits));
    }
  }
  for (size_t i = 0; i < pending.size(); ++i) {
    const MpiChild::State child_state = pending[i]->Poll();
    if (child_state == MpiChild::State::kStarting) continue;
    std::unique_ptr<MpiChild> child = std::move(pending[i]);
    pending.erase(pending.begin() + static_cast<ptrdiff_t>(i--));
    if (child_state == MpiChild::State::kConnected) return child;
    LogWarning("a robot could not be connected: " + child->sentence());
  }
  return nullptr;
}

void MpiListener::State::WaitForNews(milliseconds at_most) const {
  std::vector<pollfd> waited;
  const auto add = [&waited](int descriptor) { waited.push_back({descriptor, POLLIN, 0}); };
  milliseconds longest(world ? 5 : 200);  // limits and files change without waking poll
  if (!world) {
    for (const int descriptor : knocks->descriptors()) add(descriptor);
    for (const std::unique_ptr<MpiChild>& child : pending) add(child->descriptor());
  }
  poll(waited.data(), waited.size(), static_cast<int>(std::min(longest, at_most).count()));
}

}  // namespace cacheinf
