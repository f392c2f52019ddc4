#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <opencv2/core.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "client/robot.h"
#include "client/robot_setup.h"
#include "common/backend/timed_backend.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/model/graph/cost.h"
#include "common/pair/remote_picture.h"
#include "common/source/frame_source.h"
#include "tests/bench/bench.h"
#include "tests/bench/changed_bytes.h"
#include "tests/bench/clips.h"
#include "tests/bench/cut_costs.h"
#include "tests/bench/input_streams.h"
#include "tests/bench/worker.h"

// Measured, on one core of this machine: the time of every operator, with its masks, in a frame
// that the robot computes from kept results; the time before the first operator (fitting the
// picture, finding what changed) and after the last; which pixels of every value change in any bit;
// their bytes, and the time to code them, both ways; the same for JPEG and video of the network's
// picture.
//
// Predicted: everything else. A server takes the robot's time for the same work, divided by
// `speedup`, whether it gets values or pictures (in which it is assumed to find the same pixels
// changed). A link is bandwidth and latency, and idle when a frame begins: no headers, no loss. The
// parts of a frame follow each other. Results of a refresh between two frames cross in idle time
// and are not counted. The effect of int8 and fp16 on answers is not examined.

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kFrames = 40;
constexpr int kFramesInFull = 120;
constexpr int kDenseFrames = 5;
constexpr int kSampledEvery = 2;  // of the clip's second half
constexpr double kLatencyMs = 3.0;
constexpr std::array kMbits = {1.0, 5.0, 20.0, 93.0, 300.0};
constexpr std::array kSpeedups = {1.0, 5.0, 20.0};
constexpr const char* kJpeg = "jpeg:85";
constexpr double kRawAnswerBytes = 4096;  // for outputs whose meaning is unknown

double Median(std::vector<double> values) { return Samples{std::move(values)}.Median(); }

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// ---------------------------------------------------------------------------------------------
// Measured.

// What a frame takes on the robot alone, part by part.
struct FrameTimes {
  double before_ms = 0;          // the first operator
  std::vector<double> up_to_ms;  // up_to_ms[i]: the first i operators
  double after_ms = 0;           // the last one
  double operators_ms() const { return up_to_ms.back(); }
  double total_ms() const { return before_ms + operators_ms() + after_ms; }
};

struct FrameBytes {
  double fit_ms = 0;
  std::vector<CodedForms> values;  // by ValueId
  SentPicture jpeg;
  std::optional<SentPicture> video;
  double answer_bytes = 0;
};

struct SampledFrame {
  FrameTimes times;
  FrameBytes bytes;
};

bool IsSampled(size_t frame, size_t frames) {
  return frame >= (frames + 1) / 2 && (frames - 1 - frame) % kSampledEvery == 0;
}

FrameTimes TimesOf(const OperatorTimes& times, std::chrono::nanoseconds end) {
  FrameTimes frame;
  frame.up_to_ms = {0.0};
  for (const double ms : times.lap_ms) frame.up_to_ms.push_back(frame.up_to_ms.back() + ms);
  const double total_ms = Milliseconds(end - times.begin);
  frame.before_ms = times.has_run ? times.before_ms : total_ms;
  frame.after_ms = total_ms - frame.before_ms - frame.operators_ms();
  return frame;
}

// Measured apart from the values, so that caches are not cold.
std::vector<FrameTimes> TimeFrames(const std::shared_ptr<const Graph>& graph,
                                   const RobotConfig& config, const std::vector<Frame>& frames) {
  const SteadyClock clock;
  const auto times = std::make_shared<OperatorTimes>();
  Robot robot(std::make_shared<const CompiledModel>(
                  graph, std::make_unique<TimedBackend>(MakeBackend(config), times, clock)),
              config, clock);
  std::vector<FrameTimes> measured;
  for (const Frame& frame : frames) {
    times->Begin(clock.Now());
    robot.Process(frame);
    measured.push_back(TimesOf(*times, clock.Now()));
    robot.Refresh(frame);
  }
  return measured;
}

