#include "tests/bench/mode_subject.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <thread>

#include "client/idle_profile.h"
#include "client/robot_setup.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/pair/shared_settings.h"
#include "profiler/clip_agreement.h"
#include "profiler/fitted_clip.h"
#include "tests/bench/clips.h"
#include "tests/bench/mode_list.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

// No scored frame shows what an earlier one did: else answers half a second old look new again.
constexpr int kFramesOfAClip = static_cast<int>(kScored.end);
constexpr int kFramesToJudge = 64;
constexpr double kSecondsToJudge = 10;
constexpr double kSecondsToProfile = 30;  // per model, on each side
constexpr double kSecondsWhenQuick = 15;

const std::array kModels = {
    ModeModel{.name = "yolov5n",
              .file = "yolov5n_384x640",
              .cut = "/model.3/Mul_output_0",
              .is_live = true,
              .on_time_ms = 100},
    ModeModel{.name = "demo",
              .file = "demo_segmentation",
              .cut = "/level_2/level_2.2/Relu_output_0",
              .is_live = true},
    ModeModel{.name = "squeezenet", .file = "squeezenet1_1_227", .cut = "/n/Relu_1_output_0"},
    ModeModel{.name = "espnet",
              .file = "espnet_384x640",
              .cut = "/level2_0/c1/conv/Conv_output_0",
              .frames = 6,
              .on_time_ms = 200},
    // Its weights are random: only its times mean anything.
    ModeModel{.name = "kapao",
              .file = "kapao",
              .shape = "1x3x512x640",
              .cut = "/level_8/level_8.0/level_8.0.2/Mul_output_0",
              .frames = 3,
              .has_answers = false},
};

// What a robot measures about itself in idle time, and keeps: in live cells it knows this.
Profile IdleProfileOf(const std::shared_ptr<const CompiledModel>& model, const RobotConfig& config,
                      int core) {
  const OnCores one({core});
  const SteadyClock clock;
  IdleProfile idle(model, config, clock);
  std::optional<Profile> last = idle.Take();
  idle.Resume();
  while (!idle.is_measured()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (auto profile = idle.Take()) last = std::move(profile);
  }
  return *last;
}

}  // namespace

std::vector<const ModeModel*> ModeSubjects::Models() const {
  std::vector<const ModeModel*> models;
  for (const ModeModel& model : kModels) {
    const bool is_left_out =
        options_.models.empty() ? options_.quick && !model.is_live : !FileOf(model);
    if (!is_left_out) models.push_back(&model);
  }
  if (models.empty()) {
    std::string names;
    for (const ModeModel& model : kModels) names += fmt::format(" {}", model.name);
    throw InputError("--model: there is no such file, or it is not of one of these networks:" +
                     names);
  }
  return models;
}

std::vector<std::string> ModeSubjects::ClipsOf(const ModeModel& model) const {
  const bool has_two = options_.quick || !model.has_answers;
  std::vector<std::string> clips;
  for (const std::string& clip : Clips(options_)) {
    const std::string name = ClipName(clip);
    if (name == "bag" || (has_two && name != "juggle" && name != "road")) continue;
    clips.push_back(clip);
  }
  return clips;
}

Subject ModeSubjects::Make(const ModeModel& model, const std::string& clip, bool is_for_live) {
  Subject subject = Prepared(model);
  subject.clip = ClipName(clip);
  int frames = kFramesOfAClip;
  if (model.frames > 0 && !is_for_live) frames = model.frames;
  if (options_.frames > 0) frames = options_.frames;
  subject.frames = ReadFrames(clip, frames);
  if (subject.frames.size() < 2) throw InputError(clip + " has fewer than two frames");
  course_.Attempt(fmt::format("{} {} agreement", model.name, subject.clip),
                  [&] { Judge(clip, &subject); });
  return subject;
}

std::optional<fs::path> ModeSubjects::FileOf(const ModeModel& model) const {
  for (const fs::path& file : ClipModels(options_)) {
    if (file.stem() == model.file) return file;
  }
  const fs::path exported = ExportedModels() / (model.file.string() + ".onnx");
  if (options_.models.empty() && fs::exists(exported)) return exported;
  return std::nullopt;
}

