#include "client/server_peer.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <mutex>
#include <random>
#include <sstream>
#include <stop_token>
#include <thread>
#include <utility>

#include "client/reconnection.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/link/address.h"
#include "common/link/emulated_link.h"
#include "common/link/link_ends.h"

namespace cacheinf {
namespace {

// A server that is not the first of the list is not taken before then, at the start.
constexpr std::chrono::milliseconds kHeadStart(500);
// How long a better server must have been ready for before the robot goes back to it.
constexpr std::chrono::seconds kProven(5);
// And how recently it must have been heard: a server sends a sign of life twice a second.
constexpr std::chrono::milliseconds kHeardOf(700);
constexpr int kMostConnected = 2;
constexpr std::chrono::milliseconds kBetweenTries(20);  // to connect

// The machine's name, and which of its robots.
std::string NameOf(const std::string& robot) {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return robot.empty() ? name.data() : fmt::format("{}/{}", name.data(), robot);
}

// Lets servers tell this robot from others of its name, in this process or another.
uint64_t MakeToken() {
  std::random_device random;
  const uint64_t high = random();
  return (high << 32 | random()) | 1;  // never 0
}

std::vector<std::string> ListIn(const std::string& text) {
  std::vector<std::string> list;
  std::istringstream stream(text);
  for (std::string item; std::getline(stream, item, ',');) list.push_back(item);
  if (text.ends_with(',')) list.emplace_back();
  return list;
}

// Throws InputError.
std::vector<LinkAddress> AddressesOf(const ServerLinkConfig& config) {
  const std::vector<std::string> texts = ListIn(config.address);
  const std::vector<std::string> keys = ListIn(config.server_key);
  if (keys.size() > 1 && keys.size() != texts.size()) {
    throw InputError(
        fmt::format("--server-key names {} keys for the {} servers of --server: give "
                    "one for each, in the same order, or one for all",
                    keys.size(), texts.size()));
  }
  std::vector<LinkAddress> addresses;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string key = keys.size() > 1 ? keys[i] : config.server_key;
    addresses.push_back(ParseLinkAddress(
        "--server", texts[i], {config.name_server, config.robot_key, key, config.interface}));
    if (texts.size() > 1 && !addresses.back().is_tcp()) {
      throw InputError("--server takes a list of tcp://HOST:PORT alone, not \"", texts[i], "\"");
    }
    if (std::ranges::count(texts, texts[i]) > 1) {
      throw InputError("--server names ", texts[i], " twice");
    }
  }
  return addresses;
}

}  // namespace

void CheckServerLink(const ServerLinkConfig& config) {
  for (const LinkAddress& address : AddressesOf(config)) LinkConnector::Check(address);
  (void)ParseEmulation(config.emulate);
}

// Connects on its own thread. The channel then tells the server that the robot lives: a robot may
// be busy with a frame, or wait for its camera, for longer than a server puts up with silence.
class ServerPeer::Meeting {
 public:
  using Open = std::function<std::unique_ptr<Channel>(std::unique_ptr<Link> link)>;

  // The connector must outlive this, and be left to it.
  Meeting(LinkConnector& connector, Open open)
      : connector_(connector), open_(std::move(open)), thread_([this](const std::stop_token& stop) {
          while (!stop.stop_requested() && !Try()) std::this_thread::sleep_for(kBetweenTries);
        }) {}

  // Returns the channel once, when it stands; null until then.
  std::unique_ptr<Channel> Take() {
    const std::lock_guard lock(mutex_);
    return std::move(channel_);
  }

  // Why it does not stand yet.
  std::string problem() const {
    const std::lock_guard lock(mutex_);
    return problem_;
  }

 private:
  bool Try() {
    std::unique_ptr<Channel> channel;
    std::string problem;
    try {
      std::unique_ptr<Link> link = connector_.Poll();
      if (link) channel = open_(std::move(link));
      problem = connector_.problem();
    } catch (const std::exception& error) {  // the system gives no thread, or no memory
      problem = error.what();
    }
    const std::lock_guard lock(mutex_);
    problem_ = std::move(problem);
    channel_ = std::move(channel);
    return channel_ != nullptr;
  }

  LinkConnector& connector_;
  const Open open_;
  mutable std::mutex mutex_;  // guards what follows, except the thread
  std::unique_ptr<Channel> channel_;
  std::string problem_;
  std::jthread thread_;
};

// A server of the list.
struct ServerPeer::Server {
  explicit Server(uint64_t named) : token(named), reconnection(named) {}

  std::string address;  // empty: within the process
  // Each server has its own, since two addresses may lead to one server, which keeps only one link
  // per token.
  const uint64_t token;
  ConnectToServer connect;                   // or
  std::unique_ptr<LinkConnector> connector;  // on a thread
  std::unique_ptr<Meeting> meeting;          // by it, while there is no connection
  std::unique_ptr<Channel> channel;
  std::optional<ServerConnection> connection;
  WireVersions speaks = kWire;  // on the next connection
  Reconnection reconnection;
  std::optional<std::chrono::nanoseconds> ready_since = {};  // while it is not the current one
  bool is_announced = false;                                 // as there or ready
  std::string problem;                                       // in connecting, as reported
  std::string loss;                                          // why the last connection ended
  std::optional<message::Schedule> schedule;                 // its last one

