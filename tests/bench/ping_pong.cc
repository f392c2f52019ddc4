#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/link/address.h"
#include "common/link/channel.h"
#include "common/link/keys.h"
#include "common/link/mpi_link.h"
#include "common/link/zmq_link.h"
#include "common/pair/link_probe.h"
#include "tests/bench/bench.h"
#include "tests/bench/name_server.h"
#include "tests/bench/worker.h"

namespace cacheinf {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::milliseconds;

constexpr milliseconds kPatience(20000);
const std::vector<size_t> kSizes = {1,       1 << 6,  1 << 10, 1 << 12, 1 << 14,
                                    1 << 16, 1 << 18, 1 << 20, 1 << 22};

struct Ends {
  std::unique_ptr<Link> robot;
  std::unique_ptr<Link> server;
};

template <typename Listener, typename Connector>
Ends Connect(Listener* listener, Connector* connector) {
  Ends ends;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!ends.robot || !ends.server) {
    if (!ends.robot) ends.robot = connector->Poll();
    if (!ends.server) ends.server = listener->Accept(milliseconds(1));
    if (std::chrono::steady_clock::now() > until) throw std::runtime_error(connector->problem());
  }
  return ends;
}

void SendWhole(Link* link, std::span<const uint8_t> packet) {
  while (!link->Send(packet)) {
    if (!link->fault().empty()) throw std::runtime_error(link->fault());
    link->Wait(milliseconds(100));
  }
}

void EchoPackets(Link* link, const std::atomic<bool>& stop) {
  std::vector<uint8_t> packet;
  while (!stop) {
    if (link->Receive(&packet)) {
      SendWhole(link, packet);
    } else {
      link->Wait(milliseconds(100));
    }
  }
}

// Several packets go and come back at the same time.
void PingPackets(Link* link, const std::vector<uint8_t>& bytes) {
  std::vector<uint8_t> packet;
  size_t sent = 0;
  size_t received = 0;
  while (received < bytes.size()) {
    const size_t size = std::min(bytes.size() - sent, Link::kLargestPacket);
    if (size != 0 && link->Send({bytes.data() + sent, size})) {
      sent += size;
    } else if (link->Receive(&packet)) {
      received += packet.size();
    } else {
      if (!link->fault().empty()) throw std::runtime_error(link->fault());
      link->Wait(milliseconds(100));
    }
  }
}

std::chrono::nanoseconds Soon(const Clock& clock) { return clock.Now() + milliseconds(100); }

void EchoMessages(Channel* channel, const Clock& clock, const std::atomic<bool>& stop) {
  while (!stop) {
    if (!channel->WaitForMessage(Soon(clock))) continue;
    message::Probe probe;
    const std::optional<Message> message = channel->Receive();
    if (message && Decode(message->bytes, &probe).empty()) AnswerProbe(*channel, probe);
  }
}

void AddRows(const std::string& transport, const std::string& layer,
             const std::function<void(const std::vector<uint8_t>&)>& ping,
             const TimingOptions& timing, BenchReport* report) {
  std::vector<std::function<void()>> actions;
  for (const size_t size : kSizes) {
    actions.push_back([&ping, bytes = std::vector<uint8_t>(size, 1)] { ping(bytes); });
  }
  const Timing times = TimeInterleaved(actions, timing);
  report->AddNoise(times);
  for (size_t i = 0; i < kSizes.size(); ++i) {
    const Samples& samples = times.contenders[i];
    const double bits = 2 * 8 * static_cast<double>(kSizes[i]);
    report->AddRow({{"transport", transport},
                    {"layer", layer},
                    {"bytes", kSizes[i]},
                    {"median_ms", samples.Median()},
                    {"p95_ms", samples.Quantile(0.95)},
                    {"mbit_s", bits / samples.Median() / 1000}});
  }
}

void Measure(const std::string& transport, Ends ends, const TimingOptions& timing,
             BenchReport* report) {
  {
    std::atomic<bool> stop = false;
    std::thread echo([&] { EchoPackets(ends.server.get(), stop); });
    AddRows(
        transport, "link",
        [&](const std::vector<uint8_t>& bytes) { PingPackets(ends.robot.get(), bytes); }, timing,
        report);
    stop = true;
    echo.join();
  }
  const SteadyClock clock;
  Channel robot(std::move(ends.robot), clock);
  Channel server(std::move(ends.server), clock);
  robot.StartPumping();
  server.StartPumping();
  robot.Expect(true);
  server.Expect(true);
  std::atomic<bool> stop = false;
  std::thread echo([&] { EchoMessages(&server, clock, stop); });
  LinkProbe probe(robot, clock);
  AddRows(
      transport, "channel",
      [&](const std::vector<uint8_t>& bytes) { probe.Exchange(bytes.size(), bytes.size()); },
      timing, report);
  stop = true;
  echo.join();
}

void MeasureMpi(const TimingOptions& timing, BenchReport* report) {
  const NameServerOfOurOwn name_server;
  const LinkAddress address =
      ParseLinkAddress("--listen", "mpi:ping-pong", {.name_server = name_server.file()});
  MpiListener listener(address);
  MpiConnector connector(address);
  Measure("mpi", Connect(&listener, &connector), timing, report);
}

// Encrypted, with a list of robots.
void MeasureZmq(const TimingOptions& timing, BenchReport* report) {
  const TemporaryFolder keys;
  for (const char* const name : {"server", "robot"}) {
    WriteKeyPair(MakeKeyPair(), keys.path() / name);
  }
  ZmqListener listener(
      ParseLinkAddress("--listen", "tcp://127.0.0.1:0",
                       {.key = keys.path() / "server.key", .trusted = keys.path() / "robot.pub"}));
  ZmqConnector connector(
      ParseLinkAddress("--server", "tcp://127.0.0.1:" + std::to_string(listener.port()),
                       {.key = keys.path() / "robot.key", .trusted = keys.path() / "server.pub"}));
  Measure("zmq", Connect(&listener, &connector), timing, report);
}

}  // namespace

void BenchPingPong(const BenchOptions& options, BenchReport* report) {
  MeasureMpi(options.timing, report);
  MeasureZmq(options.timing, report);
}

}  // namespace cacheinf
