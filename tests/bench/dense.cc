#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/model/load.h"
#include "tests/bench/bench.h"
#include "tests/bench/clips.h"
#include "tests/bench/worker.h"
#include "tests/testing/places.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 7> kEngines = {
    "cacheinf", "cacheinf-auto", "libtorch", "onnxruntime", "openvino", "ncnn", "mnn"};

// A row of the table: an engine, and which form of the network it computes.
struct Way {
  std::string_view name;
  std::string_view engine;
  bool is_int8 = false;
  const char* floats = "f32";  // of OpenVINO: what it computes floats in
};

std::vector<Way> WaysOf(const std::string& precision) {
  if (precision == "int8") {
    return {{"cacheinf", "cacheinf", true},
            {"cacheinf-fp32", "cacheinf"},
            {"onnxruntime", "onnxruntime", true},
            {"openvino", "openvino", true},
            {"openvino-bf16", "openvino", false, "bf16"}};
  }
  if (precision == "bf16") {
    return {{"cacheinf", "cacheinf"}, {"openvino", "openvino", false, "bf16"}};
  }
  std::vector<Way> ways;
  for (const std::string_view engine : kEngines) ways.push_back({engine, engine});
  return ways;
}

bool IsOurs(std::string_view name) { return name.starts_with("cacheinf"); }

// One network for one shape of its inputs, in the forms that engines read.
struct Network {
  fs::path file;         // what we read
  fs::path onnx;         // empty: there is none
  fs::path torchscript;  // empty: there is none
  std::vector<Shape> input_shapes;
  fs::path int8 = {};  // what scripts/bench has quantised; empty: there is none

  std::string Name() const { return file.stem().string(); }
};

// The other form is the file with the same name beside it; scripts/internal/torchscript_from_onnx
// may also have made the TorchScript from an ONNX file.
Network FindForms(const fs::path& file, std::vector<Shape> shapes, const fs::path& cache) {
  Network network{file, {}, {}, std::move(shapes)};
  const fs::path name = file.filename();
  for (const fs::path& folder : {file.parent_path(), cache / "torchscript"}) {
    const fs::path onnx = folder / fs::path(name).replace_extension(".onnx");
    const fs::path torchscript = folder / fs::path(name).replace_extension(".pt");
    if (network.onnx.empty() && fs::exists(onnx)) network.onnx = onnx;
    if (network.torchscript.empty() && fs::exists(torchscript)) network.torchscript = torchscript;
  }
  const fs::path int8 = cache / "int8" / (file.stem().string() + ".int8.onnx");
  if (fs::exists(int8)) network.int8 = int8;
  return network;
}

void WriteNumbers(const std::vector<Shape>& shapes, const fs::path& path) {
  // A picture's range: far outside it, rounding alone moves an answer.
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(0.0f, 1.0f);
  std::ofstream file(path, std::ios::binary);
  for (const Shape& shape : shapes) {
    std::vector<float> numbers(static_cast<size_t>(ElementCount(shape)));
    for (float& number : numbers) number = uniform(random);
    file.write(reinterpret_cast<const char*>(numbers.data()),
               static_cast<std::streamsize>(numbers.size() * sizeof(float)));
  }
}

// Throws std::runtime_error if the network has no form that the engine reads.
std::vector<std::string> WorkerCommand(const Way& way, const Network& network,
                                       const fs::path& input, int threads,
                                       const BenchOptions& options) {
  std::vector<std::string> command;
  const bool ours = IsOurs(way.engine);
  if (ours || way.engine == "libtorch") {
    if (!ours && network.torchscript.empty()) {
      throw std::runtime_error("there is no TorchScript file of it");
    }
    const fs::path& file = !ours ? network.torchscript : way.is_int8 ? network.int8 : network.file;
    command = {EngineWorker(), std::string(way.engine), "--model", file.string()};
  } else {
    if (options.peers_python.empty()) {
      throw std::runtime_error("scripts/bench says where the peers are; it was not used");
    }
    if (network.onnx.empty()) throw std::runtime_error("there is no ONNX file of it");
    const fs::path& file = way.is_int8 ? network.int8 : network.onnx;
    command = {options.peers_python.string(),
               (SourceFolder() / "tests/rivals/peers/peers.py").string(),
               std::string(way.engine),
               "--model",
               file.string(),
               "--precision",
               way.floats};
    if (!network.torchscript.empty() && !way.is_int8) {
      command.insert(command.end(), {"--torchscript", network.torchscript.string()});
    }
    command.insert(command.end(), {"--cache", options.cache.string()});
  }
  for (const Shape& shape : network.input_shapes) {
    command.insert(command.end(), {"--shape", ToString(shape)});
  }
  command.insert(command.end(), {"--input", input.string(), "--threads", std::to_string(threads)});
  return command;
}