  bool is_there() const { return connection && connection->fault().empty(); }
  bool has_model() const { return connection && connection->has_model(); }
};

ServerPeer::ServerPeer(const ServerLinkConfig& config, const Graph& graph, const Clock& clock,
                       ConnectToServers connect, std::optional<uint64_t> by_hand)
    : clock_(clock),
      greeting_({.robot = NameOf(config.robot)}),
      model_(PackForServers(graph)),
      link_shape_(ParseEmulation(config.emulate).link),
      is_by_hand_(by_hand.has_value()),
      later_ones_from_(clock.Now() + kHeadStart) {
  const auto make_server = [&] {
    const uint64_t token = by_hand ? *by_hand + servers_.size() : MakeToken();
    servers_.push_back(std::make_unique<Server>(token));
  };
  for (ConnectToServer& way : connect) {
    make_server();
    servers_.back()->connect = std::move(way);
  }
  if (!servers_.empty()) return;
  for (const LinkAddress& address : AddressesOf(config)) {
    make_server();
    Server& server = *servers_.back();
    if (address.is_tcp()) server.address = address.endpoint();
    server.connector = std::make_unique<LinkConnector>(address);
  }
}

ServerPeer::~ServerPeer() {
  const auto deadline = clock_.Now() + std::chrono::milliseconds(500);
  for (const auto& server : servers_) {
    if (server->is_there()) server->connection->Leave("");
  }
  for (const auto& server : servers_) {
    if (server->channel) server->channel->Flush(deadline);
  }
}

ServerConnection* ServerPeer::Poll(const std::function<void()>& let_go) {
  // Ask only once: the answer may change at any time.
  if (current_ != nullptr && (must_change_ || !current_->is_there())) {
    if (let_go) let_go();
    current_->ready_since = clock_.Now();
    current_ = nullptr;
    later_ones_from_ = clock_.Now();
  }
  must_change_ = false;
  int connected = 0;
  for (const auto& server : servers_) {
    const bool is_one_too_many = connected == kMostConnected && server.get() != current_;
    is_one_too_many ? LetGo(*server) : LookAfter(*server);
    connected += server->connection ? 1 : 0;
  }
  if (current_ != nullptr) {
    must_change_ = IsBetterReady();
    return nullptr;
  }
  current_ = Choose();
  if (current_ == nullptr) return nullptr;
  has_new_schedule_ = current_->schedule.has_value();
  current_->is_announced = true;
  LogInfo("a server is there" + At(*current_));
  return &*current_->connection;
}

std::string ServerPeer::problem() const {
  if (current_ != nullptr) return current_->connection->WhyNotReady();
  for (const auto& server : servers_) {
    if (server->is_there() && !server->reconnection.IsTrusted(clock_.Now())) {
      return Probation(*server);
    }
  }
  for (const auto& why : {&Server::problem, &Server::loss}) {
    for (const auto& server : servers_) {
      if (!((*server).*why).empty()) return (*server).*why;
    }
  }
  return "";
}

// How long a link that came and went must hold before frames rely on it.
std::string ServerPeer::Probation(const Server& server) const {
  const auto left =
      std::chrono::ceil<std::chrono::seconds>(server.reconnection.TrustedFrom() - clock_.Now());
  return fmt::format("the link came and went, and gets frames again once it has held for {} s more",
                     left.count());
}

std::string ServerPeer::At(const Server& server) const {
  return servers_.size() == 1 ? "" : ": " + server.address;
}

// The first server that has the model, or else the first, which gets it now. Never one with a link
// that comes and goes.
ServerPeer::Server* ServerPeer::Choose() {
  for (const bool needs_model : {true, false}) {
    for (const auto& server : servers_) {
      const bool is_good = needs_model ? server->has_model() : server->is_there();
      const bool is_its_turn = server == servers_.front() || clock_.Now() >= later_ones_from_;
      const bool is_trusted = server->reconnection.IsTrusted(clock_.Now());
      if (is_good && is_trusted && is_its_turn) return server.get();
    }
  }
  return nullptr;
}

bool ServerPeer::IsBetterReady() const {
  for (const auto& server : servers_) {
    if (server.get() == current_) return false;
    const bool has_plans = robot_profile_.empty() || server->schedule;
    if (server->has_model() && has_plans && server->ready_since &&
        server->reconnection.IsTrusted(clock_.Now()) &&
        server->channel->statistics().silence < kHeardOf &&
        clock_.Now() >= *server->ready_since + kProven) {
      return true;
    }
  }
  return false;
}

void ServerPeer::LetGo(Server& server) {
  if (server.is_there()) server.connection->Leave("");
  if (server.channel) {
    const ChannelStatistics ended = server.channel->statistics();
    past_sent_bytes_ += ended.sent.wire;
    past_received_bytes_ += ended.received.wire;
  }
  server.meeting.reset();
  server.connection.reset();
  server.channel.reset();
  server.ready_since.reset();
  server.is_announced = false;
}

