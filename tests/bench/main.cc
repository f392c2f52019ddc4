#include <CLI/CLI.hpp>
#include <array>
#include <cmath>
#include <fstream>
#include <iostream>
#include <string>

#include "common/base/error.h"
#include "common/base/program.h"
#include "common/config/model_config.h"
#include "tests/bench/bench.h"

namespace cacheinf {
namespace {

constexpr std::array kBenches = {
    Bench{"dense", "whole networks, every operator on the whole picture, beside other engines",
          BenchDense},
    Bench{"kernels", "convolutions on a share of their pixels, beside the best dense ones",
          BenchKernels},
    Bench{"changes", "whole networks of which a part of the picture changed, beside the ideal",
          BenchChanges},
    Bench{"frames", "videos whose results are kept from frame to frame, beside dense runs",
          BenchFrames},
    Bench{"deepcache", "videos under DeepCache's configuration and the sweeps of its parameters",
          BenchDeepCache},
    Bench{"bed", "a link between two network namespaces beside an emulated one; as root", BenchBed},
    Bench{"cuts",
          "what cutting a network between robot and server would cost: bytes of every value and "
          "times are measured, the latency for a link and a server is predicted",
          BenchCuts},
    Bench{"failures", "cuts, flashes, blur and lost cameras: how soon kept answers are right again",
          BenchFailures},
    Bench{"idle-peer", "a robot that computes alone, with a server that is connected and without",
          BenchIdlePeer},
    Bench{"light", "videos of which the light changes, as it is and in the light of what is stored",
          BenchLight},
    Bench{"modes",
          "robot alone, robot and server in every mode, and rivals, over emulated links: latency, "
          "bytes, and what is in hand at a deadline; live over MPI, and replayed",
          BenchModes},
    Bench{
        "moved",
        "answers some frames old, moved with the scene and by rivals, beside dense answers to the "
        "frame",
        BenchMoved},
    Bench{"trace",
          "mode cacheinf beside every fixed one where the link's bandwidth follows a trace: live, "
          "over MPI",
          BenchTrace},
    Bench{"predict", "what profiles of other clips predict for frames, beside what these take",
          BenchPredict},
    Bench{"promises",
          "what mode cacheinf expects of its plans after a third of a clip, beside what the rest "
          "shows: live, over MPI",
          BenchPromises},
    Bench{"operators", "one operator at a time, on some of its pixels and on all", BenchOperators},
    Bench{"ping-pong",
          "bytes to a server and back, over MPI between programs started apart, and over ZeroMQ",
          BenchPingPong},
    Bench{"tracker", "how a frame is aligned with the one before, by blocks and by homographies",
          BenchTracker},
};

const Bench& FindBench(const std::string& name) {
  std::string names;
  for (const Bench& bench : kBenches) {
    if (bench.name == name) return bench;
    names += (names.empty() ? "" : ", ") + std::string(bench.name);
  }
  throw InputError("there is no bench named " + name + "; there are: " + names);
}

void WriteJson(const std::filesystem::path& path, const nlohmann::ordered_json& json) {
  std::ofstream file(path);
  file << json.dump(2) << "\n";
  if (!file.flush()) throw InputError(path.string() + " cannot be written");
}

// Checked before anything is measured in vain.
void CheckOptions(const BenchOptions& options, const std::filesystem::path& json_path) {
  if (!std::isfinite(options.timing.min_time_ms)) throw InputError("--min-time must be finite");
  for (const double budget : options.budgets) {
    if (!std::isfinite(budget)) throw InputError("--budget must be between 0 and 1");
  }
  const bool can_write = json_path.empty() || std::ofstream(json_path, std::ios::app).good();
  if (!can_write) throw InputError(json_path.string() + " cannot be written");
}

int Run(int argc, char** argv) {
  CLI::App app{"Measures CacheInf; scripts/bench builds it first.", "cacheinf-bench"};
  std::string name;
  std::filesystem::path json_path;
  std::string commit = "unknown";
  std::vector<std::string> shapes;
  bool list = false;
  BenchOptions options;
  app.add_option("NAME", name, "which bench");
  app.add_flag("--list", list, "print the benches' names and what they measure");
  app.add_option("--json", json_path, "also write the result to this file");
  app.add_option("--model", options.models, "measure these model files");
  app.add_option("--video", options.videos, "measure with these videos");
  app.add_option("--shape", shapes, "shape of the model's inputs, like 1x3x384x640");
  app.add_option("--threads", options.threads, "numbers of threads to measure with")
      ->check(CLI::Range(1, 1024));
  app.add_option("--min-time", options.timing.min_time_ms, "milliseconds to measure for, a row")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--engine", options.engines, "measure these engines");
  app.add_option("--precision", options.precision, "fp32, int8 or bf16")
      ->check(CLI::IsMember({"fp32", "int8", "bf16"}));
  app.add_flag("--full", options.full, "everything, not a sample that ends in 15 minutes");
  app.add_flag("--quick", options.quick, "less, in a few minutes");
  app.add_option("--peers-python", options.peers_python, "the Python that has the other engines");
  app.add_option("--cache", options.cache, "where converted models are kept");
  app.add_option("--layer", options.layers, "measure the layers whose names begin so");
  app.add_option("--frames", options.frames, "so many frames of every clip")
      ->check(CLI::Range(2, 1000000));
  app.add_option("--trace", options.trace, "of a link's bandwidth: seconds,megabits_per_second");
  app.add_option("--mean-mbit", options.mean_mbit, "scale the trace to this mean; 0: leave it")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--budget", options.budgets, "shares of the memory that keeping all maps takes")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--sige", options.sige, "a folder with SIGE's package, built");
  app.add_option("--sige-python", options.sige_python, "the Python that has its PyTorch");
  app.add_option("--commit", commit, "what to write as the commit");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    throw InputError(error.what());
  }

  if (list) {
    for (const Bench& bench : kBenches) std::cout << bench.name << ": " << bench.what << "\n";
    return 0;
  }
  for (const std::string& shape : shapes)
    options.input_shapes.push_back(ParseShape(shape, "--shape"));
  const Bench& bench = FindBench(name);
  const bool has_precision = name == "dense" || name == "kernels" || name == "frames";
  if (options.precision != "fp32" &&
      (!has_precision || (options.precision == "bf16" && name != "dense"))) {
    throw InputError("the bench " + name + " has no precision " + options.precision);
  }
  CheckOptions(options, json_path);
  BenchReport report;
  bench.run(options, &report);
  std::cout << report.Table();
  if (!json_path.empty()) WriteJson(json_path, report.ToJson(bench.name, commit));
  return 0;
}

}  // namespace
}  // namespace cacheinf

int main(int argc, char** argv) {
  return cacheinf::RunProgram("cacheinf-bench", [&] { return cacheinf::Run(argc, argv); });
}