std::vector<float> ReadNumbers(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<float> numbers(fs::file_size(path) / sizeof(float));
  file.read(reinterpret_cast<char*>(numbers.data()),
            static_cast<std::streamsize>(numbers.size() * sizeof(float)));
  return numbers;
}

// The answer of a network: all outputs, one after the other.
struct Answer {
  std::vector<size_t> counts;
  std::vector<float> numbers;
};

Answer AskForAnswer(Worker& worker, const fs::path& file) {
  const nlohmann::json reply = worker.Ask("outputs " + file.string());
  return {reply.at("outputs").get<std::vector<size_t>>(), ReadNumbers(file)};
}

// The largest difference in an output, relative to its range.
double RelativeError(const Answer& answer, const Answer& truth) {
  if (answer.counts != truth.counts) throw std::runtime_error("its outputs have other sizes");
  double worst = 0.0;
  size_t begin = 0;
  for (const size_t count : truth.counts) {
    const auto [low, high] =
        std::minmax_element(truth.numbers.begin() + begin, truth.numbers.begin() + begin + count);
    for (size_t i = begin; i < begin + count; ++i) {
      const double error =
          std::abs(double{answer.numbers[i]} - truth.numbers[i]) / (double{*high} - *low);
      if (!(error <= worst)) worst = error;  // a NaN too
    }
    begin += count;
  }
  return worst;
}

// An engine with the network loaded and one answer given.
struct Contender {
  std::string_view engine;
  std::unique_ptr<Worker> worker;
  nlohmann::json first_answer;
  std::optional<double> error;  // beside ours
};

void AddEngine(const Way& way, const Network& network, const fs::path& folder, int threads,
               const BenchOptions& options, std::optional<Answer>* ours,
               std::vector<Contender>* contenders) {
  // With rounded numbers, a step at the beginning becomes many at the end.
  const double wrong_graph = options.precision == "fp32" ? 1e-2 : 0.5;
  Contender contender{way.name, nullptr, {}, {}};
  contender.worker =
      std::make_unique<Worker>(WorkerCommand(way, network, folder / "input", threads, options));
  contender.first_answer = contender.worker->FirstAnswer();
  const Answer answer = AskForAnswer(*contender.worker, folder / "output");
  contender.worker->WaitUntilIdle();
  if (way.name == "cacheinf") {
    *ours = answer;
  } else if (ours->has_value()) {
    contender.error = RelativeError(answer, **ours);
    if (!(*contender.error < wrong_graph)) {
      throw std::runtime_error("its answer is off by " + std::to_string(*contender.error) +
                               " of the output's range");
    }
  }
  contenders->push_back(std::move(contender));
}

