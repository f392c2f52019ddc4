#include <fmt/core.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <opencv2/core.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/robot_setup.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/program.h"
#include "tests/bench/bench.h"
#include "tests/bench/clips.h"
#include "tests/bench/contender.h"
#include "tests/bench/mode_checks.h"
#include "tests/bench/name_server.h"
#include "tests/bench/planning.h"
#include "tests/bench/replay.h"
#include "tests/bench/worker.h"
#include "tests/testing/places.h"
#include "tests/testing/process.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using ServerMode = ServerLinkConfig::ServerMode;
using std::chrono::milliseconds;

constexpr double kDeadlineMs = 100;
constexpr int kFramesOfALiveClip = 30;
constexpr int kFrames = 16;  // of the others, and of all when it must be quick
constexpr std::array kMbits = {93.0, 20.0, 1.0, 5.0, 300.0};  // the first three live as well
constexpr size_t kLiveMbits = 3;
constexpr std::array kSpeedups = {5.0, 1.0, 20.0};  // the first two live as well
constexpr size_t kLiveSpeedups = 2;
// What is not measured by then is left out.
struct Minutes {
  double live = 0;
  double all = 0;
};
constexpr Minutes kMost = {30, 39};
constexpr Minutes kMostWhenQuick = {5.2, 5.8};
constexpr double kSecondsToProfile = 30;  // a model, on each side
constexpr double kSecondsWhenQuick = 15;
constexpr int kMostSplits = 12;  // of a model and a clip, beside the one by hand
constexpr std::chrono::seconds kMostOfACell(90);

struct ModeModel {
  std::string name;
  fs::path file;
  std::string shape = {};  // empty: the file's own
  // Where `cuts` (docs/measurements/cuts.md) finds the best cut inside the network for 20 Mbit/s
  // and a server five times as fast; for other links and servers it is this one or one that is
  // little better.
  std::string cut;
  int frames = 0;  // of every clip; 0: the bench's own
  bool is_live = false;
  bool has_answers = true;
};

const std::array kModels = {
    ModeModel{.name = "yolov5n",
              .file = "yolov5n_384x640",
              .cut = "/model.3/Mul_output_0",
              .is_live = true},
    ModeModel{.name = "demo",
              .file = "demo_segmentation",
              .cut = "/level_2/level_2.2/Relu_output_0",
              .is_live = true},
    ModeModel{.name = "squeezenet", .file = "squeezenet1_1_227", .cut = "/n/Relu_1_output_0"},
    ModeModel{.name = "espnet",
              .file = "espnet_384x640",
              .cut = "/level2_0/c1/conv/Conv_output_0",
              .frames = 6},
    // Its weights are random: only its times say anything.
    ModeModel{.name = "kapao",
              .file = "kapao",
              .shape = "1x3x512x640",
              .cut = "/level_8/level_8.0/level_8.0.2/Mul_output_0",
              .frames = 3,
              .has_answers = false},
};

struct Mode {
  std::string name;
  RobotConfig config = {};        // of robots of ours
  std::optional<Plan> plan = {};  // that says the same
  bool needs_server = false;
  bool may_go_without = false;  // the server
  bool is_small = false;
  bool is_plain_video = false;
};

// The cores of a robot and of its server.
struct Cores {
  int robot = 0;
  int server = 0;
};

Cores TwoCores() {
  cpu_set_t usable;
  sched_getaffinity(0, sizeof(usable), &usable);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &usable)) cores.push_back(core);
  }
  return {cores.front(), cores[cores.size() > 1 ? 1 : 0]};
}

std::string LinkText(double mbit) { return fmt::format("{:g}mbit,3ms", mbit); }

std::string NewName() {
  static int count = 0;
  return fmt::format("mpi:modes-{}", ++count);
}

// A cacheinf-server that robots find through the name server.
class BenchServer {
 public:
  BenchServer(const fs::path& name_server, const fs::path& models, int core,
              const std::string& link)
      : name_(NewName()), process_(Words(name_server, models, core, link)) {
    if (!process_.HasPrinted("robots may come", milliseconds(10000))) {
      throw std::runtime_error("cacheinf-server does not start: " + process_.output());
    }
  }
  ~BenchServer() {
    process_.Signal(SIGTERM);
    process_.Wait(milliseconds(3000));
  }
  BenchServer(const BenchServer&) = delete;
  BenchServer& operator=(const BenchServer&) = delete;

