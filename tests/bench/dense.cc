#include <sched.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/exec/cpu_backend.h"
#include "common/exec/executor.h"
#include "common/exec/torch_call.h"
#include "common/exec/torch_module.h"
#include "common/model/load.h"
#include "tests/bench/bench.h"
#include "tests/testing/command.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

// A network ready to answer: a call computes one answer from the same random inputs.
using Network = std::function<void()>;

std::vector<Tensor> RandomInputs(const std::vector<Shape>& shapes) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<Tensor> inputs;
  for (const Shape& shape : shapes) {
    std::vector<float> numbers(static_cast<size_t>(ElementCount(shape)));
    for (float& number : numbers) number = normal(random);
    inputs.emplace_back(shape, std::move(numbers));
  }
  return inputs;
}

Network LoadCacheInf(const fs::path& model, const std::vector<Shape>& shapes, int threads) {
  auto graph = std::make_shared<const Graph>(LoadModel(model, LoadOptions{.input_shapes = shapes}));
  auto executor = std::make_shared<Executor>(
      graph, std::make_unique<CpuBackend>(CpuBackendOptions{.threads = threads}));
  return [executor, inputs = RandomInputs(shapes)] {
    for (size_t i = 0; i < inputs.size(); ++i) executor->SetInput(i, inputs[i].view());
    executor->Run();
  };
}

Network LoadLibTorch(const fs::path& model, const std::vector<Shape>& shapes, int threads) {
  SetTorchThreads(threads);
  auto module = std::make_shared<TorchModule>(model, TorchModule::Layout::kChannelsLast);
  return [module, inputs = RandomInputs(shapes)] { module->Time(inputs); };
}

struct Engine {
  std::string_view name;
  Network (*load)(const fs::path& model, const std::vector<Shape>& shapes, int threads);
};
constexpr Engine kCacheInf = {"cacheinf", LoadCacheInf};
constexpr Engine kLibTorch = {"libtorch", LoadLibTorch};

// From now on this process runs on as many cores.
void PinToCores(int count) {
  static const cpu_set_t kUsable = [] {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    sched_getaffinity(0, sizeof(cores), &cores);
    return cores;
  }();
  cpu_set_t cores = kUsable;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &cores) && count-- <= 0) CPU_CLR(core, &cores);
  }
  sched_setaffinity(0, sizeof(cores), &cores);
}

// The most memory this program ever had, but not what the one that started it had.
double PeakMegabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024.0;
  }
  return 0.0;
}

// One network in one file, as an engine reads it.
struct Contender {
  Engine engine;
  fs::path file;
};

// What a fresh process needs from the file to the first answer.
nlohmann::ordered_json MeasureFirstAnswer(const Contender& contender,
                                          const std::vector<Shape>& shapes, int threads) {
  std::vector<std::string> command = {"/proc/self/exe",
                                      "--first-answer",
                                      std::string(contender.engine.name),
                                      "--model",
                                      contender.file.string(),
                                      "--threads",
                                      std::to_string(threads)};
  for (const Shape& shape : shapes) {
    command.emplace_back("--shape");
    command.push_back(ToString(shape));
  }
  const CommandResult result = RunCommand(command);
  if (result.exit_code != 0) throw std::runtime_error(result.error);
  return nlohmann::ordered_json::parse(result.out);
}

