#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/build_id.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/program.h"
#include "common/exec/cpu_backend.h"
#include "common/link/channel.h"
#include "common/link/mpi_link.h"
#include "common/pair/server_connection.h"
#include "common/pair/split_robot.h"
#include "tests/pair/clip.h"
#include "tests/pair/cuts.h"
#include "tests/testing/networks.h"
#include "tests/testing/run_graph.h"

// A robot that shares a small network with the server of its mpirun at every cut, one settings
// version after another, with a still camera and with a moving one. The answer to every frame must
// have the bits of a dense run, and no more may cross than what changed.
//
//   cut_robot NETWORK

namespace cacheinf {
namespace {

using std::chrono::milliseconds;

constexpr int kHeight = 64;
constexpr int kWidth = 32;
constexpr int kMultiCuts = 100;
// Bytes of a coded slice without pixels, and of the mask of a small map.
constexpr uint64_t kSliceBytes = 128;

class CutRobot {
 public:
  CutRobot(ServerConnection& connection, const std::shared_ptr<const CompiledModel>& model,
           const Clock& clock, int step)
      : graph_(model->graph()),
        state_(model, {{}, Keep::kAll, false, true}),
        dense_(model, {{}, Keep::kAll}),
        robot_(connection, state_, clock, message::Settings()),
        clip_(kHeight, kWidth, step, 7) {}

  void AwaitServer() {
    for (int i = 0; robot_.counts().together == 0; ++i) {
      if (i == 3000) throw std::runtime_error("the server does not take part");
      Answer();
      if (robot_.counts().together == 0) std::this_thread::sleep_for(milliseconds(5));
    }
    frames_ = robot_.counts().together;
  }

  void WalkCuts() {
    const std::vector<ValueId> values = ValuesToCut(state_);
    for (const ValueId value : values) {
      for (const int thousandths : {0, 500}) CutAt({{value, thousandths}}, 3);
    }
    std::mt19937 random(5);
    for (int i = 0; i < kMultiCuts; ++i) CutAt(RandomCuts(values, random), 1);
  }

  int64_t together() const { return robot_.counts().together; }
  int bounded() const { return bounded_; }

 private:
  using Values = std::vector<std::vector<float>>;

  void CutAt(const std::vector<Cut>& cuts, int frames) {
    cuts_ = cuts;
    robot_.SetCuts(cuts);
    // If no cut goes through a map, the same rows cross in every frame.
    const bool has_fixed_rows =
        std::all_of(cuts.begin(), cuts.end(), [](Cut cut) { return cut.robot_thousandths == 0; });
    const std::vector<Transfer> transfers = TransfersOf(cuts);
    for (int i = 0; i < frames; ++i) {
      Values before;
      for (const Transfer& transfer : transfers) before.push_back(Numbers(dense_, transfer.value));
      Answer();
      if (robot_.counts().together != ++frames_) throw Failure("was not shared");
      const bool is_plain = clip_.decision().kind == FrameDecision::Kind::kChanged &&
                            clip_.decision().scroll.is_zero() &&
                            CountActive(std::as_const(clip_.decision().forced)) == 0;
      if (i > 0 && has_fixed_rows && is_plain) CheckBytes(transfers, before);
    }
  }

  std::vector<Transfer> TransfersOf(const std::vector<Cut>& cuts) const {
    const std::vector<int> rows(cuts.size(), 0);
    return CompileRows(graph_, state_.layout(),
                       OwnershipOf(graph_, state_.layout(), cuts, rows, kHeight))
        .transfers;
  }

  void Answer() {
    robot_.Execute(clip_.Next(), clip_.picture(), {});
    if (robot_.counts().refusals > 0) throw std::runtime_error("the server refused a frame");
    dense_.SetPicture(clip_.picture());
    dense_.Run();
    const Values expected = Outputs(dense_);
    const Values actual = Outputs(state_);
    for (size_t i = 0; i < expected.size(); ++i) {
      const std::string difference = FirstDifference(expected[i], actual[i]);
      if (!difference.empty()) throw Failure(difference);
    }
  }

  void CheckBytes(const std::vector<Transfer>& transfers, const Values& before) {
    ++bounded_;
    uint64_t least = 0;
    for (size_t i = 0; i < transfers.size(); ++i) {
      least += ChangedBytes(graph_, transfers[i], before[i], Numbers(dense_, transfers[i].value));
    }
    const uint64_t most = least + least / 50 + kSliceBytes * transfers.size();
    const ServerPart& part = robot_.part().value();
    const uint64_t crossed = part.sent_bytes + part.received_bytes;
    if (crossed > most) {
      throw Failure(std::to_string(crossed) + " bytes crossed, where " + std::to_string(least) +
                    " changed");
    }
  }

  std::runtime_error Failure(const std::string& what) const {
    std::string text = "frame " + std::to_string(clip_.decision().number);
    for (const Cut& cut : cuts_) {
      text += ", cut at '" + graph_.value(cut.value).name +
              "':" + std::to_string(cut.robot_thousandths);
    }
    return std::runtime_error(text + ": " + what);
  }

  const Graph& graph_;
  ModelState state_;
  ModelState dense_;
  SplitRobot robot_;
  Clip clip_;
  std::vector<Cut> cuts_;
  int64_t frames_ = 0;  // since the server takes part
  int bounded_ = 0;
};

std::unique_ptr<Link> Connect(MpiConnector& connector) {
  for (int i = 0; i < 2000; ++i) {
    if (std::unique_ptr<Link> link = connector.Poll()) return link;
    std::this_thread::sleep_for(milliseconds(5));
  }
  throw std::runtime_error(connector.problem());
}

const Network& NetworkOf(const std::string& name) {
  for (const Network& network : TenNetworks()) {
    if (network.name == name) return network;
  }
  throw InputError("cut_robot NETWORK");
}

int Run(const std::vector<std::string>& words) {
  const auto graph = MakeNetwork(NetworkOf(words.empty() ? "" : words[0]), kHeight, kWidth);
  const auto model = std::make_shared<const CompiledModel>(graph, std::make_unique<CpuBackend>());
  const SteadyClock clock;
  MpiConnector connector({});
  Channel channel(Connect(connector), clock);
  channel.StartPumping();
  ServerConnection connection(channel, BitsId(), "cut robot", PackForServers(*graph));
  for (const int step : {0, ShiftStep(*graph, kHeight / 2)}) {
    CutRobot robot(connection, model, clock, step);
    robot.AwaitServer();
    robot.WalkCuts();
    std::cout << (step == 0 ? "still: " : "moving: ") << robot.together() << " frames, "
              << robot.bounded() << " of them bounded\n";
  }
  connection.Leave("");
  channel.Flush(clock.Now() + milliseconds(500));
  return 0;
}

}  // namespace
}  // namespace cacheinf

int main(int argc, char** argv) {
  return cacheinf::RunProgram(
      "cut_robot", [&] { return cacheinf::Run(std::vector<std::string>(argv + 1, argv + argc)); });
}