  const std::string& name() const { return name_; }
  void Kill() const { process_.Signal(SIGKILL); }
  bool is_running() { return !process_.Wait(milliseconds(0)); }

 private:
  std::vector<std::string> Words(const fs::path& name_server, const fs::path& models, int core,
                                 const std::string& link) const {
    // It ends with the bench, however that ends.
    std::vector<std::string> words = {"setpriv",
                                      "--pdeathsig",
                                      "TERM",
                                      "taskset",
                                      "-c",
                                      std::to_string(core),
                                      ProgramPath("cacheinf-server"),
                                      "--listen",
                                      name_,
                                      "--name-server",
                                      name_server,
                                      "--threads",
                                      "1",
                                      "--models",
                                      models};
    if (!link.empty()) words.insert(words.end(), {"--emulate", link});
    return words;
  }

  const std::string name_;
  Process process_;
};

// Ends a server that is waited for too long; its robot then answers alone, and the cell fails.
class Limit {
 public:
  Limit(const BenchServer* server, std::chrono::seconds at_most)
      : thread_([this, server, at_most] {
          std::unique_lock lock(mutex_);
          if (!over_.wait_for(lock, at_most, [this] { return is_over_; }) && server) server->Kill();
        }) {}
  ~Limit() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    over_.notify_one();
    thread_.join();
  }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;
};

// A model with a clip, and what was measured of them.
struct Subject {
  const ModeModel* model = nullptr;
  std::string clip;
  RobotConfig config;
  std::shared_ptr<const CompiledModel> compiled;
  std::shared_ptr<const CompiledModel> small;  // null: there is none
  RobotConfig small_config;
  std::shared_ptr<const PlainVideoServer> plain_video;  // null: there is none
  std::vector<Frame> frames;
  std::vector<SharedContent> dense;
  std::map<std::string, std::vector<FrameCost>> costs;         // by mode, or plan
  std::map<double, std::shared_ptr<const Planning>> planning;  // by speedup
  double changed = 1;  // of the picture, from frame to frame
  int splits = 0;      // measured
  int every = 2;       // of every-k, for the work of mode cache
};

class ModesBench {
 public:
  ModesBench(const BenchOptions& options, BenchReport* report)
      : options_(options), report_(report), stop_(StopOnSignals()), begin_(clock_.Now()) {}

  void Run() {
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET(cores_.robot, &core);
    sched_setaffinity(0, sizeof(core), &core);
    cv::setNumThreads(1);
    if (cores_.robot == cores_.server) {
      report_->AddNote("There is one core only: robot and server take turns on it.");
    }
    std::filesystem::create_directories(options_.cache);
    MeasureModels(/*live=*/true);
    // What takes longest comes last: raw pictures over the slowest link.
    for (const bool is_raw_and_slow : {false, true}) RunLiveCells(is_raw_and_slow);
    for (Subject& subject : live_) ReplayCells(&subject);
    live_.clear();
    MeasureModels(/*live=*/false);
    if (live_left_out_ + clips_left_out_ > 0) {
      report_->AddNote(fmt::format("The time was over: {} live cells and {} clips were left out.",
                                   live_left_out_, clips_left_out_));
    }
    checks_.AddTo(report_);
  }

 private:
  double minutes() const { return Milliseconds(clock_.Now() - begin_) / 60000; }
  bool is_over() const { return stop_ || minutes() > most_.all; }
  bool is_live_over() const { return stop_ || minutes() > most_.live; }

  // What fails is said, and the bench goes on.
  void Attempt(const std::string& what, const std::function<void()>& action) {
    if (stop_) return;
    try {
      std::cerr << fmt::format("[{:4.1f} min] {}\n", minutes(), what);
      action();
    } catch (const std::exception& error) {
      report_->AddNote(fmt::format("{} failed: {}", what, error.what()));
      std::cerr << what << " failed: " << error.what() << "\n";
    }
  }

  // -------------------------------------------------------------------------------------------
  // What is measured.

  std::optional<fs::path> FileOf(const ModeModel& model) const {
    for (const fs::path& file : ClipModels(options_)) {
      if (file.stem() == model.file) return file;
    }
    const fs::path exported = ExportedModels() / (model.file.string() + ".onnx");
    if (options_.models.empty() && fs::exists(exported)) return exported;
    return std::nullopt;
  }