// The size of an answer that is sent without much effort; of a map of classes, what changed.
double AnswerBytes(const AnswerContent& content, const AnswerContent& before) {
  constexpr double kNumber = 4;
  if (const auto* classes = std::get_if<Classification>(&content)) {
    return static_cast<double>(classes->best.size()) * 2 * kNumber;
  }
  if (const auto* boxes = std::get_if<Detections>(&content)) {
    return static_cast<double>(boxes->boxes.size()) * 6 * kNumber;
  }
  if (const auto* keypoints = std::get_if<Keypoints>(&content)) {
    return static_cast<double>(keypoints->points.size()) * 3 * kNumber;
  }
  const auto* map = std::get_if<ClassMap>(&content);
  if (map == nullptr) return kRawAnswerBytes;
  const auto* old = std::get_if<ClassMap>(&before);
  int runs = 0;  // each with a place, a length and a class
  for (size_t i = 0; i < map->classes.size(); ++i) {
    const bool is_news = old == nullptr || old->classes[i] != map->classes[i];
    const bool goes_on = i > 0 && map->classes[i] == map->classes[i - 1] &&
                         (old == nullptr || old->classes[i - 1] != map->classes[i - 1]);
    if (is_news && !goes_on) ++runs;
  }
  return runs * kNumber;
}

std::optional<PictureStream> MakeVideo(const PictureFormat& format, BenchReport* report) {
  try {
    return std::optional<PictureStream>(std::in_place, "video", format);
  } catch (const InputError& error) {
    report->AddNote(std::string("no video: ") + error.what());
    return std::nullopt;
  }
}

std::vector<ValueId> ValuesThatMayCross(const Graph& graph) {
  std::set<ValueId> values;
  for (OpId last = kNone; last < static_cast<OpId>(graph.operators.size()); ++last) {
    for (const ValueId value : CrossingValues(graph, last)) values.insert(value);
  }
  return {values.begin(), values.end()};
}

// Empty for frames not sampled.
std::vector<std::optional<FrameBytes>> CountBytes(const std::shared_ptr<const Graph>& graph,
                                                  const RobotConfig& config,
                                                  const std::vector<Frame>& frames,
                                                  BenchReport* report) {
  const SteadyClock clock;
  Robot robot(std::make_shared<const CompiledModel>(graph, MakeBackend(config)), config, clock);
  ChangedBytes changed(robot.state(), ValuesThatMayCross(*graph));
  const PictureFormat format = PictureFormatOf(*graph);
  PictureStream jpeg(kJpeg, format);
  std::optional<PictureStream> video = MakeVideo(format, report);
  std::vector<uint8_t> pixels(format.byte_count());
  AnswerContent before;
  std::vector<std::optional<FrameBytes>> counted;
  for (size_t i = 0; i < frames.size(); ++i) {
    const bool is_sampled = IsSampled(i, frames.size());
    if (is_sampled) changed.Remember();
    Answer answer = robot.Process(frames[i]);
    FrameBytes bytes;
    if (is_sampled) bytes.values = changed.Encode();
    bytes.fit_ms = TimeOnce([&] {
      robot.fit()->Resize(frames[i].picture, {0, format.height}, pixels.data());
    });
    bytes.jpeg = jpeg.Send(robot.model_picture());
    if (video) bytes.video = video->Send(robot.model_picture());
    bytes.answer_bytes = AnswerBytes(answer.content, before);
    before = std::move(answer.content);
    robot.Refresh(frames[i]);
    counted.push_back(is_sampled ? std::optional(std::move(bytes)) : std::nullopt);
  }
  return counted;
}

// ---------------------------------------------------------------------------------------------
// Predicted.

struct Cut {
  OpId last = kNone;  // the robot's last operator
  std::string name;   // of its output, or of the graph's input
  std::vector<ValueId> crossing;
  Json rows_twice;   // null: nothing with rows
  double share = 0;  // of multiply-adds before it
  // Whether both sides have a convolution or a product to compute.
  bool is_inside() const { return share > 0 && share < 1; }
};

std::vector<Cut> FindCuts(const Graph& graph) {
  std::vector<int64_t> up_to = {0};
  for (const Operator& op : graph.operators) {
    up_to.push_back(up_to.back() + CostOf(graph, op).multiply_adds);
  }
  std::vector<Cut> cuts;
  for (OpId last = kNone; last < static_cast<OpId>(graph.operators.size()); ++last) {
    const ValueId id = last == kNone ? graph.inputs[0] : graph.operators[last].outputs[0];
    const Value& value = graph.value(id);
    Cut cut = {last, value.name, CrossingValues(graph, last), nullptr, 0.0};
    if (cut.crossing.empty()) continue;
    if (value.shape.size() == 4 && value.shape[2] > 1) cut.rows_twice = RowsTwice(graph, id);
    cut.share = static_cast<double>(up_to[last + 1]) / static_cast<double>(up_to.back());
    cuts.push_back(std::move(cut));
  }
  return cuts;
}

