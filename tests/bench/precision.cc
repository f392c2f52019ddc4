#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/answer/answers.h"
#include "common/answer/seen_picture.h"
#include "common/answer/statistics.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/config/model_setup.h"
#include "common/config/robot_config.h"
#include "common/exec/cpu_backend.h"
#include "common/exec/model_state.h"
#include "common/exec/schemes.h"
#include "common/model/load.h"
#include "common/source/frame_source.h"
#include "sparse_ops/cpu/bf16_kernels.h"
#include "tests/bench/bench.h"
#include "tests/bench/worker.h"
#include "tests/testing/run_graph.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

constexpr int kFramesOfSource = 8;
constexpr int kFramesApart = 12;

fs::path Shared() {
  const char* shared = std::getenv("CACHEINF_SHARED");
  return shared != nullptr ? fs::path(shared) : fs::path(CACHEINF_SOURCE_DIR) / ".." / "shared";
}

// The configuration in configs/ that the model's name begins with; else a default one.
RobotConfig ConfigOf(const fs::path& model) {
  for (const std::string name : {"demo", "espnet", "squeezenet", "yolov5n"}) {
    if (!model.stem().string().starts_with(name)) continue;
    return LoadRobotConfig(fs::path(CACHEINF_SOURCE_DIR) / "configs" / (name + ".json"));
  }
  RobotConfig config;
  config.model_config.decoder.kind = DecoderConfig::Kind::kClassification;
  return config;
}

// Some pictures of every clip that there is, or of generated scenes.
std::vector<Frame> FramesFor(const fs::path& model) {
  std::vector<std::string> sources;
  for (const char* clip : {"road.mp4", "juggle.mp4", "bedroom.mp4"}) {
    const fs::path file = Shared() / "data" / "video" / clip;
    if (fs::exists(file)) sources.push_back(file.string());
  }
  const bool is_demo = model.stem().string().starts_with("demo");
  if (is_demo || sources.empty()) sources = {"generated"};
  std::vector<Frame> frames;
  const SteadyClock clock;
  for (const std::string& name : sources) {
    const auto source = OpenSource(name, clock);
    for (int i = 0; i < kFramesOfSource * kFramesApart; ++i) {
      std::optional<Frame> frame = source->Next();
      if (!frame) break;
      if (i % kFramesApart == 0) frames.push_back(std::move(*frame));
    }
  }
  return frames;
}

// A network with all of its answer.
class Network {
 public:
  Network(std::shared_ptr<const Graph> graph, std::vector<ValueId> raw, const RobotConfig& config,
          int threads)
      : raw_(std::move(raw)),
        state_(std::make_shared<const CompiledModel>(
                   std::move(graph),
                   std::make_unique<CpuBackend>(CpuBackendOptions{.threads = threads})),
               {.persistent = raw_, .keep = Keep::kListed}),
        reader_(state_.graph(), config.model_config.decoder) {}

  // Returns the milliseconds.
  double Run(const ConstTensorView& picture) {
    state_.SetInput(0, picture);
    return TimeOnce([this] { state_.Run(); });
  }

  AnswerContent Answer(const PictureFit& fit) { return reader_.Read(state_, {&fit, {}}); }

  // What the answer is decoded from.
  std::vector<float> RawNumbers() const {
    std::vector<float> numbers;
    for (const ValueId value : raw_) {
      const std::vector<float> part = Numbers(state_.view(value));
      numbers.insert(numbers.end(), part.begin(), part.end());
    }
    return numbers;
  }

 private:
  std::vector<ValueId> raw_;
  ModelState state_;
  AnswerReader reader_;
};

double Overlap(const Detection& a, const Detection& b) {
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (width <= 0 || height <= 0) return 0;
  const auto area = [](const Detection& box) {
    return (box.right - box.left) * (box.bottom - box.top);
  };
  return width * height / (area(a) + area(b) - width * height);
}

// How far answers in BF16 agree with those in FP32, over any number of frames.
class Agreement {
 public:
  void Add(const AnswerContent& bf16, const AnswerContent& fp32) {
    if (const auto* map = std::get_if<ClassMap>(&fp32)) {
      AddMap(std::get<ClassMap>(bf16), *map);
    } else if (const auto* boxes = std::get_if<Detections>(&fp32)) {
      AddBoxes(std::get<Detections>(bf16), *boxes);
    } else if (const auto* classes = std::get_if<Classification>(&fp32)) {
      ++count_;
      if (std::get<Classification>(bf16).best[0].index == classes->best[0].index) ++same_;
    }
  }

  // Of pixels, boxes (F1) or frames (the best class); null without any.
  nlohmann::ordered_json Share() const {
    nlohmann::ordered_json share;
    if (count_ != 0) share = same_ / count_;
    return share;
  }

  nlohmann::ordered_json MeanIou() const {
    nlohmann::ordered_json iou;
    if (!score_.empty()) iou = score_.MeanIou();
    return iou;
  }

 private:
  void AddMap(const ClassMap& bf16, const ClassMap& fp32) {
    for (size_t i = 0; i < fp32.classes.size(); ++i) {
      score_.Add(bf16.classes[i], fp32.classes[i]);
      if (bf16.classes[i] == fp32.classes[i]) ++same_;
    }
    count_ += static_cast<double>(fp32.classes.size());
  }