void MeasureModel(const fs::path& model, const std::vector<Shape>& shapes,
                  const std::vector<Contender>& contenders, const BenchOptions& options,
                  BenchReport* report) {
  for (const int threads : options.threads) {
    PinToCores(threads);
    std::vector<nlohmann::ordered_json> first_answers;
    std::vector<Network> networks;
    for (const Contender& contender : contenders) {
      std::cerr << model.filename().string() << ", " << contender.engine.name << ", " << threads
                << (threads == 1 ? " thread\n" : " threads\n");
      first_answers.push_back(MeasureFirstAnswer(contender, shapes, threads));
      networks.push_back(contender.engine.load(contender.file, shapes, threads));
    }
    const Timing timing = TimeInterleaved(networks, options.timing);
    report->AddNoise(timing);
    for (size_t i = 0; i < contenders.size(); ++i) {
      const Samples& samples = timing.contenders[i];
      report->AddRow({{"model", model.stem().string()},
                      {"shape", ToString(shapes.front())},
                      {"threads", threads},
                      {"engine", contenders[i].engine.name},
                      {"median_ms", samples.Median()},
                      {"p10_ms", samples.Quantile(0.1)},
                      {"p90_ms", samples.Quantile(0.9)},
                      {"first_answer_ms", first_answers[i].at("first_answer_ms")},
                      {"peak_mb", first_answers[i].at("peak_mb")},
                      {"rounds", samples.ms.size()}});
    }
  }
}

std::vector<Shape> InputShapes(const fs::path& model, const std::vector<Shape>& given) {
  const Graph graph = LoadModel(model, LoadOptions{.input_shapes = given});
  std::vector<Shape> shapes;
  for (const ValueId id : graph.inputs) shapes.push_back(graph.value(id).shape);
  return shapes;
}

// The demo's model, and what scripts/export_models has made of the usual networks.
std::vector<std::pair<fs::path, std::vector<Shape>>> UsualModels() {
  std::vector<std::pair<fs::path, std::vector<Shape>>> models = {
      {fs::path(CACHEINF_SOURCE_DIR) / "configs" / "models" / "demo_segmentation.onnx",
       {{1, 3, 240, 320}}}};
  const char* cache = std::getenv("CACHEINF_CACHE");
  const char* home = std::getenv("HOME");
  const fs::path folder = cache != nullptr
                              ? fs::path(cache) / "models"
                              : fs::path(home != nullptr ? home : "") / ".cache/cacheinf/models";
  for (const char* name : {"mobilenet_v3_small", "efficientnet_b0", "resnet50", "densenet121"}) {
    const fs::path file = folder / (std::string(name) + ".onnx");
    if (fs::exists(file)) models.push_back({file, {{1, 3, 224, 224}}});
  }
  return models;
}

}  // namespace

void BenchDense(const BenchOptions& options, BenchReport* report) {
  auto models = UsualModels();
  if (!options.models.empty()) {
    models.clear();
    for (const fs::path& model : options.models) models.push_back({model, options.input_shapes});
  } else if (models.size() == 1) {
    report->AddNote("Only the demo's model is here; scripts/export_models makes the others.");
  }
  for (const auto& [model, given_shapes] : models) {
    std::vector<Contender> contenders = {{kCacheInf, model}};
    // LibTorch needs the same network as TorchScript: the file itself, or the one beside it.
    fs::path torch_file = model;
    torch_file.replace_extension(".pt");
    if (fs::exists(torch_file)) {
      contenders.push_back({kLibTorch, torch_file});
    } else {
      report->AddNote("LibTorch is not measured on " + model.filename().string() +
                      ": there is no TorchScript file of the same name, ending in .pt, beside it.");
    }
    MeasureModel(model, InputShapes(model, given_shapes), contenders, options, report);
  }
}

nlohmann::ordered_json FirstAnswer(const std::string& engine_name, const BenchOptions& options) {
  if (options.models.size() != 1 || options.threads.size() != 1 || options.input_shapes.empty()) {
    throw InputError(
        "--first-answer needs one --model, one --threads and the --shape of each input");
  }
  PinToCores(options.threads.front());
  const Engine& engine = engine_name == kLibTorch.name ? kLibTorch : kCacheInf;
  const double milliseconds = TimeOnce([&] {
    engine.load(options.models.front(), options.input_shapes, options.threads.front())();
  });
  return {{"first_answer_ms", milliseconds}, {"peak_mb", PeakMegabytes()}};
}

}  // namespace cacheinf