void MeasureNetwork(const Network& network, int threads, const BenchOptions& options,
                    BenchReport* report) {
  PinToCores(threads);
  const TemporaryFolder folder;
  WriteNumbers(network.input_shapes, folder.path() / "input");
  const std::string shape = ToString(network.input_shapes.front());
  std::vector<Contender> contenders;
  std::optional<Answer> ours;
  for (const Way& way : WaysOf(options.precision)) {
    const auto& chosen = options.engines;
    if (!chosen.empty() && std::find(chosen.begin(), chosen.end(), way.name) == chosen.end()) {
      continue;
    }
    std::cerr << network.Name() << " " << shape << ", " << way.name << ", " << threads
              << (threads == 1 ? " thread\n" : " threads\n");
    try {
      AddEngine(way, network, folder.path(), threads, options, &ours, &contenders);
    } catch (const std::runtime_error& error) {
      report->AddNote(std::string(way.name) + " is not measured on " + network.Name() + " " +
                      shape + " with " + std::to_string(threads) + " threads: " + error.what());
    }
  }

  std::vector<Turn> turns;
  for (const Contender& contender : contenders) {
    turns.emplace_back([&](int count) { return contender.worker->Time(count); });
  }
  const Timing timing = TimeTurns(turns, options.timing);
  report->AddNoise(timing);
  for (size_t i = 0; i < contenders.size(); ++i) {
    const Samples& samples = timing.contenders[i];
    const nlohmann::json& first = contenders[i].first_answer;
    nlohmann::ordered_json row = {{"model", network.Name()},
                                  {"shape", shape},
                                  {"threads", threads},
                                  {"engine", contenders[i].engine},
                                  {"median_ms", samples.Median()},
                                  {"p10_ms", samples.Quantile(0.1)},
                                  {"p90_ms", samples.Quantile(0.9)},
                                  {"first_answer_ms", first.at("first_answer_ms")},
                                  {"peak_mb", first.at("peak_mb")},
                                  {"error", nullptr},
                                  {"samples", samples.ms.size()}};
    if (contenders[i].error) row["error"] = *contenders[i].error;
    if (options.precision != "fp32") row["precision"] = options.precision;
    std::cerr << "  " << contenders[i].engine << " " << samples.Median() << " ms\n";
    report->AddRow(std::move(row));
  }
}

std::vector<Shape> InputShapes(const fs::path& model, const std::vector<Shape>& given) {
  const Graph graph = LoadModel(model, LoadOptions{.input_shapes = given});
  std::vector<Shape> shapes;
  for (const ValueId id : graph.inputs) shapes.push_back(graph.value(id).shape);
  return shapes;
}

// What is measured if no model is named.
struct UsualNetwork {
  const char* file;  // of the demo, of ../shared/data/models, or of scripts/export_models
  Shape shape;
  bool in_sample;  // also without --full
};

std::vector<UsualNetwork> UsualNetworks() {
  const Shape square = {1, 3, 224, 224};
  const Shape wide = {1, 3, 480, 640};
  return {
      {"demo_segmentation", {1, 3, 240, 320}, true},
      {"yolov5n_384x640", {1, 3, 384, 640}, true},
      {"squeezenet1_1_227", {1, 3, 227, 227}, true},
      {"espnet_384x640", {1, 3, 384, 640}, true},
      {"mobilenet_v1", square, true},
      {"mobilenet_v2", square, true},
      {"mobilenet_v3_small", square, true},
      {"resnet18", square, true},
      {"resnet50", square, true},
      {"squeezenet1_1", square, false},
      {"efficientnet_b0", square, true},
      {"densenet121", square, true},
      {"inception_v3", square, false},
      {"vgg19_bn", square, true},
      {"resnet101", square, false},
      {"regnet_x_16gf", square, false},
      {"convnext_base", square, false},
      {"convnext_large", square, false},
      {"mobilenet_v1", wide, false},
      {"mobilenet_v2", wide, true},
      {"mobilenet_v3_small", wide, false},
      {"resnet18", wide, true},
      {"resnet50", wide, false},
      {"squeezenet1_1", wide, false},
      {"efficientnet_b0", wide, false},
      {"densenet121", wide, false},
      {"inception_v3", wide, false},
      {"resnet101", wide, false},
      {"regnet_x_16gf", wide, false},
      {"convnext_base", wide, false},
      {"convnext_large", wide, false},
      {"deeplabv3_mobilenet", {1, 3, 384, 512}, false},
      {"agrnav", {1, 1, 256, 32, 128}, false},
      {"agrnav_local", {1, 1, 256, 32, 128}, false},
      {"kapao", {1, 3, 512, 640}, false},
  };
}

// For precisions other than fp32, unless all networks are asked for: one of each kind.
bool IsInSample(const UsualNetwork& usual, const std::string& precision) {
  static constexpr std::array<std::string_view, 6> kQuantised = {
      "demo_segmentation", "yolov5n_384x640", "squeezenet1_1_227",
      "espnet_384x640",    "mobilenet_v2",    "resnet50"};
  const bool is_quantised =
      std::find(kQuantised.begin(), kQuantised.end(), usual.file) != kQuantised.end();
  return precision == "fp32" || is_quantised;
}

