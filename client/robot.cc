#include "client/robot.h"

#include <fmt/core.h>

#include <chrono>
#include <thread>
#include <utility>

#include "client/answer/recomputed.h"
#include "common/canvas/make_geometry.h"
#include "common/plan/cut_text.h"

namespace cacheinf {
namespace {

ReuseSettings SettingsOf(const RobotConfig& config) {
  return Resolve(config.cache, config.tracker.change);
}

StateOptions OptionsFor(const RobotConfig& config, const Graph& graph) {
  if (graph.inputs.size() != 1) {
    throw InputError(fmt::format("model '{}' has {} inputs, but a frame can feed only one",
                                 graph.name, graph.inputs.size()));
  }
  if (!config.KeepsResults()) return {};
  const ReuseSettings settings = SettingsOf(config);
  StateOptions options = OptionsFor(settings, graph);
  if (config.mode != RobotConfig::Mode::kSplit) return options;
  if (settings.is_by_warp()) throw InputError("mode split does not go with the geometry warp");
  if (!settings.change_policy().can_split()) {
    throw InputError("mode split does not go with the policy fixed and a stem: set --stem 0");
  }
  options.trades = true;
  return options;
}

std::vector<Scheme> SchemesOf(const Graph& graph) {
  std::vector<Scheme> schemes;
  for (const Operator& node : graph.operators) {
    const auto* const conv = std::get_if<op::Conv>(&node.attributes);
    schemes.push_back(conv == nullptr ? Scheme::kDirect : conv->scheme);
  }
  return schemes;
}

bool LacksSpreads(const ChangePolicy& policy) {
  return policy.threshold > 0 && policy.spreads == nullptr;
}

const Shape& InputShape(const ModelState& state) {
  const Graph& graph = state.graph();
  return graph.value(graph.inputs.front()).shape;
}

}  // namespace

Robot::Robot(std::shared_ptr<const CompiledModel> model, const RobotConfig& config,
             const Clock& clock)
    : config_(config),
      mode_(config.mode),
      every_(config.every),
      model_(std::move(model)),
      state_(model_, OptionsFor(config, model_->graph())),
      reader_(state_.graph(), config.model_config.decoder),
      clock_(clock),
      slowdown_(config.server.slowdown, clock) {
  if (config.KeepsResults()) MakeCache(config);
  if (config.UsesServer()) {
    cuts_ = ParseCuts(config.server.cuts, state_.graph());
    (void)OwnershipOf(state_.graph(), state_.layout(), cuts_, std::vector<int>(cuts_.size()),
                      state_.graph().picture.height);
    server_ = std::make_unique<ServerPeer>(config.server, state_.graph(), clock_);
  }
}

void Robot::MakeCache(const RobotConfig& config) {
  if (state_.graph().picture.width == 0) {
    throw InputError(
        fmt::format("mode {} needs pictures, but the model takes tensors", NameOf(mode_)));
  }
  const ReuseSettings settings = SettingsOf(config);
  auto tracker = settings.follows_camera() ? MakeTracker(config.tracker) : nullptr;
  cache_ = std::make_unique<FrameCache>(
      settings, MakeGeometry(settings, state_.graph(), std::move(tracker)), clock_, state_);
}

Answer Robot::Process(const Frame& frame, const Verdict& verdict) {
  AwaitServer();
  slowdown_.Begin();
  const auto begin = clock_.Now();
  Fit(frame);
  if (verdict.forget) kept_.reset();
  return CanRepeat() ? Repeat(frame, begin) : Compute(frame, verdict, begin);
}

std::optional<RefreshWork> Robot::Refresh(const Frame& frame, const Verdict& verdict) {
  slowdown_.Begin();
  const auto begin = clock_.Now();
  std::optional<RefreshWork> work;
  if (cache_ && !is_from_server_) work = cache_->Refresh(model_picture(), verdict);
  if (mode_ == RobotConfig::Mode::kStale && kept_->computed_from != frame.index) {
    Compute(frame, verdict, begin);
    work = RefreshWork{.share = 1.0};
  }
  slowdown_.CatchUp();
  if (work) work->time = clock_.Now() - begin;
  return work;
}

bool Robot::CanRepeat() const {
  if (!kept_) return false;
  switch (mode_) {
    case RobotConfig::Mode::kDense:
    case RobotConfig::Mode::kCache:
    case RobotConfig::Mode::kRemote:
    case RobotConfig::Mode::kSplit:
      return false;
    case RobotConfig::Mode::kStale:
      return true;
    case RobotConfig::Mode::kEveryK:
      return repeats_ + 1 < every_;
  }
  return false;
}

Answer Robot::Repeat(const Frame& frame, std::chrono::nanoseconds begin) {
  ++repeats_;
  Answer answer;
  answer.frame = frame.index;
  answer.stamp = frame.stamp;
  answer.computed_from = kept_->computed_from;
  answer.content = kept_->content;
  answer.preprocess = clock_.Now() - begin;
  return answer;
}

Answer Robot::Compute(const Frame& frame, const Verdict& verdict, std::chrono::nanoseconds begin) {
  Answer answer;
  SetInput(frame);
  slowdown_.CatchUp();
  const auto prepared = clock_.Now();
  const bool was_from_server = std::exchange(is_from_server_, ComputeRemotely(frame, begin));
  if (is_from_server_) {
    answer.server = remote_->part();
  } else if (cache_) {
    // The server's outputs lie where results were kept.
    answer.work = cache_->Run(model_picture(),
                              {.forget = verdict.forget || was_from_server, .level = verdict.level},
                              frame.index);
    if (split_) answer.server = split_->part();
  } else {
    state_.Run();
    ++decision_.number;
    decision_.frame = frame.index;
    decision_.base = -1;
  }
  slowdown_.CatchUp();
  const auto computed = clock_.Now();
  answer.frame = frame.index;
  answer.stamp = frame.stamp;
  answer.computed_from = frame.index;
  answer.content = reader_.Read(state_, Seen());
  Keep(answer);
  slowdown_.CatchUp();
  answer.preprocess = prepared - begin;
  answer.compute = computed - prepared;
  answer.decode = clock_.Now() - computed;
  if (server_ && !answer.server) alone_.Add(answer.latency());
  return answer;
}

// At the start of a run it is waited for.
void Robot::AwaitServer() {
  if (!server_) return;
  MeetServer();
  if (!wait_until_) {
    const std::chrono::duration<double> wait(config_.server.wait_s);
    wait_until_ = clock_.Now() + std::chrono::duration_cast<std::chrono::nanoseconds>(wait);
  }
  while (!IsServerReady() && clock_.Now() < *wait_until_) {
    // Spreads are measured on a frame that the robot computes.
    if (split_ && LacksSpreads(cache_->reuse().policy())) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    MeetServer();
  }
  if (IsServerReady()) wait_until_ = clock_.Now();
}

bool Robot::IsServerReady() {
  if (remote_) return remote_->IsReady();
  return split_ && split_->IsReady(cache_->reuse().policy());
}

// Lets go of a server that is lost, and takes up one that has come.
void Robot::MeetServer() {
  if (server_->is_lost()) {
    cache_->SetExecution({});
    remote_.reset();
    split_.reset();
  }
  ServerConnection* const met = server_->Poll();
  if (met != nullptr) ShareWith(*met);
}

void Robot::ShareWith(ServerConnection& server) {
  const Graph& graph = state_.graph();
  message::Settings settings;
  settings.schemes = SchemesOf(graph);
  settings.slice_codec = config_.server.slice_codec;
  if (mode_ == RobotConfig::Mode::kRemote) {
    settings.mode = message::Settings::Mode::kRemote;
    settings.server_mode = config_.server.server_mode;
    settings.cache = config_.cache;
    settings.tracker = config_.tracker.kind;
    settings.change_threshold = config_.tracker.change.threshold;
    remote_.emplace(server, model_, state_, clock_, settings,
                    ParsePictureCodec(config_.server.codec), RemoteRobot::Wait(), slowdown_);
    return;
  }
  const StateOptions options = OptionsFor(config_, graph);
  settings.keep = options.keep;
  settings.kept = options.persistent;
  settings.cuts = cuts_;
  split_.emplace(server, state_, clock_, settings, SplitRobot::Wait(), slowdown_);
  cache_->SetExecution([this](const FrameDecision& decision, const PictureView& seen,
                              const ChangePolicy& policy, bool needs_all) {
    if (needs_all) split_->ComputeNextAlone();
    const bool is_refresh = decision.kind == FrameDecision::Kind::kRefresh;
    const auto give_up_at = is_refresh ? SplitRobot::kNever : GiveUpAt(clock_.Now());
    const ChangedWork work = split_->Execute(decision, seen, policy, give_up_at);
    return FrameCache::Executed{work, split_->computed_all()};
  });
}

// Whether the outputs are the server's now.
bool Robot::ComputeRemotely(const Frame& frame, std::chrono::nanoseconds begin) {
  if (!remote_ || frame.picture.empty() || !remote_->IsReady()) return false;
  return remote_->Compute(model_picture(), fit_->place(), frame.index, GiveUpAt(begin));
}

// When computing alone must begin.
std::chrono::nanoseconds Robot::GiveUpAt(std::chrono::nanoseconds begin) const {
  if (config_.deadline_ms == 0) return RemoteRobot::kNever;
  const std::chrono::duration<double, std::milli> left(config_.deadline_ms -
                                                       alone_.PercentileMs(0.95));
  return begin + std::chrono::duration_cast<std::chrono::nanoseconds>(left);
}

void Robot::Keep(const Answer& answer) {
  if (mode_ == RobotConfig::Mode::kDense || mode_ == RobotConfig::Mode::kCache) return;
  kept_ = answer;
  repeats_ = 0;
}

// Throws before anything has changed if the frame does not fit.
void Robot::Fit(const Frame& frame) {
  if (!frame.picture.empty()) {
    FitPicture(frame);
    return;
  }
  if (cache_)
    throw InputError(
        fmt::format("mode {} needs pictures, but the source gives tensors", NameOf(mode_)));
  if (frame.tensor.shape() != InputShape(state_)) {
    throw UnfitFrame(fmt::format("{}: shape {} does not fit the model's input, {}", frame.name,
                                 ToString(frame.tensor.shape()), ToString(InputShape(state_))));
  }
  fit_.reset();
}

void Robot::FitPicture(const Frame& frame) {
  const PictureSpec& spec = state_.graph().picture;
  const Picture& picture = frame.picture;
  if (spec.width == 0) throw InputError("the model takes tensors, but the source gives pictures");
  const bool has_new_size = !fit_ || fit_->columns().frame_size != picture.width ||
                            fit_->rows().frame_size != picture.height;
  if (!has_new_size) return;
  try {
    fit_ = std::make_shared<const PictureFit>(spec, picture.width, picture.height);
  } catch (const InputError& error) {
    throw UnfitFrame(fmt::format("{}: {}", frame.name, error.what()));
  }
  // What is kept is of another picture.
  kept_.reset();
  if (cache_) cache_->SetPlaceOfFrames(fit_->place());
}

std::optional<ClassMap> Robot::recomputed() const {
  if (!cache_ || is_from_server_) return std::nullopt;
  if (decision()->kind == FrameDecision::Kind::kWhole) return AllRecomputed(state_);
  const PictureSpec& spec = state_.graph().picture;
  return Seen().InModel(Recomputed(state_), spec.width, spec.height);
}

SeenPicture Robot::Seen() const {
  SeenPicture seen = {fit(), {}};
  if (is_from_server_) {
    seen.model_from_seen = remote_->answer().frame_from_seen;
  } else if (cache_) {
    seen.model_from_seen = cache_->reuse().placement().frame_from_seen;
  }
  return seen;
}

void Robot::SetInput(const Frame& frame) {
  if (frame.picture.empty()) {
    state_.SetInput(0, frame.tensor.view());
    return;
  }
  pixels_.resize(model_picture().byte_count());
  fit_->Resize(frame.picture, {0, state_.graph().picture.height}, pixels_.data());
  // A cache decides itself what the network sees.
  if (!cache_) state_.SetPicture(model_picture());
}

PictureView Robot::model_picture() const {
  const PictureSpec& spec = state_.graph().picture;
  return {pixels_.data(), spec.width, spec.height, fit_->channels()};
}

PictureView Robot::seen_picture() const {
  return cache_ && !is_from_server_ ? cache_->reuse().seen() : model_picture();
}

bool Robot::sees_moved() const { return !Seen().model_from_seen.IsIdentity(); }

const FrameDecision* Robot::decision() const {
  if (is_from_server_) return nullptr;
  if (cache_) return &cache_->reuse().decision();
  return repeats_ > 0 ? nullptr : &decision_;
}

}  // namespace cacheinf