  RobotConfig ConfigOf(const ModeModel& model) const {
    const auto file = FileOf(model);
    if (!file) throw InputError(model.file.string() + ".onnx is not here");
    RobotConfig config = ConfigFor(*file, options_);
    if (!model.shape.empty()) config.shapes = {model.shape};
    config.threads = 1;
    config.guard.is_on = false;
    config.server.wait_s = 10;
    config.server.name_server = name_server_.file();
    if (!model.has_answers) {
      // As Kapao's own: 5 + 52 numbers a box. No box of random weights is that good.
      DecoderConfig& decoder = config.model_config.decoder;
      decoder.kind = DecoderConfig::Kind::kBoxes;
      decoder.strides = {8, 16, 32, 64};
      decoder.anchors = {19,  27,  44,  40,  38,  94,  96,  68,  86,  152, 180, 137,
                         140, 301, 303, 264, 238, 542, 436, 615, 739, 380, 925, 792};
      decoder.score_threshold = 0.99;
    }
    return config;
  }

  // The network at half the resolution, with the weights that it has: no smaller network of the
  // same task is here.
  void AddSmall(Subject* subject) const {
    RobotConfig& config = subject->small_config;
    config = subject->config;
    const std::string& name = subject->model->name;
    if (name == "demo") {
      config.shapes = {"1x3x128x160"};
    } else if (name == "kapao") {
      config.shapes = {"1x3x256x320"};
    } else {
      config.model = options_.cache / "half" / (subject->model->file.string() + ".onnx");
    }
    subject->small = Compile(LoadGraph(config, /*has_tensors=*/false), config);
  }

  void AddPlainVideo(Subject* subject) const {
    const std::string name = subject->model->file.string() + ".pt";
    for (const fs::path& file : {options_.cache / "torchscript" / name, ExportedModels() / name}) {
      if (!fs::exists(file) || !fs::exists(options_.sige_python)) continue;
      subject->plain_video = std::make_shared<const PlainVideoServer>(
          options_.sige_python, file, subject->compiled->graph().picture,
          subject->config.model_config, cores_.server);
      return;
    }
    throw InputError(name + " is not here: it takes PyTorch (scripts/export_models) to make it");
  }

  std::vector<std::string> ClipsOf(const ModeModel& model) const {
    const bool has_two = options_.quick || !model.has_answers;
    std::vector<std::string> clips;
    for (const std::string& clip : Clips(options_)) {
      const std::string name = ClipName(clip);
      if (name == "bag" || (has_two && name != "juggle" && name != "road")) continue;
      clips.push_back(clip);
    }
    return clips;
  }

  // Those of live cells are kept for them, the others replayed.
  void MeasureModels(bool live) {
    for (const ModeModel& model : kModels) {
      const bool is_left_out =
          options_.models.empty() ? options_.quick && !model.is_live : !FileOf(model);
      if (is_left_out || (live && !model.is_live)) continue;
      Attempt(model.name, [&] {
        for (const std::string& clip : ClipsOf(model)) {
          const std::string name = ClipName(clip);
          const bool is_live = model.is_live && (name == "juggle" || name == "road");
          if (is_live == live) MeasureClip(model, clip, live);
        }
      });
    }
  }

  void MeasureClip(const ModeModel& model, const std::string& clip, bool live) {
    if (is_over()) {
      ++clips_left_out_;
      return;
    }
    Subject subject = Prepared(model);
    subject.clip = ClipName(clip);
    int frames = live && !options_.quick ? kFramesOfALiveClip : kFrames;
    if (model.frames > 0) frames = model.frames;
    if (options_.frames > 0) frames = options_.frames;
    subject.frames = ReadFrames(clip, frames);
    if (subject.frames.size() < 2) throw InputError(clip + " has fewer than two frames");
    MeasureSubject(&subject);
    if (live) {
      live_.push_back(std::move(subject));
    } else {
      ReplayCells(&subject);
    }
  }