// Leaves the current server to its user.
void ServerPeer::LookAfter(Server& server) {
  if (&server == current_) return;
  while (server.connection && server.connection->Receive()) {  // its last words, too
  }
  if (server.connection && !server.is_there()) {
    NoteLoss(server);
    LetGo(server);
  }
  if (server.connection) return HearNext(server);
  if (server.reconnection.MayTry(clock_.Now())) Connect(server);
}

void ServerPeer::HearNext(Server& server) {
  if (auto schedule = server.connection->TakeSchedule()) server.schedule = std::move(schedule);
  if (!server.has_model()) return;
  if (!server.ready_since) server.ready_since = clock_.Now();
  // This server may be ready before the one that is taken.
  if (current_ == nullptr || std::exchange(server.is_announced, true)) return;
  LogInfo("another server is ready" + At(server));
}

std::unique_ptr<Channel> ServerPeer::Open(std::unique_ptr<Link> link) const {
  if (link_shape_) link = EmulateLink(std::move(link), *link_shape_, clock_);
  auto channel = std::make_unique<Channel>(std::move(link), clock_);
  if (!is_by_hand_) channel->StartPumping();
  return channel;
}

std::unique_ptr<Channel> ServerPeer::NextChannel(Server& server) const {
  if (server.connect) {
    std::unique_ptr<Link> link = server.connect();
    return link ? Open(std::move(link)) : nullptr;
  }
  if (!server.meeting) {
    server.meeting = std::make_unique<Meeting>(
        *server.connector, [this](std::unique_ptr<Link> link) { return Open(std::move(link)); });
  }
  return server.meeting->Take();
}

void ServerPeer::Connect(Server& server) {
  server.channel = NextChannel(server);
  if (!server.channel) return ReportProblem(server);
  server.meeting.reset();
  server.problem.clear();
  message::Hello greeting = greeting_;
  greeting.speaks = server.speaks;
  greeting.token = server.token;
  server.connection.emplace(*server.channel, std::move(greeting), model_);
  server.reconnection.NoteMet(clock_.Now());
  if (!server.reconnection.IsTrusted(clock_.Now())) {
    LogInfo("a server is there" + At(server) + ", but " + Probation(server));
  }
  if (settings_) server.connection->AskForSchedule(*settings_, robot_profile_);
}

void ServerPeer::NoteLoss(Server& server) {
  const bool speaks_older = server.connection->must_speak_older();
  // The next time it may be a newer server.
  server.speaks = speaks_older ? WireVersions{kWire.oldest, kWire.oldest} : kWire;
  if (speaks_older) {
    LogInfo("the server is of an older release: the robot speaks as that does");
    return server.reconnection.TryAtOnce();
  }
  const bool has_other = std::ranges::any_of(
      servers_, [&](const auto& other) { return other.get() != &server && other->has_model(); });
  const std::string what = current_ != nullptr
                               ? fmt::format("another server is lost{}", At(server))
                               : fmt::format("the server is lost{}, the robot {}", At(server),
                                             has_other ? "has another" : "answers alone");
  LogWarning(what + ": " + server.connection->fault());
  server.loss = server.connection->fault();
  server.reconnection.NoteEnd(clock_.Now(), server.connection->has_refused());
}

bool ServerPeer::Pump() {
  bool has_moved = false;
  for (const auto& server : servers_) {
    if (server->channel && server->channel->Pump()) has_moved = true;
  }
  return has_moved;
}

// Logs each problem once.
void ServerPeer::ReportProblem(Server& server) {
  if (server.connector == nullptr) return;
  std::string problem = server.meeting ? server.meeting->problem() : server.connector->problem();
  if (problem == server.problem) return;
  server.problem = std::move(problem);
  if (server.problem.empty()) return;
  LogWarning(current_ == nullptr ? "there is no server, the robot answers alone: " + server.problem
                                 : "another server is not there: " + server.problem);
}

void ServerPeer::AskForSchedule(message::Settings settings, std::string robot_profile) {
  settings_ = std::move(settings);
  robot_profile_ = std::move(robot_profile);
  for (const auto& server : servers_) {
    if (server->is_there()) server->connection->AskForSchedule(*settings_, robot_profile_);
  }
}

std::optional<message::Schedule> ServerPeer::TakeSchedule() {
  if (current_ == nullptr) return std::nullopt;
  if (auto schedule = current_->connection->TakeSchedule()) {
    current_->schedule = std::move(schedule);
    has_new_schedule_ = true;
  }
  return std::exchange(has_new_schedule_, false) ? current_->schedule : std::nullopt;
}

std::optional<ChannelStatistics> ServerPeer::statistics() const {
  if (current_ == nullptr) return std::nullopt;
  ChannelStatistics statistics = current_->channel->statistics();
  statistics.sent.wire += past_sent_bytes_;
  statistics.received.wire += past_received_bytes_;
  return statistics;
}

}  // namespace cacheinf
