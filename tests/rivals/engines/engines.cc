#include "tests/rivals/engines/engines.h"

#include <malloc.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <utility>

#include "common/backend/host/cpu_backend.h"
#include "common/base/error.h"
#include "common/exec/model_state.h"
#include "common/model/load.h"
#include "profiler/measured_schemes.h"
#include "tests/bench/timing.h"
#include "tests/testing/torch_module.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A network ready to answer.
struct Engine {
  std::function<void()> run;
  std::function<std::vector<Tensor>()> outputs;  // of the last run, or an equal one
};

// cacheinf-auto measures which scheme is faster, layer by layer, at every start.
Engine LoadCacheInf(const WorkerOptions& options, const std::vector<Tensor>& inputs) {
  Graph loaded = LoadModel(options.model, LoadOptions{.input_shapes = options.input_shapes});
  if (options.engine == "cacheinf-auto") {
    Measuring measuring;
    measuring.threads = options.threads;
    SetSchemes(loaded, FasterSchemes(loaded, MeasureSchemes(loaded, measuring, SteadyClock())));
  }
  auto graph = std::make_shared<const Graph>(std::move(loaded));
  auto state = std::make_shared<ModelState>(std::make_shared<const CompiledModel>(
      graph, std::make_unique<CpuBackend>(CpuBackendOptions{.threads = options.threads})));
  auto answers = std::make_shared<std::vector<Tensor>>();
  std::vector<TensorView> views;
  for (const ValueId id : graph->outputs) {
    const Shape& shape = graph->value(id).shape;
    auto numbers = std::make_shared<std::vector<float>>(static_cast<size_t>(ElementCount(shape)));
    answers->emplace_back(shape, std::shared_ptr<const float>(numbers, numbers->data()));
    const ConstTensorView view = answers->back().view();
    views.push_back({numbers->data(), view.rank, view.dims, view.strides});
  }
  return {[state, inputs, views] {
            for (size_t i = 0; i < inputs.size(); ++i) state->SetInput(i, inputs[i].view());
            state->Run();
            for (size_t i = 0; i < views.size(); ++i) state->GetOutput(i, views[i]);
          },
          [answers] { return *answers; }};
}

// glibc returns large maps to the system after every answer and faults them in for the next;
// PyTorch's tuning guide recommends allocators that do not.
void KeepFreedMemory() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

Engine LoadLibTorch(const WorkerOptions& options, const std::vector<Tensor>& inputs) {
  KeepFreedMemory();
  TorchModule::SetThreads(options.threads);
  auto module = std::make_shared<TorchModule>(options.model, TorchModule::Layout::kChannelsLast,
                                              TorchModule::Form::kFrozen);
  return {[module, inputs] { module->Time(inputs); },
          [module, inputs] { return module->Run(inputs); }};
}

std::vector<Tensor> ReadInputs(const WorkerOptions& options) {
  std::ifstream file(options.input_file, std::ios::binary);
  std::vector<Tensor> inputs;
  for (const Shape& shape : options.input_shapes) {
    std::vector<float> numbers(static_cast<size_t>(ElementCount(shape)));
    file.read(reinterpret_cast<char*>(numbers.data()),
              static_cast<std::streamsize>(numbers.size() * sizeof(float)));
    if (!file) throw InputError(options.input_file.string() + " holds too few numbers");
    inputs.emplace_back(shape, std::move(numbers));
  }
  return inputs;
}

// Ensures that every engine finds its file in the system's cache.
void ReadThrough(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> part(1 << 20);
  while (file.read(part.data(), static_cast<std::streamsize>(part.size()))) continue;
}

// The most memory that this program ever had, without its parent's.
double PeakMegabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024.0;
  }
  return 0.0;
}

json WriteOutputs(const std::vector<Tensor>& outputs, const fs::path& path) {
  std::ofstream file(path, std::ios::binary);
  json counts = json::array();
  for (const Tensor& output : outputs) {
    const int64_t count = output.count();
    file.write(reinterpret_cast<const char*>(output.data()),
               static_cast<std::streamsize>(static_cast<size_t>(count) * sizeof(float)));
    counts.push_back(count);
  }
  if (!file.flush()) throw InputError(path.string() + " cannot be written");
  return {{"outputs", counts}};
}

void Reply(const json& answer) { std::cout << answer.dump() << std::endl; }

void Serve(const WorkerOptions& options) {
  Engine engine;
  if (options.engine == "onednn-layer") {
    KeepFreedMemory();
    TorchModule::SetThreads(options.threads);
    Reply(json::object());
  } else {
    const std::vector<Tensor> inputs = ReadInputs(options);
    ReadThrough(options.model);
    const double milliseconds = TimeOnce([&] {
      engine = options.engine == "libtorch" ? LoadLibTorch(options, inputs)
                                            : LoadCacheInf(options, inputs);
      engine.run();
    });
    Reply({{"first_answer_ms", milliseconds}, {"peak_mb", PeakMegabytes()}});
  }
  for (std::string line; std::getline(std::cin, line) && line != "quit";) {
    const std::string word = line.substr(0, line.find(' '));
    const std::string rest = word.size() < line.size() ? line.substr(word.size() + 1) : "";
    if (word == "time") {
      Reply({{"ms", TimeCalls(engine.run, std::stoi(rest))}});
    } else if (word == "outputs") {
      Reply(WriteOutputs(engine.outputs(), rest));
    } else if (word == "layer") {
      engine.run = OneDnnLayer(json::parse(rest));
      Reply(json::object());
    } else {
      throw InputError("there is no request '" + word + "'");
    }
  }
}

}  // namespace

void ServeEngine(const WorkerOptions& options) {
  try {
    Serve(options);
  } catch (const std::exception& error) {
    const std::string reason = error.what();
    Reply({{"error", reason.substr(0, reason.find('\n'))}});
  }
}

}  // namespace cacheinf
