#include "profiler/link_command.h"

#include <fmt/core.h>

#include <array>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/failure.h"
#include "common/base/file.h"
#include "common/link/address.h"
#include "common/link/channel.h"
#include "common/link/emulated_link.h"
#include "common/link/link_ends.h"
#include "common/pair/link_probe.h"
#include "common/pair/say.h"

namespace cacheinf {
namespace {

using LinkJson = nlohmann::ordered_json;

constexpr std::array<size_t, 10> kSizes = {1,      10,     100,     1'000,   3'000,
                                           10'000, 30'000, 100'000, 300'000, 1'000'000};

std::unique_ptr<Link> Connect(const LinkCommand& command, LinkConnector& connector,
                              const Clock& clock, const std::atomic<bool>& stop) {
  const std::chrono::duration<double> wait(command.wait_s);
  const auto until = clock.Now() + wait;
  while (true) {
    if (std::unique_ptr<Link> link = connector.Poll()) return link;
    if (stop) throw Stopped("stopped: the link is not measured");
    if (clock.Now() >= until) {
      throw InputError(fmt::format("--server {}: no server came within {:g} s{}{}", command.server,
                                   command.wait_s, connector.problem().empty() ? "" : ": ",
                                   connector.problem()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::optional<double> RoundTripMs(const ChannelStatistics& statistics) {
  if (!statistics.round_trip) return std::nullopt;
  return Milliseconds(statistics.round_trip->time);
}

LinkJson NumberOrNull(const std::optional<double>& number) {
  return number ? LinkJson(*number) : LinkJson(nullptr);
}

std::string LinkToJsonText(const LinkCommand& command, const std::vector<ProbedSize>& sizes,
                           const ChannelStatistics& estimate) {
  LinkJson json = {{"server", command.server}, {"rounds", command.rounds}};
  if (!command.emulate.empty()) json["emulated"] = command.emulate;
  json["sizes"] = LinkJson::array();
  for (const ProbedSize& size : sizes) {
    json["sizes"].push_back({{"bytes", size.bytes},
                             {"round_trip_ms", size.round_trip_ms},
                             {"mbit_to_server", NumberOrNull(size.mbit_to_server)},
                             {"mbit_to_robot", NumberOrNull(size.mbit_to_robot)}});
  }
  const auto put = [&](const std::string& key,
                       const std::optional<ChannelStatistics::Bandwidth>& way) {
    const bool is_known = way && !way->is_guess();
    const bool is_least = is_known && way->basis == BandwidthBasis::kAtLeast;
    json["estimate"][(is_least ? "at_least_" : "") + key] =
        is_known ? LinkJson(way->bits_per_second / 1e6) : LinkJson(nullptr);
  };
  put("mbit_to_server", estimate.bandwidth);
  put("mbit_to_robot", estimate.bandwidth_back);
  json["estimate"]["round_trip_ms"] = NumberOrNull(RoundTripMs(estimate));
  return json.dump(2, ' ', /*ensure_ascii=*/false, LinkJson::error_handler_t::replace) + "\n";
}

std::string LinkToText(const LinkCommand& command, const std::vector<ProbedSize>& sizes,
                       const ChannelStatistics& estimate) {
  const auto number = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.3g}", *value) : std::string("-");
  };
  std::string text =
      fmt::format("{:>8} {:>14} {:>13} {:>12}\n", "bytes", "round trip ms", "Mbit/s there", "back");
  for (const ProbedSize& size : sizes) {
    text += fmt::format("{:>8} {:>14.3f} {:>13} {:>12}\n", size.bytes, size.round_trip_ms,
                        number(size.mbit_to_server), number(size.mbit_to_robot));
  }
  text += fmt::format("A robot's estimate: {} there, {} back, round trip {} ms.\n",
                      ToText(estimate.bandwidth), ToText(estimate.bandwidth_back),
                      number(RoundTripMs(estimate)));
  return command.emulate.empty() ? text : text + fmt::format("emulated {}\n", command.emulate);
}

}  // namespace

std::string RunLinkCommand(const LinkCommand& command, const Clock& clock,
                           const std::atomic<bool>& stop) {
  std::optional<LinkShape> shape;
  if (!command.emulate.empty()) shape = ParseLinkShape(command.emulate);
  LinkConnector connector(ParseLinkAddress(
      "--server", command.server,
      {command.name_server, command.robot_key, command.server_key, command.interface}));
  std::unique_ptr<Link> link = Connect(command, connector, clock, stop);
  if (shape) link = EmulateLink(std::move(link), *shape, clock);
  Channel channel(std::move(link), clock);
  channel.StartPumping();
  channel.Expect(true);
  LinkProbe probe(channel, clock);
  std::vector<ProbedSize> sizes;
  try {
    sizes = ProbeLink(probe, kSizes, command.rounds, stop);
  } catch (const std::runtime_error& error) {
    throw InputError(fmt::format("--server {}: {}", command.server, error.what()));
  }
  // The server's report takes at most a heartbeat to arrive.
  std::this_thread::sleep_for(ChannelOptions().heartbeat);
  const ChannelStatistics estimate = channel.statistics();
  Say(channel, message::Bye{});
  channel.Flush(clock.Now() + std::chrono::milliseconds(500));
  if (stop) throw Stopped("stopped: the link is not measured");
  if (!command.out.empty()) WriteFile(command.out, LinkToJsonText(command, sizes, estimate));
  return LinkToText(command, sizes, estimate);
}

}  // namespace cacheinf