  // Without a clip.
  const Subject& Prepared(const ModeModel& model) {
    const auto [place, is_new] = prepared_.try_emplace(model.name);
    Subject& subject = place->second;
    if (!is_new && subject.model != nullptr) return subject;
    subject.config = ConfigOf(model);
    subject.compiled = Compile(LoadGraph(subject.config, /*has_tensors=*/false), subject.config);
    subject.model = &model;
    Attempt(model.name + " small-local", [&] { AddSmall(&subject); });
    Attempt(model.name + " plain-video", [&] { AddPlainVideo(&subject); });
    Attempt(model.name + " profiles", [&] { AddPlanning(&subject); });
    return subject;
  }

  // What planners go by; solved for each speedup.
  void AddPlanning(Subject* subject) {
    const double begin = minutes();
    const ModelProfiles profiles =
        ObtainProfiles(subject->compiled, subject->config,
                       {.clips = ClipsOf(*subject->model),
                        .seconds = options_.quick ? kSecondsWhenQuick : kSecondsToProfile,
                        .folder = options_.cache / "profiles",
                        .robot_core = cores_.robot,
                        .server_core = cores_.server});
    const double profiled = minutes();
    for (const double speedup : kSpeedups) {
      const fs::path file =
          schedules_.path() / fmt::format("{}-{:g}.schedule.json", subject->model->name, speedup);
      subject->planning[speedup] = std::make_shared<const Planning>(
          profiles, speedup, std::vector{cores_.robot, cores_.server}, file);
    }
    const auto errors = [](const Profile& profile) {
      return fmt::format("{:.3f} median, {:.3f} at the 95th percentile", profile.median_error,
                         profile.p95_error);
    };
    report_->AddNote(fmt::format(
        "{}: profiles took {:.1f} s{}, {} schedules {:.1f} s; times are predicted within {} "
        "(robot; {:.3f} and {:.3f} by what changed of the picture) and {} (server)",
        subject->model->name, 60 * (profiled - begin),
        profiles.measured_s > 0 ? "" : " (they were known)", subject->planning.size(),
        60 * (minutes() - profiled), errors(profiles.robot), profiles.robot.active_median_error,
        profiles.robot.active_p95_error, errors(profiles.server)));
  }

  void MeasureSubject(Subject* subject) {
    std::unique_ptr<BenchServer> server;
    for (const Mode& mode : ModesOf(*subject)) {
      if (mode.config.mode == RobotConfig::Mode::kEveryK) continue;    // as local, more seldom
      if (mode.config.mode == RobotConfig::Mode::kCacheinf) continue;  // one of the others
      const std::string what =
          fmt::format("{} {} {}", subject->model->name, subject->clip, mode.name);
      Attempt(what, [&] {
        std::vector<FrameCost> costs = Measured(*subject, mode, &server);
        if (mode.name == "local") {
          for (const FrameCost& cost : costs) subject->dense.push_back(cost.content);
        }
        if (mode.name == "cache") {
          double work = 0;
          for (const FrameCost& cost : costs) work += cost.robot_work;
          subject->changed = MedianChange(costs);
          const double every = static_cast<double>(costs.size()) / std::max(work, 0.1);
          subject->every = std::max(2, static_cast<int>(std::lround(every)));
        }
        subject->costs[mode.name] = std::move(costs);
      });
    }
    if (subject->dense.empty()) throw std::runtime_error("there are no dense answers");
  }

  std::vector<FrameCost> Measured(const Subject& subject, const Mode& mode,
                                  std::unique_ptr<BenchServer>* server) const {
    if (mode.config.UsesServer()) Start("", server);
    const Limit limit(server->get(), kMostOfACell);
    const auto contender = MakeContender(subject, mode, server->get(), 1, std::nullopt);
    return MeasureFrames(*contender, subject.frames, mode.needs_server);
  }

  // Frames computed whole count as all changed.
  static double MedianChange(const std::vector<FrameCost>& costs) {
    Samples changed;
    for (const FrameCost& cost : costs) changed.ms.push_back(cost.changed.value_or(1.0));
    return changed.Median();
  }

  // Unless it runs already.
  void Start(const std::string& link, std::unique_ptr<BenchServer>* server) const {
    if (*server && (*server)->is_running()) return;
    *server =
        std::make_unique<BenchServer>(name_server_.file(), models_.path(), cores_.server, link);
  }

