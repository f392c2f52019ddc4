#include <fmt/core.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/link/keys.h"
#include "tests/bench/bench.h"
#include "tests/bench/bench_server.h"
#include "tests/bench/clips.h"
#include "tests/bench/worker.h"
#include "tests/testing/command.h"
#include "tests/testing/places.h"

namespace cacheinf {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kRate = "20mbit";
constexpr const char* kFast = "10gbit";
constexpr size_t kRounds = 3;
constexpr int kFrames = 60;

struct Cell {
  const char* name;
  Words how;
};
const std::array kCells = {
    Cell{"remote jpeg dense", {"--codec", "jpeg", "--server-mode", "dense"}},
    Cell{"remote video dense", {"--codec", "video", "--server-mode", "dense"}},
    Cell{"remote video cache", {"--codec", "video", "--server-mode", "cache"}},
};

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class BedBench {
 public:
  BedBench(const BenchOptions& options, BenchReport* report)
      : model_(options.models.empty() ? SourceFolder() / "configs/models/demo_segmentation.onnx"
                                      : options.models.front()),
        clip_(options.videos.empty() ? "generated:seed=1,width=320,height=240,frames=100"
                                     : options.videos.front()),
        frames_(options.frames > 0 ? options.frames : kFrames),
        is_demo_(options.models.empty()),
        report_(report) {
    for (const char* const name : {"server", "robot"}) {
      WriteKeyPair(MakeKeyPair(), folder_.path() / name);
    }
  }

  void Run() {
    for (const Cell& cell : kCells) {
      Samples bed;
      Samples emulated;
      for (size_t round = 0; round < kRounds; ++round) {
        bed.ms.push_back(MedianMs(cell, /*is_emulated=*/false));
        emulated.ms.push_back(MedianMs(cell, /*is_emulated=*/true));
      }
      report_->AddRow({{"cell", cell.name},
                       {"model", model_.stem().string()},
                       {"clip", ClipName(clip_)},
                       {"bed_ms", bed.Median()},
                       {"emulated_ms", emulated.Median()},
                       {"ratio", bed.Median() / emulated.Median()}});
    }
  }

 private:
  // The p50 of latencies of a robot that is five times as slow as this machine. Where the link is
  // emulated, the bed's own link is no limit.
  double MedianMs(const Cell& cell, bool is_emulated) {
    const std::string link = is_emulated ? std::string(",") + kRate : "";
    const std::string models = folder_.path() / "models";
    Words server = {"taskset",
                    "-c",
                    std::to_string(cores_.server),
                    ProgramPath("cacheinf-server"),
                    "--listen",
                    "tcp://10.123.0.1:5588",
                    "--key",
                    folder_.path() / "server.key",
                    "--robots",
                    folder_.path() / "robot.pub",
                    "--threads",
                    "1",
                    "--models",
                    models,
                    "--log-level",
                    "error"};
    if (is_emulated) server = server + Words{"--emulate", kRate};
    Words robot = {"taskset",
                   "-c",
                   std::to_string(cores_.robot),
                   ProgramPath("cacheinf-robot"),
                   "run",
                   "--model",
                   model_,
                   "--source",
                   clip_,
                   "--frames",
                   std::to_string(frames_),
                   "--threads",
                   "1",
                   "--mode",
                   "remote",
                   "--server",
                   "tcp://10.123.0.1:5588",
                   "--server-key",
                   folder_.path() / "server.pub",
                   "--robot-key",
                   folder_.path() / "robot.key",
                   "--server-wait",
                   "20",
                   "--emulate",
                   "5x" + link,
                   "--summary",
                   folder_.path() / "summary.json",
                   "--log-level",
                   "error"};
    if (is_demo_) robot = robot + Words{"--config", SourceFolder() / "configs/demo.json"};
    const CommandResult result = RunCommand(Words{SourceFolder() / "scripts/internal/bed", "run",
                                                  "--rate", is_emulated ? kFast : kRate} +
                                            server + Words{"--"} + robot + cell.how);
    if (result.exit_code != 0) throw std::runtime_error(result.out + result.error);
    std::ifstream file(folder_.path() / "summary.json");
    const auto summary = nlohmann::json::parse(file);
    const int served = summary.at("server").at("frames");
    if (served < frames_ * 9 / 10) {
      throw std::runtime_error(
          fmt::format("{}: the server answered {} of {} frames", cell.name, served, frames_));
    }
    return summary.at("latency_ms").at("p50");
  }

  const std::filesystem::path model_;
  const std::string clip_;
  const int frames_;
  const bool is_demo_;
  BenchReport* const report_;
  const Cores cores_ = TwoCores();
  const TemporaryFolder folder_;
};

}  // namespace

void BenchBed(const BenchOptions& options, BenchReport* report) { BedBench(options, report).Run(); }

}  // namespace cacheinf