std::vector<Network> FindUsualNetworks(const BenchOptions& options, BenchReport* report) {
  const std::array<fs::path, 3> folders = {SourceFolder() / "configs/models", SharedData("models"),
                                           ExportedModels()};
  std::vector<Network> networks;
  for (const UsualNetwork& usual : UsualNetworks()) {
    if (!options.full && !(usual.in_sample && IsInSample(usual, options.precision))) continue;
    bool found = false;
    for (const fs::path& folder : folders) {
      const fs::path file = folder / (std::string(usual.file) + ".onnx");
      if (found || !fs::exists(file)) continue;
      networks.push_back(FindForms(file, {usual.shape}, options.cache));
      found = true;
    }
    if (!found) {
      report->AddNote(std::string(usual.file) +
                      " is not here: scripts/export_models makes most networks.");
    }
  }
  return networks;
}

// Where an engine was faster than ours, and by how much; "any" is the fastest of all.
void CompareWith(const std::string& rival, const std::vector<nlohmann::ordered_json>& rows,
                 BenchReport* report) {
  struct Times {
    double ours = 0.0;
    double rival = 0.0;
    std::string engine;
  };
  std::map<std::string, Times> cells;
  for (const nlohmann::ordered_json& row : rows) {
    const std::string engine = row.at("engine").get<std::string>();
    const double median_ms = row.at("median_ms").get<double>();
    Times& times = cells[row.at("model").get<std::string>() + " " +
                         row.at("shape").get<std::string>() + " " + row.at("threads").dump()];
    if (engine == "cacheinf") {
      times.ours = median_ms;
    } else if (IsOurs(engine) && rival == "any") {
      continue;
    } else if ((rival == "any" && (times.rival == 0.0 || median_ms < times.rival)) ||
               rival == engine) {
      times.rival = median_ms;
      times.engine = engine;
    }
  }
  double logarithms = 0.0;
  Samples ratios;
  int compared = 0;
  std::string slower;
  int slower_count = 0;
  for (const auto& [cell, times] : cells) {
    if (times.ours == 0.0 || times.rival == 0.0) continue;
    const double ratio = times.ours / times.rival;
    logarithms += std::log(ratio);
    ratios.ms.push_back(ratio);
    ++compared;
    if (ratio <= 1.0) continue;
    ++slower_count;
    std::array<char, 200> text;
    std::snprintf(text.data(), text.size(), "\n  %.2f  %s (%s)", ratio, cell.c_str(),
                  times.engine.c_str());
    slower += text.data();
  }
  if (compared == 0) return;
  std::array<char, 200> text;
  std::snprintf(
      text.data(), text.size(),
      "Our time over that of %s: %.2f in the geometric mean, %.2f in the median; above 1 in "
      "%d of %d cells",
      rival == "any" ? "the fastest other engine" : rival.c_str(), std::exp(logarithms / compared),
      ratios.Median(), slower_count, compared);
  report->AddNote(text.data() + (slower_count == 0 ? "." : ":" + slower));
}

}  // namespace

void BenchDense(const BenchOptions& options, BenchReport* report) {
  const std::vector<Way> ways = WaysOf(options.precision);
  for (const std::string& engine : options.engines) {
    const auto has_name = [&](const Way& way) { return way.name == engine; };
    if (std::none_of(ways.begin(), ways.end(), has_name)) {
      throw InputError("there is no engine named " + engine + " of precision " + options.precision);
    }
  }
  std::vector<Network> networks;
  for (const fs::path& model : options.models) {
    networks.push_back(FindForms(model, InputShapes(model, options.input_shapes), options.cache));
  }
  if (options.models.empty()) networks = FindUsualNetworks(options, report);
  if (options.precision == "int8") {
    const auto lacks = [&](const Network& network) {
      if (!network.int8.empty()) return false;
      report->AddNote(network.Name() + " has no quantised form: scripts/bench says why.");
      return true;
    };
    networks.erase(std::remove_if(networks.begin(), networks.end(), lacks), networks.end());
  }
  const std::vector<int> threads =
      options.threads.empty() ? std::vector<int>{1, 2} : options.threads;
  for (const Network& network : networks) {
    for (const int count : threads) MeasureNetwork(network, count, options, report);
  }
  for (const char* rival : {"libtorch", "onnxruntime", "openvino", "ncnn", "mnn", "openvino-bf16",
                            "cacheinf-fp32", "any"}) {
    CompareWith(rival, report->rows(), report);
  }
}

}  // namespace cacheinf