  std::vector<Mode> ModesOf(const Subject& subject) const {
    std::vector<Mode> modes;
    const auto add = [&](const std::string& name, RobotConfig::Mode mode) -> Mode& {
      modes.push_back({.name = name, .config = subject.config});
      modes.back().config.mode = mode;
      modes.back().needs_server = modes.back().config.UsesServer();
      return modes.back();
    };
    add("local", RobotConfig::Mode::kDense).plan = Plan{.keeps = false};
    add("cache", RobotConfig::Mode::kCache).plan = Plan();
    add("every-k", RobotConfig::Mode::kEveryK).config.every = subject.every;
    for (const char* const codec : {"raw", "jpeg:85", "video"}) {
      for (const ServerMode server_mode : {ServerMode::kDense, ServerMode::kCache}) {
        modes.push_back(RemoteMode(subject, codec, server_mode));
      }
    }
    ServerLinkConfig& split = add("split", RobotConfig::Mode::kSplit).config.server;
    split.cuts = {subject.model->cut};
    split.slice_codec = SliceCodec::kFp16Zstd;
    if (!subject.planning.empty()) {
      add("cacheinf", RobotConfig::Mode::kCacheinf).may_go_without = true;
    }
    if (subject.plain_video) {
      Mode& plain = add("plain-video", RobotConfig::Mode::kDense);
      plain.needs_server = plain.is_plain_video = true;
    }
    if (subject.small) {
      modes.push_back({.name = "small-local", .config = subject.small_config, .is_small = true});
    }
    return modes;
  }

  static Mode RemoteMode(const Subject& subject, const std::string& codec, ServerMode server_mode) {
    const std::string kind = codec.substr(0, codec.find(':'));
    Mode mode = {.name = fmt::format("remote-{}/{}", kind, NameOf(server_mode)),
                 .config = subject.config,
                 .needs_server = true};
    mode.config.mode = RobotConfig::Mode::kRemote;
    ServerLinkConfig& server = mode.config.server;
    server.codec = codec;
    server.server_mode = server_mode;
    server.slice_codec = SliceCodec::kZstd;
    mode.plan = Plan{
        .kind = Plan::Kind::kRemote, .keeps = server_mode == ServerMode::kCache, .codec = codec};
    return mode;
  }

  // The mode by which a robot follows the plan; nothing if there is none.
  static std::optional<Mode> ModeOf(const Subject& subject, const Plan& plan) {
    if (plan.kind == Plan::Kind::kRemote) {
      return RemoteMode(subject, plan.codec, plan.keeps ? ServerMode::kCache : ServerMode::kDense);
    }
    Mode mode = {.name = plan.keeps ? "cache" : "local", .config = subject.config, .plan = plan};
    mode.config.mode = plan.keeps ? RobotConfig::Mode::kCache : RobotConfig::Mode::kDense;
    if (plan.kind == Plan::Kind::kLocal || plan.cuts.empty()) return mode;
    if (!plan.keeps) return std::nullopt;
    mode.name = ToText(plan);
    mode.needs_server = true;
    mode.config.mode = RobotConfig::Mode::kSplit;
    const Graph& graph = subject.compiled->graph();
    for (const Plan::Cut& cut : plan.cuts) {
      const ValueId value =
          cut.after < 0 ? graph.inputs.front() : graph.operators[cut.after].outputs.front();
      const std::string& name = graph.value(value).name;
      mode.config.server.cuts.push_back(
          fmt::format("{}:{:.3f}", name.empty() ? graph.operators[cut.after].name : name,
                      cut.robot_thousandths / 1000.0));
    }
    return mode;
  }

  // `mbit`: none where nothing is emulated, or there is no link.
  std::unique_ptr<Contender> MakeContender(const Subject& subject, const Mode& mode,
                                           const BenchServer* server, double slowdown,
                                           std::optional<double> mbit) const {
    RobotConfig config = mode.config;
    config.server.emulate = fmt::format("{:g}x", slowdown);
    if (mode.is_plain_video) {
      PlainVideoOptions options;
      options.slowdown = slowdown;
      options.robot_core = cores_.robot;
      if (mbit) options.link = ParseLinkShape(LinkText(*mbit));
      const Picture& picture = subject.frames.front().picture;
      return MakePlainVideoContender(
          *subject.plain_video, options,
          PictureFit(subject.compiled->graph().picture, picture.width, picture.height));
    }
    if (mode.needs_server) config.server.address = server->name();
    if (config.mode == RobotConfig::Mode::kCacheinf) {
      config.server.schedule = subject.planning.at(slowdown)->file();
    }
    if (mbit) config.server.emulate += "," + LinkText(*mbit);
    return MakeRobotContender(mode.is_small ? subject.small : subject.compiled, config);
  }