SharedCost CutFrame(const SampledFrame& frame, const Cut& cut, size_t codec) {
  SharedCost shared;
  const double operators_ms = frame.times.up_to_ms[cut.last + 1];
  shared.robot_ms = frame.times.before_ms + operators_ms;
  shared.server_ms = frame.times.operators_ms() - operators_ms;
  for (const ValueId value : cut.crossing) {
    const CodedValue& coded = frame.bytes.values[value][codec];
    shared.robot_ms += coded.encode_ms;
    shared.server_ms += coded.decode_ms;
    shared.bytes += static_cast<double>(coded.bytes);
  }
  shared.answer_bytes = frame.bytes.answer_bytes;
  shared.left_ms = frame.times.after_ms;
  return shared;
}

SharedCost PictureFrame(const SampledFrame& frame, const SentPicture& sent) {
  SharedCost shared;
  shared.robot_ms = frame.bytes.fit_ms + sent.encode_ms;
  shared.server_ms =
      sent.decode_ms + frame.times.before_ms - frame.bytes.fit_ms + frame.times.operators_ms();
  shared.bytes = sent.bytes;
  shared.answer_bytes = frame.bytes.answer_bytes;
  shared.left_ms = frame.times.after_ms;
  return shared;
}

// Medians over the sampled frames.
template <typename Share>
double PredictedMs(const std::vector<SampledFrame>& frames, const LinkModel& link, double speedup,
                   const Share& share) {
  std::vector<double> ms;
  for (const SampledFrame& frame : frames) ms.push_back(share(frame).Ms(link, speedup));
  return Median(std::move(ms));
}

// The rivals of a cut, for one link and server.
struct Rivals {
  LinkModel link;
  double speedup = 1;
  double robot_ms = 0;
  double jpeg_ms = 0;
  std::optional<double> video_ms;
};

Rivals RivalsOf(const std::vector<SampledFrame>& frames, const LinkModel& link, double speedup) {
  Rivals rivals = {link, speedup, 0, 0, std::nullopt};
  std::vector<double> alone;
  for (const SampledFrame& frame : frames) alone.push_back(frame.times.total_ms());
  rivals.robot_ms = Median(std::move(alone));
  rivals.jpeg_ms = PredictedMs(frames, link, speedup, [](const SampledFrame& frame) {
    return PictureFrame(frame, frame.bytes.jpeg);
  });
  if (!frames.front().bytes.video) return rivals;
  rivals.video_ms = PredictedMs(frames, link, speedup, [](const SampledFrame& frame) {
    return PictureFrame(frame, *frame.bytes.video);
  });
  return rivals;
}

struct BestCut {
  const Cut* cut = nullptr;
  size_t codec = 0;
  double bytes = 0;
  double ms = INFINITY;
};

struct BestCuts {
  BestCut input;     // the changed pixels of the picture cross
  BestCut inside;    // of a value inside the network
  BestCut lossless;  // the same, in all their bits

  void Add(const BestCut& candidate) {
    const bool is_lossless = kValueCodecs[candidate.codec].ends_with("fp32");
    for (BestCut* const best : {candidate.cut->share == 0 ? &input : nullptr,
                                candidate.cut->is_inside() ? &inside : nullptr,
                                candidate.cut->is_inside() && is_lossless ? &lossless : nullptr}) {
      if (best != nullptr && candidate.ms < best->ms) *best = candidate;
    }
  }
};

Json MsOrNull(double ms) { return std::isfinite(ms) ? Json(ms) : Json(); }

