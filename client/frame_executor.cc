#include "client/frame_executor.h"

#include <fmt/core.h>

#include <thread>
#include <utility>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/canvas/make_geometry.h"
#include "common/codec/picture_codec.h"
#include "common/exec/torch_call.h"
#include "common/pair/remote_picture.h"
#include "common/plan/cut_text.h"
#include "common/plan/exactness.h"

namespace cacheinf {
namespace {

using Mode = RobotConfig::Mode;

ReuseSettings SettingsOf(const RobotConfig& config) {
  return Resolve(config.cache, config.tracker.change);
}

StateOptions OptionsOf(const RobotConfig& config, const Graph& graph, bool may_split) {
  if (graph.inputs.size() != 1) {
    throw InputError(fmt::format("model '{}' has {} inputs, but a frame can feed only one",
                                 graph.name, graph.inputs.size()));
  }
  if (!config.KeepsResults()) return {};
  const ReuseSettings settings = SettingsOf(config);
  StateOptions options = OptionsFor(settings, graph);
  if (!may_split) return options;
  if (settings.is_by_warp()) {
    throw InputError("a network cannot be split with the geometry warp");
  }
  if (!settings.change_policy().can_split()) {
    throw InputError("a network cannot be split with the policy fixed and a stem: set --stem 0");
  }
  options.trades = true;
  return options;
}

// Returns the mode's plan; mode cacheinf begins with it.
Plan PlanOf(const RobotConfig& config) {
  const ServerLinkConfig& server = config.server;
  const bool keeps = server.server_mode == ServerLinkConfig::ServerMode::kCache;
  if (config.mode == Mode::kRemote) {
    return {.kind = Plan::Kind::kRemote, .keeps = keeps, .codec = server.codec};
  }
  if (config.mode == Mode::kSplit) return {.kind = Plan::Kind::kSplit, .keeps = keeps};
  return {};
}

std::vector<Scheme> SchemesOf(const Graph& graph) {
  std::vector<Scheme> schemes;
  for (const Operator& node : graph.operators) {
    const auto* const conv = std::get_if<op::Conv>(&node.attributes);
    schemes.push_back(conv == nullptr ? Scheme::kDirect : conv->scheme);
  }
  return schemes;
}

// Some encoders show only at work that they keep pictures back, or change their size.
void CheckCodec(const std::string& codec, const PictureFormat& format) {
  PictureEncoder encoder(ParsePictureCodec(codec), format);
  PictureDecoder decoder(format);
  const std::vector<uint8_t> black(format.byte_count());
  for (int i = 0; i < 2; ++i) {
    std::vector<uint8_t> bytes;
    encoder.Append({black.data(), format.width, format.height, format.channels}, &bytes);
    if (const char* const error = decoder.Decode(bytes)) {
      throw InputError(fmt::format("codec {}: {}", codec, error));
    }
  }
}

bool LacksSpreads(const ChangePolicy& policy) {
  return policy.threshold > 0 && policy.spreads == nullptr;
}

}  // namespace

FrameExecutor::FrameExecutor(std::shared_ptr<const CompiledModel> model, const RobotConfig& config,
                             bool may_split, const Clock& clock, Slowdown slowdown)
    : config_(config),
      model_(std::move(model)),
      options_(OptionsOf(config, model_->graph(), may_split)),
      state_(model_, options_),
      clock_(clock),
      slowdown_(std::move(slowdown)),
      plan_(PlanOf(config)) {
  if (config.KeepsResults()) MakeCache();
  if (config.server.address.empty()) return;
  const Graph& graph = model_->graph();
  Check(plan_);
  if (config.mode == Mode::kSplit) {
    cuts_ = ParseCuts(config.server.cuts, graph);
    (void)OwnershipOf(graph, state_.layout(), cuts_, std::vector<int>(cuts_.size()),
                      graph.picture.height);
  }
  server_.emplace(config.server, graph, clock_);
}

void FrameExecutor::MakeCache() {
  const Graph& graph = model_->graph();
  if (graph.picture.width == 0) {
    throw InputError(
        fmt::format("mode {} needs pictures, but the model takes tensors", NameOf(config_.mode)));
  }
  const ReuseSettings settings = SettingsOf(config_);
  auto tracker = settings.follows_camera() ? MakeTracker(config_.tracker) : nullptr;
  cache_.emplace(settings, MakeGeometry(settings, graph, std::move(tracker)), clock_, state_);
}

void FrameExecutor::SetPlaceOfFrames(const Rectangle& place) {
  if (cache_) cache_->SetPlaceOfFrames(place);
}

const Execution& FrameExecutor::Execute(const FittedFrame& frame, const Verdict& verdict,
                                        Time due) {
  last_ = {.seen = frame.picture};
  answered_ = &state_;
  const Time begin = clock_.Now();
  const Patience::Alone alone = AloneIn(verdict);
  const GiveUpAt give_up_at = [&] { return patience_.GiveUpAt(begin, due, alone); };
  if (ExecuteRemotely(frame, give_up_at)) {
    slowdown_.CatchUp();
    patience_.NoteServer(clock_.Now() - begin);
    return last_;
  }
  const Time alone_since = clock_.Now();
  ExecuteHere(frame, verdict, give_up_at);
  slowdown_.CatchUp();
  NoteTimes(begin, alone_since, alone);
  return last_;
}

// What the robot computes if no server has a part in the next frame.
Patience::Alone FrameExecutor::AloneIn(const Verdict& verdict) const {
  const bool plans_all = plan_.kind != Plan::Kind::kRemote && !plan_.keeps;
  const bool computes_all = !cache_ || must_forget_ || verdict.forget || plans_all;
  return computes_all ? Patience::Alone::kAll : Patience::Alone::kWhatChanged;
}

// Executes the frame on the robot, with a server if the plan is to split it.
void FrameExecutor::ExecuteHere(const FittedFrame& frame, const Verdict& verdict,
                                const GiveUpAt& give_up_at) {
  if (!cache_) return ExecuteWhole(frame, state_);
  if (plan_.kind == Plan::Kind::kLocal && !plan_.keeps) {
    if (!whole_state_) whole_state_.emplace(model_);
    ExecuteWhole(frame, *whole_state_);
    must_forget_ = true;
    return;
  }
  const bool forget = std::exchange(must_forget_, false) || verdict.forget;
  const bool is_dense = plan_.kind == Plan::Kind::kSplit && !plan_.keeps;
  const SafetyLevel level = is_dense ? SafetyLevel::kDense : verdict.level;
  last_.work =
      cache_->Run(frame.picture, {.forget = forget, .level = level, .is_slow = verdict.is_slow},
                  frame.index, Together(give_up_at));
  if (split_) last_.server = split_->part();
  if (last_.server) last_.kind = Plan::Kind::kSplit;
  const Reuse& reuse = cache_->reuse();
  last_.decision = &reuse.decision();
  last_.seen = reuse.seen();
  last_.model_from_seen = reuse.placement().frame_from_seen;
}

// Returns whether the outputs are now the server's.
bool FrameExecutor::ExecuteRemotely(const FittedFrame& frame, const GiveUpAt& give_up_at) {
  if (plan_.kind != Plan::Kind::kRemote || !IsServerReady()) return false;
  const bool is_answered = remote_->Compute(frame.picture, frame.place, frame.index, give_up_at());
  // A bad answer may have left some of its outputs in the state, too.
  if (is_answered || server_->is_lost()) must_forget_ = true;
  if (!is_answered) return false;
  last_.kind = Plan::Kind::kRemote;
  last_.server = remote_->part();
  const message::Answer& answer = remote_->answer();
  last_.server->is_whole = answer.kind == FrameDecision::Kind::kWhole;
  last_.model_from_seen = answer.frame_from_seen;
  return true;
}

// Notes what a frame took that ExecuteHere has just executed.
void FrameExecutor::NoteTimes(Time begin, Time alone_since, Patience::Alone alone) {
  const Time now = clock_.Now();
  if (remote_ && remote_->may_be_answered()) patience_.NoteServer(remote_->GiveUp());
  if (!split_) return patience_.NoteAlone(alone, now - alone_since);
  if (const auto took = split_->TakeLateAnswer()) patience_.NoteServer(took);
  if (const auto since = split_->alone_since()) {
    patience_.NoteAlone(alone, now - *since);
  } else {
    patience_.NoteServer(now - begin);
  }
}

void FrameExecutor::ExecuteWhole(const FittedFrame& frame, ModelState& state) {
  answered_ = &state;
  ++whole_.number;
  whole_.frame = frame.index;
  last_.decision = &whole_;
  if (frame.tensor.data != nullptr) {
    state.SetInput(0, frame.tensor);
    state.Run();
  } else {
    state.Apply(whole_, frame.picture, {});
  }
}

// How to execute decisions with a server; empty if the robot executes them alone.
FrameCache::Execution FrameExecutor::Together(const GiveUpAt& give_up_at) {
  if (!split_) return {};
  return [this, give_up_at](const FrameDecision& decision, const PictureView& seen,
                            const ChangePolicy& policy, bool needs_all) {
    if (needs_all) split_->ComputeNextAlone();
    const ChangedWork work = split_->Execute(decision, seen, policy, give_up_at());
    return FrameCache::Executed{work, split_->computed_all()};
  };
}

std::optional<RefreshWork> FrameExecutor::Refresh(const PictureView& picture,
                                                  const Verdict& verdict) {
  if (!cache_ || must_forget_) return std::nullopt;
  return cache_->Refresh(picture, verdict, Together([] { return kNever; }));
}

void FrameExecutor::WantSchedule(std::string robot_profile) {
  robot_profile_ = std::move(robot_profile);
  if (connection_ != nullptr) connection_->AskForSchedule(RemoteSettings(), robot_profile_);
}

void FrameExecutor::TalkToServer() {
  if (!server_) return;
  if (server_->is_lost()) {
    remote_.reset();
    split_.reset();
    connection_ = nullptr;
  }
  if (ServerConnection* const met = server_->Poll()) {
    connection_ = met;
    patience_.ForgetServer();
    if (config_.mode == Mode::kCacheinf) connection_->ProbeLink();
    if (!robot_profile_.empty()) connection_->AskForSchedule(RemoteSettings(), robot_profile_);
    Join();
  }
  if (connection_ == nullptr) return;
  if (config_.mode == Mode::kCacheinf) connection_->KeepLinkKnown(clock_.Now());
  (void)IsServerReady();
}

void FrameExecutor::MeetServer(const std::function<bool()>& has_plans) {
  if (!server_) return;
  if (!wait_until_) {
    const std::chrono::duration<double> wait(config_.server.wait_s);
    wait_until_ = clock_.Now() + std::chrono::duration_cast<Time>(wait);
  }
  while (true) {
    TalkToServer();
    if (IsServerReady() && (robot_profile_.empty() || has_plans())) wait_until_ = clock_.Now();
    // Spreads are measured on a frame that the robot computes, so do not wait.
    const bool lacks_spreads = split_ && LacksSpreads(cache_->reuse().policy());
    if (lacks_spreads || clock_.Now() >= *wait_until_) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

bool FrameExecutor::IsServerReady() {
  if (connection_ == nullptr) return false;
  if (split_) return split_->IsReady(cache_->reuse().policy());
  if (remote_) return remote_->IsReady();
  (void)connection_->Receive();
  return connection_->has_model();
}

void FrameExecutor::Check(const Plan& plan) const {
  const Graph& graph = model_->graph();
  if (plan.kind == Plan::Kind::kRemote) {
    const bool is_users_own = plan.codec == config_.server.codec;
    if (!is_users_own && !ParsePictureCodec(plan.codec).gst_pipeline.empty()) {
      throw InputError("a schedule runs a GStreamer pipeline only if --codec names the same");
    }
    CheckCodec(plan.codec, PictureFormatOf(graph));
  } else if (plan.kind == Plan::Kind::kSplit) {
    if (!options_.trades) throw InputError("a plan splits what this configuration cannot split");
    const std::vector<Cut> cuts = CutsOf(plan);
    (void)OwnershipOf(graph, state_.layout(), cuts, std::vector<int>(cuts.size()),
                      graph.picture.height);
  }
}

void FrameExecutor::Follow(const Plan& plan) {
  if (plan == plan_) return;
  cuts_ = CutsOf(plan);
  plan_ = plan;
  if (connection_ != nullptr) Join();
}

std::optional<message::Schedule> FrameExecutor::TakeSchedule() {
  return connection_ == nullptr ? std::nullopt : connection_->TakeSchedule();
}

std::vector<Cut> FrameExecutor::CutsOf(const Plan& plan) const {
  const Graph& graph = model_->graph();
  std::vector<Cut> cuts;
  for (const Plan::Cut& cut : plan.cuts) {
    if (cut.after >= static_cast<int>(graph.operators.size())) {
      throw InputError("a plan cuts behind an operator that the model does not have");
    }
    const ValueId value =
        cut.after < 0 ? graph.inputs.front() : graph.operators[cut.after].outputs.front();
    cuts.push_back({value, cut.robot_thousandths});
  }
  return cuts;
}

std::string FrameExecutor::WhyNotExact(const Plan& plan,
                                       const std::string& server_arithmetic) const {
  if (config_.cache.policy != CacheConfig::Policy::kExact) return "";
  const std::string why_not =
      cacheinf::WhyNotExact(plan, {.robot = model_->backend().Arithmetic(),
                                   .server = server_arithmetic,
                                   .slice_codec = config_.server.slice_codec,
                                   .has_foreign = HasForeign(model_->graph())});
  return why_not.empty() ? "" : fmt::format("the policy is exact, and {}", why_not);
}

std::string FrameExecutor::WhyNotFollow(const Plan& plan) const {
  if (plan.kind == Plan::Kind::kSplit && !options_.trades) {
    return "this configuration cannot split the network";
  }
  return WhyNotExact(plan, "");
}

bool FrameExecutor::MayUseServer() {
  if (!HasServer()) return false;
  // By arithmetic alone; what else there is, a schedule's reader has left out.
  std::string why_not =
      WhyNotExact({.kind = Plan::Kind::kRemote, .codec = "raw"}, connection_->arithmetic());
  if (why_not == why_without_server_) return why_not.empty();
  why_without_server_ = std::move(why_not);
  if (why_without_server_.empty()) return true;
  LogWarning(fmt::format("no plan with the server is followed: {}", why_without_server_));
  return false;
}

// Makes the server ready for the plan.
void FrameExecutor::Join() {
  if (plan_.kind == Plan::Kind::kRemote) JoinRemotely();
  if (plan_.kind == Plan::Kind::kSplit) {
    JoinSplit();
  } else {
    split_.reset();
  }
}

void FrameExecutor::JoinRemotely() {
  split_.reset();
  const PictureCodec codec = ParsePictureCodec(plan_.codec);
  if (!remote_) {
    remote_.emplace(*connection_, model_, state_, clock_, RemoteSettings(), codec,
                    RemoteRobot::Wait(), slowdown_);
  } else if (plan_.codec != codec_) {
    remote_->SetCodec(codec);
  }
  remote_->SetServerKeeps(plan_.keeps);
  codec_ = plan_.codec;
}

message::Settings FrameExecutor::RemoteSettings() const {
  message::Settings settings = SettingsForServer();
  settings.mode = message::Settings::Mode::kRemote;
  return settings;
}

void FrameExecutor::JoinSplit() {
  remote_.reset();
  if (split_) return split_->SetCuts(cuts_);
  message::Settings settings = SettingsForServer();
  settings.keep = options_.keep;
  settings.kept = options_.persistent;
  settings.cuts = cuts_;
  split_.emplace(*connection_, state_, clock_, settings, SplitRobot::Wait(), slowdown_);
}

message::Settings FrameExecutor::SettingsForServer() const {
  message::Settings settings;
  const bool is_exact = config_.cache.policy == CacheConfig::Policy::kExact;
  settings.takes_fastest = config_.scheme == RobotConfig::Scheme::kAuto && !is_exact;
  if (!settings.takes_fastest) settings.schemes = SchemesOf(state_.graph());
  settings.shared = SharedSettingsOf(config_, state_.graph());
  return settings;
}

std::optional<ChannelStatistics> FrameExecutor::link_statistics() const {
  return server_ ? server_->statistics() : std::nullopt;
}

}  // namespace cacheinf