  // -------------------------------------------------------------------------------------------
  // Cells.

  void ReplayCells(Subject* subject) {
    ReplayModes(*subject);
    std::unique_ptr<BenchServer> server;
    for (const auto& [speedup, planning] : subject->planning) {
      for (const double mbit : kMbits) {
        for (const char* const planner : {"ds", "ds-c", "hp"}) {
          ReplayPlanner(subject, planner, mbit, speedup, &server);
        }
        ReplayChosen(subject, mbit, speedup, &server);
      }
    }
  }

  // What the plan's frames cost, measured once; null where they are not measured.
  const std::vector<FrameCost>* CostsOf(Subject* subject, const Plan& plan,
                                        std::unique_ptr<BenchServer>* server) {
    const std::optional<Mode> mode = ModeOf(*subject, plan);
    if (!mode) return nullptr;
    const auto inserted = subject->costs.try_emplace(mode->name);
    std::vector<FrameCost>& costs = inserted.first->second;
    const bool is_new = inserted.second;
    const bool is_split = mode->config.mode == RobotConfig::Mode::kSplit;
    if (is_new && !is_over() && (!is_split || ++subject->splits <= kMostSplits)) {
      Attempt(fmt::format("{} {} {}", subject->model->name, subject->clip, mode->name),
              [&] { costs = Measured(*subject, *mode, server); });
    }
    return costs.empty() ? nullptr : &costs;
  }

  static FrameCost PredictedCost(const Prediction& prediction) {
    FrameCost cost;
    cost.robot_ms = std::min(prediction.robot_ms, prediction.latency_ms);
    cost.server_ms = std::min(prediction.server_ms, prediction.latency_ms - cost.robot_ms);
    cost.link_ms = prediction.latency_ms - cost.robot_ms - cost.server_ms;
    cost.bytes_to_server = prediction.up_bytes;
    cost.bytes_to_robot = prediction.down_bytes;
    return cost;
  }

  void ReplayPlanner(Subject* subject, const std::string& planner, double mbit, double speedup,
                     std::unique_ptr<BenchServer>* server) {
    const Situation situation = Planning::SituationOf(mbit, subject->changed);
    const Plan plan = subject->planning.at(speedup)->Solve(planner, situation);
    Mode mode = {.name = planner, .config = subject->config, .plan = plan};
    const std::vector<FrameCost>* const costs = CostsOf(subject, plan, server);
    if (costs != nullptr) {
      ReplayOptions options{.link = ParseLinkShape(LinkText(mbit)), .slowdown = speedup};
      AddCell(*subject, mode, mbit, speedup, "replayed", Replay(*costs, options));
      return;
    }
    const FrameCost cost = PredictedCost(subject->planning.at(speedup)->Predict(plan, situation));
    const auto cost_of = [&](size_t frame) {
      FrameCost of_frame = cost;
      of_frame.content = subject->dense[frame];
      return of_frame;
    };
    AddCell(*subject, mode, mbit, speedup, "predicted",
            Replay(subject->dense.size(), cost_of, ReplayOptions()));
  }

  // Frame by frame the plan that a robot's chooser takes, by predictions and by what the frames
  // before it took.
  void ReplayChosen(Subject* subject, double mbit, double speedup,
                    std::unique_ptr<BenchServer>* server) {
    constexpr size_t kFramesToSettle = 20;
    const auto chooser = subject->planning.at(speedup)->MakeChooser();
    const PlanChooser::Link link = {
        .is_up = true, .mbit = mbit, .round_trip_ms = Planning::SituationOf(mbit, 1).round_trip_ms};
    Plan plan;
    std::optional<double> changed;
    bool is_predicted = false;
    const auto cost_of = [&](size_t frame) {
      plan = chooser->Choose(link);
      const std::vector<FrameCost>* const costs = CostsOf(subject, plan, server);
      FrameCost cost;
      if (costs != nullptr) {
        cost = (*costs)[frame];
        changed = plan.keeps ? subject->costs.at("cache")[frame].changed : std::nullopt;
      } else {
        is_predicted = true;
        cost = PredictedCost(chooser->prediction());
        cost.robot_ms /= speedup;
        cost.content = subject->dense[frame];
      }
      cost.plan = ToText(plan);
      return cost;
    };
    ReplayOptions options{.link = ParseLinkShape(LinkText(mbit)), .slowdown = speedup};
    options.on_answer = [&](const FrameCost& cost) {
      const double waiting_ms = cost.server_ms + cost.link_ms;
      chooser->Note({.executed = plan.kind,
                     .latency_ms = cost.robot_ms + waiting_ms,
                     .server_ms = cost.server_ms,
                     .waiting_ms = waiting_ms,
                     .changed = changed});
    };
    options.answers = kFramesToSettle;
    Replay(subject->frames.size(), cost_of, options);
    is_predicted = false;
    options.answers = kAnswersOfACell;
    const Mode mode = {.name = "cacheinf", .config = subject->config};
    const std::vector<AnsweredFrame> answers = Replay(subject->frames.size(), cost_of, options);
    AddCell(*subject, mode, mbit, speedup, is_predicted ? "predicted" : "replayed", answers,
            chooser->Reason());
  }