std::string WinnerOf(const Rivals& rivals, const BestCuts& best) {
  const std::array<std::pair<const char*, double>, 5> all = {
      std::pair{"robot", rivals.robot_ms},
      {"jpeg", rivals.jpeg_ms},
      {"video", rivals.video_ms.value_or(INFINITY)},
      {"input", best.input.ms},
      {"inside", best.inside.ms}};
  return std::min_element(all.begin(), all.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

void AddTableRow(const Json& head, const Rivals& rivals, const BestCuts& best,
                 BenchReport* report) {
  Json row = head;
  const BestCut& inside = best.inside;
  const bool exists = inside.cut != nullptr;
  row.update({{"mbit", rivals.link.mbit},
              {"speedup", rivals.speedup},
              {"robot_ms", rivals.robot_ms},
              {"jpeg_ms", rivals.jpeg_ms},
              {"video_ms", rivals.video_ms ? Json(*rivals.video_ms) : Json()},
              {"input_ms", MsOrNull(best.input.ms)},
              {"inside_ms", MsOrNull(inside.ms)},
              {"lossless_ms", MsOrNull(best.lossless.ms)},
              {"winner", WinnerOf(rivals, best)},
              {"inside", exists ? inside.cut->name : ""},
              {"at", exists ? Json(inside.cut->share) : Json()},
              {"codec", exists ? std::string(kValueCodecs[inside.codec]) : ""},
              {"bytes", exists ? Json(inside.bytes) : Json()},
              {"rows_twice", exists ? inside.cut->rows_twice : Json()}});
  report->AddTableRow(std::move(row));
}

void ReportCuts(const std::vector<Cut>& cuts, const std::vector<SampledFrame>& frames,
                const Json& head, const Rivals& rivals, BenchReport* report) {
  BestCuts best;
  for (const Cut& cut : cuts) {
    for (size_t codec = 0; codec < kValueCodecs.size(); ++codec) {
      std::vector<double> bytes;
      std::vector<double> trips;
      for (const SampledFrame& frame : frames) {
        bytes.push_back(CutFrame(frame, cut, codec).bytes);
        trips.push_back(bytes.back() == 0 ? 0.0 : 1.0);
      }
      const double ms =
          PredictedMs(frames, rivals.link, rivals.speedup,
                      [&](const SampledFrame& frame) { return CutFrame(frame, cut, codec); });
      best.Add({&cut, codec, Mean(bytes), ms});
      Json row = head;
      row.update({{"cut", cut.name},
                  {"codec", kValueCodecs[codec]},
                  {"mbit", rivals.link.mbit},
                  {"speedup", rivals.speedup},
                  {"bytes", Mean(bytes)},
                  {"rows_twice", cut.rows_twice},
                  {"round_trips", Mean(trips)},
                  {"predicted_ms", ms},
                  {"robot_ms", rivals.robot_ms},
                  {"jpeg_ms", rivals.jpeg_ms},
                  {"video_ms", rivals.video_ms ? Json(*rivals.video_ms) : Json()}});
      report->AddRow(std::move(row));
    }
  }
  AddTableRow(head, rivals, best, report);
}

std::string Ms(double ms) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.1f", ms);
  return text.data();
}

void NotePictures(const std::vector<SampledFrame>& frames, double dense_ms, const Json& head,
                  BenchReport* report) {
  const auto mean = [&](const auto& number) {
    std::vector<double> numbers;
    for (const SampledFrame& frame : frames) numbers.push_back(number(frame));
    return Mean(numbers);
  };
  const auto text = [&](const char* name, const auto& sent) {
    return std::string(name) + " " +
           std::to_string(std::lround(mean([&](const auto& frame) { return sent(frame).bytes; }))) +
           " bytes, " + Ms(mean([&](const auto& frame) { return sent(frame).encode_ms; })) + " + " +
           Ms(mean([&](const auto& frame) { return sent(frame).decode_ms; })) + " ms";
  };
  std::string note = head["model"].get<std::string>() + ", " + head["clip"].get<std::string>() +
                     ": dense " + Ms(dense_ms) + " ms, kept results " +
                     Ms(mean([](const auto& frame) { return frame.times.total_ms(); })) + " ms; " +
                     text("JPEG", [](const auto& frame) { return frame.bytes.jpeg; });
  if (frames.front().bytes.video) {
    note += "; " + text("video", [](const auto& frame) { return *frame.bytes.video; });
  }
  report->AddNote(note);
}

double DenseMs(const std::shared_ptr<const Graph>& graph, RobotConfig config,
               const std::vector<Frame>& frames) {
  config.mode = RobotConfig::Mode::kDense;
  const size_t count = std::min<size_t>(kDenseFrames, frames.size());
  std::vector<double> ms;
  for (const FrameTimes& times :
       TimeFrames(graph, config, {frames.begin(), frames.begin() + count})) {
    ms.push_back(times.total_ms());
  }
  return Median(std::move(ms));
}

void MeasureClip(const std::shared_ptr<const Graph>& graph, const RobotConfig& config,
                 const std::vector<Frame>& frames, const Json& head, BenchReport* report) {
  std::vector<FrameTimes> times = TimeFrames(graph, config, frames);
  std::vector<std::optional<FrameBytes>> bytes = CountBytes(graph, config, frames, report);
  std::vector<SampledFrame> sampled;
  for (size_t i = 0; i < frames.size(); ++i) {
    if (bytes[i]) sampled.push_back({std::move(times[i]), std::move(*bytes[i])});
  }
  const std::vector<Cut> cuts = FindCuts(*graph);
  for (const double mbit : kMbits) {
    for (const double speedup : kSpeedups) {
      ReportCuts(cuts, sampled, head, RivalsOf(sampled, {mbit, kLatencyMs}, speedup), report);
    }
  }
  NotePictures(sampled, DenseMs(graph, config, frames), head, report);
}

// ---------------------------------------------------------------------------------------------
// What is measured.

struct CutModel {
  fs::path file;
  Shape shape;  // empty: the file's own, or that of the options
};

// The networks that the configurations know, and those of the papers.
std::vector<CutModel> ModelsOf(const BenchOptions& options, BenchReport* report) {
  std::vector<CutModel> models;
  for (const fs::path& file : ClipModels(options)) models.push_back({file, {}});
  if (!options.models.empty()) return models;
  const std::array<CutModel, 3> exported = {CutModel{"resnet101.onnx", {1, 3, 224, 224}},
                                            CutModel{"vgg19_bn.onnx", {1, 3, 224, 224}},
                                            CutModel{"kapao.onnx", {1, 3, 512, 640}}};
  for (const CutModel& model : exported) {
    const fs::path file = ExportedModels() / model.file;
    if (fs::exists(file)) {
      models.push_back({file, model.shape});
    } else {
      report->AddNote(model.file.string() + " is not here: scripts/export_models makes it");
    }
  }
  return models;
}

RobotConfig ConfigOf(const CutModel& model, const BenchOptions& options) {
  RobotConfig config = ConfigFor(model.file, options);
  if (config.shapes.empty() && !model.shape.empty()) config.shapes = {ToString(model.shape)};
  config.mode = RobotConfig::Mode::kCache;
  config.threads = 1;
  config.guard.is_on = false;
  // Stored values stay where they are, so that changes can be counted.
  config.cache.geometry = CacheConfig::Geometry::kNone;
  config.cache.budget_mb = 0;
  return config;
}

// Takes a single output of plain numbers as scores of classes.
void ReadAsClasses(const Graph& graph, RobotConfig* config) {
  DecoderConfig& decoder = config->model_config.decoder;
  const bool is_scores =
      graph.outputs.size() == 1 && graph.value(graph.outputs[0]).shape.size() == 2;
  if (decoder.kind == DecoderConfig::Kind::kAuto && is_scores) {
    decoder.kind = DecoderConfig::Kind::kClassification;
  }
}

// A still camera and a moving one, if they are here.
std::vector<std::string> ClipsOf(const BenchOptions& options) {
  std::vector<std::string> clips = Clips(options);
  if (!options.videos.empty() || options.full) return clips;
  const auto is_other = [](const std::string& clip) {
    const std::string name = ClipName(clip);
    return name != "juggle" && name != "road" && name != "still" && name != "travel";
  };
  clips.erase(std::remove_if(clips.begin(), clips.end(), is_other), clips.end());
  return clips;
}

void MeasureModel(const CutModel& model, const BenchOptions& options, BenchReport* report) {
  RobotConfig config = ConfigOf(model, options);
  const auto graph = std::make_shared<const Graph>(LoadGraph(config, /*has_tensors=*/false));
  ReadAsClasses(*graph, &config);
  int count = options.full ? kFramesInFull : kFrames;
  if (options.frames > 0) count = options.frames;
  for (const std::string& clip : ClipsOf(options)) {
    const std::vector<Frame> frames = ReadFrames(clip, count);
    if (frames.size() < 2) {
      report->AddNote(clip + " has fewer than two frames");
      continue;
    }
    MeasureClip(graph, config, frames,
                {{"model", model.file.stem().string()}, {"clip", ClipName(clip)}}, report);
  }
}

}  // namespace

void BenchCuts(const BenchOptions& options, BenchReport* report) {
  PinToCores(1);
  cv::setNumThreads(1);
  for (const CutModel& model : ModelsOf(options, report)) {
    try {
      MeasureModel(model, options, report);
    } catch (const InputError& error) {
      if (!options.models.empty()) throw;
      report->AddNote(error.what());  // the others took minutes to measure
    }
  }
  report->AddNote(
      "Times of operators, codecs, JPEG and video are measured, on one thread; whatever has a link "
      "or a server in it is predicted from them (tests/bench/cuts.cc).");
}

}  // namespace cacheinf
