#include "client/server_peer.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "common/base/build_id.h"
#include "common/base/log.h"
#include "common/link/address.h"
#include "common/link/emulated_link.h"

namespace cacheinf {
namespace {

constexpr std::chrono::seconds kFirstPause(1);
constexpr std::chrono::seconds kLongestPause(10);

// The machine's name, and which of its robots.
std::string NameOf(const std::string& robot) {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return robot.empty() ? name.data() : fmt::format("{}/{}", name.data(), robot);
}

LinkAddress AddressOf(const ServerLinkConfig& config) {
  return ParseLinkAddress(
      "--server", config.address,
      {config.name_server, config.robot_key, config.server_key, config.interface});
}

}  // namespace

void CheckAddress(const ServerLinkConfig& config) {
  if (!config.address.empty()) LinkConnector::Check(AddressOf(config));
}

ServerPeer::ServerPeer(const ServerLinkConfig& config, const Graph& graph, const Clock& clock,
                       ConnectToServer connect)
    : clock_(clock),
      name_(NameOf(config.robot)),
      model_(PackForServers(graph)),
      connector_(connect ? nullptr : std::make_unique<LinkConnector>(AddressOf(config))),
      connect_(connect ? std::move(connect) : [this] { return connector_->Poll(); }),
      link_shape_(ParseEmulation(config.emulate).link),
      pause_(kFirstPause) {}

ServerPeer::~ServerPeer() {
  if (!connection_ || !connection_->fault().empty()) return;
  connection_->Leave("");
  channel_->Flush(clock_.Now() + std::chrono::milliseconds(500));
}

ServerConnection* ServerPeer::Poll() {
  if (is_lost()) {
    while (connection_->Receive()) {  // its last words, if there are any
    }
    LogWarning(
        fmt::format("the server is lost, the robot answers alone: {}", connection_->fault()));
    if (connection_->has_refused()) {
      next_ = clock_.Now() + pause_;
      pause_ = std::min<std::chrono::nanoseconds>(2 * pause_, kLongestPause);
    } else {
      pause_ = kFirstPause;
      next_ = met_at_ + kFirstPause;
    }
    connection_.reset();
    channel_.reset();
  }
  if (connection_ || clock_.Now() < next_) return nullptr;
  std::unique_ptr<Link> link = connect_();
  if (!link) {
    ReportProblem();
    return nullptr;
  }
  problem_.clear();
  if (link_shape_) link = EmulateLink(std::move(link), *link_shape_, clock_);
  channel_ = std::make_unique<Channel>(std::move(link), clock_);
  channel_->StartPumping();
  connection_.emplace(*channel_, BitsId(), name_, model_);
  met_at_ = clock_.Now();
  LogInfo("a server is there");
  return &*connection_;
}

// Logs each problem once.
void ServerPeer::ReportProblem() {
  if (connector_ == nullptr || connector_->problem() == problem_) return;
  problem_ = connector_->problem();
  if (problem_.empty()) return;
  LogWarning(fmt::format("there is no server, the robot answers alone: {}", problem_));
}

std::optional<ChannelStatistics> ServerPeer::statistics() const {
  if (!channel_) return std::nullopt;
  return channel_->statistics();
}

}  // namespace cacheinf