  void ReplayModes(const Subject& subject) {
    for (const Mode& mode : ModesOf(subject)) {
      const bool is_every = mode.config.mode == RobotConfig::Mode::kEveryK;
      const auto costs = subject.costs.find(is_every ? "local" : mode.name);
      if (costs == subject.costs.end()) continue;
      for (const double speedup : kSpeedups) {
        ReplayOptions options{.slowdown = speedup, .every = is_every ? mode.config.every : 1};
        for (const double mbit : kMbits) {
          if (mode.needs_server) options.link = ParseLinkShape(LinkText(mbit));
          const auto link = mode.needs_server ? std::optional(mbit) : std::nullopt;
          AddCell(subject, mode, link, speedup, "replayed", Replay(costs->second, options));
          if (!mode.needs_server) break;
        }
      }
    }
  }

  void RunLiveCells(bool is_raw_and_slow) {
    for (size_t i = 0; i < kLiveMbits; ++i) {
      if (options_.quick && kMbits[i] != 20) continue;
      if (is_raw_and_slow && kMbits[i] != 1) continue;
      for (const Subject& subject : live_) {
        if (options_.quick && subject.model->name != "yolov5n") continue;
        RunLiveCells(subject, kMbits[i], options_.quick || i == 0, is_raw_and_slow);
      }
    }
  }

  void RunLiveCells(const Subject& subject, double mbit, bool has_local, bool is_raw_and_slow) {
    std::unique_ptr<BenchServer> server;
    for (size_t i = 0; i < (options_.quick ? 1 : kLiveSpeedups); ++i) {
      for (const Mode& mode : ModesOf(subject)) {
        const bool is_raw = mode.config.server.codec == "raw" && mode.needs_server;
        if ((is_raw && mbit == 1) != is_raw_and_slow) continue;
        if (!mode.needs_server && !has_local) continue;
        if (is_live_over()) {
          ++live_left_out_;
          continue;
        }
        RunLiveCell(subject, mode, mbit, kSpeedups[i], &server);
      }
    }
  }

  void RunLiveCell(const Subject& subject, const Mode& mode, double mbit, double speedup,
                   std::unique_ptr<BenchServer>* server) {
    const auto link = mode.needs_server ? std::optional(mbit) : std::nullopt;
    const std::string what = fmt::format("live {} {} {} {} {}x", subject.model->name, subject.clip,
                                         mode.name, link ? LinkText(mbit) : "-", speedup);
    Attempt(what, [&] {
      if (mode.config.UsesServer()) Start(LinkText(mbit), server);
      const Limit limit(server->get(), kMostOfACell);
      const auto contender = MakeContender(subject, mode, server->get(), speedup, link);
      const std::vector<AnsweredFrame> answers =
          RunLive(*contender, subject.frames, mode.needs_server && !mode.may_go_without,
                  [this] { return is_live_over(); });
      AddCell(subject, mode, link, speedup, "live", answers, contender->why());
    });
  }

