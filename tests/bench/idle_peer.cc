#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <opencv2/core.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "client/robot.h"
#include "client/robot_setup.h"
#include "common/base/clock.h"
#include "common/link/channel.h"
#include "tests/bench/bench.h"
#include "tests/bench/bench_server.h"
#include "tests/bench/clips.h"
#include "tests/bench/name_server.h"
#include "tests/bench/replay.h"
#include "tests/bench/worker.h"

namespace cacheinf {
namespace {

constexpr int kFramesOfTheClip = 16;
constexpr size_t kPairs = 16;
constexpr double kTurnMs = 600;
constexpr size_t kFewestFrames = 8;  // per turn
// From a robot's first frame: a server that it has just met is not idle.
constexpr double kSettleMs = 1500;

// Milliseconds per frame of a new robot over this many frames of the clip, once all is settled.
// With a server's address, it stays connected from before the first until after the last.
double TurnMsPerFrame(const std::shared_ptr<const CompiledModel>& model, const RobotConfig& config,
                      const std::vector<Frame>& clip, size_t frames) {
  const SteadyClock clock;
  Robot robot(model, config, clock);
  int64_t next = 0;
  const auto process_next = [&] {
    Frame frame = clip[FrameOfClip(next, clip.size())];
    frame.index = next++;
    robot.Process(frame);
    robot.Refresh(frame);
  };
  process_next();
  std::chrono::nanoseconds begin = clock.Now();
  while (Milliseconds(clock.Now() - begin) < kSettleMs) process_next();
  begin = clock.Now();
  for (size_t i = 0; i < frames; ++i) process_next();
  const double ms = Milliseconds(clock.Now() - begin) / static_cast<double>(frames);
  if (robot.link_statistics().has_value() == config.server.address.empty()) {
    throw std::runtime_error("the server was not there, or where it should not be");
  }
  return ms;
}

// Bounds that hold the median with a probability of at least 95 %, by the order of the samples
// alone. REQUIRES: six samples.
std::array<double, 2> IntervalOfMedian(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto count = static_cast<double>(samples.size());
  double of_rank = std::pow(0.5, count);  // that this many samples lie below the median
  double below = of_rank;
  size_t rank = 0;
  while (below + of_rank * (count - static_cast<double>(rank)) / (static_cast<double>(rank) + 1) <=
         0.025) {
    of_rank *= (count - static_cast<double>(rank)) / (static_cast<double>(rank) + 1);
    below += of_rank;
    ++rank;
  }
  return {samples[rank], samples[samples.size() - 1 - rank]};
}

class IdlePeerBench {
 public:
  IdlePeerBench(const BenchOptions& options, BenchReport* report)
      : options_(options),
        report_(report),
        over_mpi_(name_server_.file(), models_.path(), cores_.server, ""),
        over_zmq_("", models_of_zmq_.path(), cores_.server, "") {
    PinToCore(cores_.robot);
    cv::setNumThreads(1);
    if (cores_.robot == cores_.server) report_->AddNote("There is one core only.");
  }

  void Run() {
    for (const std::filesystem::path& file : ClipModels(options_)) {
      const bool is_usual = file.stem() == "demo_segmentation" || file.stem() == "yolov5n_384x640";
      if (options_.models.empty() && !is_usual) continue;
      RobotConfig config = ConfigFor(file, options_);
      config.threads = 1;
      config.guard.is_on = false;
      config.server.wait_s = 20;
      config.server.name_server = name_server_.file();
      const auto model = Compile(LoadGraph(config, /*has_tensors=*/false), config);
      for (const std::string& clip : Clips(options_)) {
        if (options_.videos.empty() && ClipName(clip) != "juggle") continue;
        const std::vector<Frame> frames = ReadFrames(clip, kFramesOfTheClip);
        for (const RobotConfig::Mode mode :
             {RobotConfig::Mode::kDense, RobotConfig::Mode::kCache}) {
          config.mode = mode;
          Measure(model, config, frames,
                  {{"model", file.stem().string()}, {"clip", ClipName(clip)}});
        }
      }
    }
  }

 private:
  void Measure(const std::shared_ptr<const CompiledModel>& model, const RobotConfig& alone,
               const std::vector<Frame>& clip, nlohmann::ordered_json row) {
    const double ms = TurnMsPerFrame(model, alone, clip, kFewestFrames);
    const size_t frames = std::max(kFewestFrames, static_cast<size_t>(kTurnMs / ms));
    row["mode"] = alone.ModeName();
    row["pairs"] = kPairs;
    row["frames"] = frames;
    for (const auto& [transport, server] : {std::pair("mpi", &over_mpi_), {"zmq", &over_zmq_}}) {
      RobotConfig connected = alone;
      connected.server.address = server->address();
      Samples with;
      Samples without;
      Samples ratios;
      for (size_t pair = 0; pair < kPairs; ++pair) {
        const auto take = [&](const RobotConfig& config, Samples* samples) {
          samples->ms.push_back(TurnMsPerFrame(model, config, clip, frames));
        };
        if (pair % 2 == 0) take(connected, &with);
        take(alone, &without);
        if (pair % 2 == 1) take(connected, &with);
        ratios.ms.push_back(with.ms.back() / without.ms.back());
      }
      const auto [low, high] = IntervalOfMedian(ratios.ms);
      row.update({{"transport", transport},
                  {"alone_ms", without.Median()},
                  {"connected_ms", with.Median()},
                  {"ratio", ratios.Median()},
                  {"ratio_low", low},
                  {"ratio_high", high}});
      report_->AddRow(row);
    }
  }

  const BenchOptions& options_;
  BenchReport* const report_;
  const Cores cores_ = TwoCores();
  const NameServerOfOurOwn name_server_;
  const TemporaryFolder models_;
  const TemporaryFolder models_of_zmq_;
  const BenchServer over_mpi_;
  const BenchServer over_zmq_;
};

}  // namespace

void BenchIdlePeer(const BenchOptions& options, BenchReport* report) {
  IdlePeerBench(options, report).Run();
}

}  // namespace cacheinf