  // A box agrees with one of the same class that half its area or more is common with.
  void AddBoxes(const Detections& bf16, const Detections& fp32) {
    std::vector<Detection> left = fp32.boxes;
    for (const Detection& box : bf16.boxes) {
      const auto match = std::find_if(left.begin(), left.end(), [&](const Detection& other) {
        return other.label.index == box.label.index && Overlap(box, other) >= 0.5;
      });
      if (match == left.end()) continue;
      left.erase(match);
      same_ += 2;
    }
    count_ += static_cast<double>(bf16.boxes.size() + fp32.boxes.size());
  }

  double count_ = 0;
  double same_ = 0;
  SegmentationScore score_;
};

// |bf16 - fp32| ÷ |fp32|, Euclidean lengths over all that is added.
class RelativeError {
 public:
  void Add(const std::vector<float>& bf16, const std::vector<float>& fp32) {
    for (size_t i = 0; i < fp32.size(); ++i) {
      const double error = double{bf16[i]} - fp32[i];
      error_ += error * error;
      all_ += double{fp32[i]} * fp32[i];
    }
  }
  double value() const { return std::sqrt(error_ / all_); }

 private:
  double error_ = 0;
  double all_ = 0;
};

void MeasureNetwork(const fs::path& model, const BenchOptions& options, int threads,
                    bool by_instructions, BenchReport* report) {
  const RobotConfig config = ConfigOf(model);
  std::vector<Shape> shapes = options.input_shapes;
  if (shapes.empty()) shapes = config.InputShapes();
  auto fp32_graph = std::make_shared<Graph>(LoadModel(model, LoadOptions{.input_shapes = shapes}));
  AddPicture(*fp32_graph, config.model_config.preprocess);
  const std::vector<ValueId> raw = fp32_graph->outputs;
  AddDecoder(*fp32_graph, config.model_config.decoder);
  auto bf16_graph = std::make_shared<Graph>(*fp32_graph);
  const SchemePlan plan = Bf16WhereItApplies(*bf16_graph);
  SetSchemes(*bf16_graph, plan);

  Network fp32(fp32_graph, raw, config, threads);
  Network bf16(bf16_graph, raw, config, threads);
  Agreement agreement;
  RelativeError error;
  Samples fp32_ms;
  Samples bf16_ms;
  const PictureSpec& spec = fp32_graph->picture;
  const std::vector<Frame> frames = FramesFor(model);
  for (const Frame& frame : frames) {
    const PictureFit fit(spec, frame.picture.width, frame.picture.height);
    const int64_t row = int64_t{spec.width} * fit.channels();
    std::vector<uint8_t> pixels(static_cast<size_t>(row * spec.height));
    std::vector<float> numbers(pixels.size());
    fit.Resize(frame.picture, {0, spec.height}, pixels.data());
    const TensorView input = {numbers.data(),
                              4,
                              {1, fit.channels(), spec.height, spec.width},
                              {row * spec.height, 1, row, fit.channels()}};
    ToFloats(pixels.data(), input);
    fp32_ms.ms.push_back(fp32.Run(input));
    bf16_ms.ms.push_back(bf16.Run(input));
    error.Add(bf16.RawNumbers(), fp32.RawNumbers());
    agreement.Add(bf16.Answer(fit), fp32.Answer(fit));
  }
  const auto convolutions =
      std::count_if(fp32_graph->operators.begin(), fp32_graph->operators.end(),
                    [](const Operator& op) { return op.As<op::Conv>() != nullptr; });
  nlohmann::ordered_json row = {{"model", model.stem().string()},
                                {"threads", threads},
                                {"frames", frames.size()},
                                {"convolutions", convolutions},
                                {"in_bf16", std::count(plan.begin(), plan.end(), Scheme::kBf16)},
                                {"error", error.value()},
                                {"agreement", agreement.Share()},
                                {"mean_iou", agreement.MeanIou()},
                                {"fp32_ms", nullptr},
                                {"bf16_ms", nullptr}};
  if (by_instructions) {
    row["fp32_ms"] = fp32_ms.Median();
    row["bf16_ms"] = bf16_ms.Median();
  }
  report->AddRow(std::move(row));
}

std::vector<fs::path> OwnModels() {
  std::vector<fs::path> models = {fs::path(CACHEINF_SOURCE_DIR) /
                                  "configs/models/demo_segmentation.onnx"};
  for (const char* name :
       {"espnet_384x640.onnx", "yolov5n_384x640.onnx", "squeezenet1_1_227.onnx"}) {
    const fs::path model = Shared() / "data" / "models" / name;
    if (fs::exists(model)) models.push_back(model);
  }
  return models;
}

}  // namespace

void BenchPrecision(const BenchOptions& options, BenchReport* report) {
  const bool is_forced = options.bf16 == "instructions";
  const bool by_instructions =
      is_forced || (options.bf16 != "emulated" && cpu::HasBf16Instructions());
  cpu::SetBf16Choice(by_instructions ? cpu::Bf16Choice::kInstructions : cpu::Bf16Choice::kEmulated);
  for (const fs::path& model : options.models.empty() ? OwnModels() : options.models) {
    for (const int threads : options.threads.empty() ? std::vector<int>{1} : options.threads) {
      PinToCores(threads);
      MeasureNetwork(model, options, threads, by_instructions, report);
    }
  }
  if (!by_instructions) {
    report->AddNote("BF16 was emulated: its bits are those of the instructions, its time is not.");
  } else if (!cpu::HasBf16Instructions()) {
    report->AddNote("The processor does not say that it has the instructions which it ran.");
  }
}

}  // namespace cacheinf