  void AddCell(const Subject& subject, const Mode& mode, std::optional<double> mbit, double speedup,
               const std::string& measured, const std::vector<AnsweredFrame>& answers,
               const std::string& why = "") {
    const bool is_every = mode.config.mode == RobotConfig::Mode::kEveryK;
    const auto median = [&](auto of) {
      Samples samples;
      for (const AnsweredFrame& answer : answers) samples.ms.push_back(of(answer));
      return samples.Median();
    };
    const auto mean = [&](auto of) {
      double sum = 0;
      for (const AnsweredFrame& answer : answers) sum += of(answer.cost);
      return sum / static_cast<double>(answers.size());
    };
    Samples latencies;
    ContentAgreement agreement;
    for (const AnsweredFrame& answer : answers) {
      latencies.ms.push_back(answer.latency_ms());
      const size_t shown = FrameOfClip(answer.captured, subject.dense.size());
      agreement.Add(*answer.cost.content, *subject.dense[shown]);
    }
    Json row = {
        {"model", subject.model->name},
        {"clip", subject.clip},
        {"mode", is_every ? mode.config.ModeName() : mode.name},
        {"mbit", mbit ? Json(*mbit) : Json()},
        {"speedup", speedup},
        {"measured", measured},
        {"median_ms", latencies.Median()},
        {"p95_ms", answers.size() >= kAnswersOfACell ? Json(latencies.Quantile(0.95)) : Json()},
        {"bytes",
         mean([](const FrameCost& cost) { return cost.bytes_to_server + cost.bytes_to_robot; })},
        {"robot_ms", median([](const AnsweredFrame& answer) { return answer.cost.robot_ms; })},
        {"server_ms", median([](const AnsweredFrame& answer) { return answer.cost.server_ms; })},
        {"link_ms", median([](const AnsweredFrame& answer) { return answer.cost.link_ms; })},
        {"active_robot", mean([](const FrameCost& cost) { return cost.robot_work; })},
        {"active_server", mean([](const FrameCost& cost) { return cost.server_work; })},
        {"agreement", agreement.value()},
        {"on_time", OnTime(answers, subject.dense, kDeadlineMs)},
        {"late", Late(answers, kDeadlineMs)}};
    if (!subject.model->has_answers) row["agreement"] = row["on_time"] = nullptr;
    AddPlan(subject, mode, mbit.value_or(0), speedup, answers, &row);
    row["why"] = why;
    if (measured == "predicted") {
      row["active_robot"] = row["active_server"] = nullptr;
      // What is kept changes answers, by as much as only frames show.
      if (!mode.plan || mode.plan->keeps) row["agreement"] = row["on_time"] = nullptr;
    }
    checks_.Add(row);
    report_->AddRow(std::move(row));
  }

  // The plan, of cacheinf the one that it took most often, and what is predicted for it.
  static void AddPlan(const Subject& subject, const Mode& mode, double mbit, double speedup,
                      const std::vector<AnsweredFrame>& answers, Json* row) {
    (*row)["plan"] = (*row)["predicted_ms"] = (*row)["changed"] = nullptr;
    const auto planning = subject.planning.find(speedup);
    if (planning == subject.planning.end()) return;
    std::optional<Plan> plan = mode.plan;
    if (mode.name == "cacheinf") {
      std::map<std::string, int> taken;
      for (const AnsweredFrame& answer : answers) ++taken[answer.cost.plan];
      const auto most =
          std::ranges::max_element(taken, {}, &std::map<std::string, int>::value_type::second);
      (*row)["plan"] = most->first;
      plan = planning->second->PlanNamed(most->first);
    }
    if (!plan) return;
    (*row)["plan"] = ToText(*plan);
    const Situation situation = Planning::SituationOf(mbit, subject.changed);
    (*row)["predicted_ms"] = planning->second->Predict(*plan, situation).latency_ms;
    (*row)["changed"] = subject.changed;
  }

  const BenchOptions& options_;
  BenchReport* const report_;
  const std::atomic<bool>& stop_;
  const SteadyClock clock_;
  const std::chrono::nanoseconds begin_;
  const Cores cores_ = TwoCores();
  const NameServerOfOurOwn name_server_;
  const TemporaryFolder models_;
  const TemporaryFolder schedules_;
  const Minutes most_ = options_.quick ? kMostWhenQuick : kMost;
  std::map<std::string, Subject> prepared_;  // by model
  std::vector<Subject> live_;
  ModeChecks checks_;
  int live_left_out_ = 0;
  int clips_left_out_ = 0;
};

}  // namespace

void BenchModes(const BenchOptions& options, BenchReport* report) {
  ModesBench(options, report).Run();
}

}  // namespace cacheinf