RobotConfig ModeSubjects::ConfigOf(const ModeModel& model) const {
  const auto file = FileOf(model);
  if (!file) throw InputError(model.file.string() + ".onnx is not here");
  RobotConfig config = ConfigFor(*file, options_);
  if (!model.shape.empty()) config.shapes = {model.shape};
  config.threads = 1;
  config.guard.is_on = false;
  config.server.wait_s = 10;
  config.server.name_server = name_server_;
  if (!model.has_answers) {
    // Kapao's own: 5 + 52 numbers per box. Random weights give no box that good.
    DecoderConfig& decoder = config.model_config.decoder;
    decoder.kind = DecoderConfig::Kind::kBoxes;
    decoder.strides = {8, 16, 32, 64};
    decoder.anchors = {19,  27,  44,  40,  38,  94,  96,  68,  86,  152, 180, 137,
                       140, 301, 303, 264, 238, 542, 436, 615, 739, 380, 925, 792};
    decoder.score_threshold = 0.99;
  }
  return config;
}

std::string Subject::Smaller() const {
  if (small_config.shapes.empty() || small_config.model != config.model) return small_config.model;
  return small_config.model + "@" + small_config.shapes.front();
}

void Subject::NoteSmall(const std::vector<FrameCost>& answered) {
  ContentAgreement agreement;
  for (size_t i = 0; i < answered.size(); ++i) agreement.Add(*answered[i].content, *dense[i]);
  constexpr double kMostTrials = 8;
  if (const auto value = agreement.value()) {
    small_judged.Add(*value, std::min(kMostTrials, static_cast<double>(answered.size())));
  }
}

const Subject& ModeSubjects::Prepared(const ModeModel& model) {
  const auto [place, is_new] = prepared_.try_emplace(model.name);
  Subject& subject = place->second;
  if (!is_new && subject.model != nullptr) return subject;
  subject.config = ConfigOf(model);
  subject.compiled = Compile(LoadGraph(subject.config, /*has_tensors=*/false), subject.config);
  subject.model = &model;
  course_.Attempt(model.name + " small-local", [&] { AddSmall(&subject); });
  course_.Attempt(model.name + " plain-video", [&] { AddPlainVideo(&subject); });
  course_.Attempt(model.name + " profiles", [&] { AddPlanning(&subject); });
  return subject;
}

// The network at half the resolution, with the same weights: there is no smaller network for the
// same task.
void ModeSubjects::AddSmall(Subject* subject) const {
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

void ModeSubjects::AddPlainVideo(Subject* subject) const {
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

// What planners use; solved for each speedup.
void ModeSubjects::AddPlanning(Subject* subject) const {
  const double begin = course_.minutes();
  const ProfilesRequest request = {
      .clips = ClipsOf(*subject->model),
      .seconds = options_.quick ? kSecondsWhenQuick : kSecondsToProfile,
      .folder = options_.cache / "profiles",
      .robot_core = cores_.robot,
      .server_core = cores_.server};
  const ModelProfiles profiles = ObtainProfiles(subject->compiled, subject->config, request);
  if (subject->small && subject->model->has_answers) {
    subject->small_profile = std::make_shared<const Profile>(
        IdleProfileOf(subject->small, CacheInfMode(*subject, 0).config, cores_.robot));
  }
  const double profiled = course_.minutes();
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
      "(robot; {:.3f} and {:.3f} by the work alone) and {} (server)",
      subject->model->name, 60 * (profiled - begin),
      profiles.measured_s > 0 ? "" : " (they were known)", subject->planning.size(),
      60 * (course_.minutes() - profiled), errors(profiles.robot),
      profiles.robot.active_median_error, profiles.robot.active_p95_error,
      errors(profiles.server)));
}

// How far codecs and cache agree on the clip itself, as from `cacheinf-profile measure --clip`.
void ModeSubjects::Judge(const std::string& clip, Subject* subject) const {
  if (subject->planning.empty() || !subject->model->has_answers) return;
  const SteadyClock clock;
  const Graph& graph = subject->compiled->graph();
  const FittedClip fitted = ReadClip(clip, graph, kFramesToJudge, clock);
  if (!ShowsAgreement(fitted)) return;
  Profile judged = subject->planning.begin()->second->robot();
  JudgeOnClips(
      subject->compiled, SharedSettingsOf(subject->config, graph),
      subject->config.model_config.decoder, {fitted}, kSecondsToJudge, clock,
      [this](double) { return !course_.is_over(); }, &judged);
  for (auto& [speedup, planning] : subject->planning) {
    const std::string name =
        fmt::format("{}-{}-{:g}.schedule.json", subject->model->name, subject->clip, speedup);
    planning = planning->Judged(judged, schedules_.path() / name);
  }
}

}  // namespace cacheinf
