#include "client/frame_executor.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/canvas/make_geometry.h"
#include "common/codec/picture_codec.h"
#include "common/config/configured_model.h"
#include "common/pair/remote_picture.h"
#include "common/plan/cut_text.h"
#include "common/plan/exactness.h"
#include "common/plan/split.h"

namespace cacheinf {
namespace {

using Mode = RobotConfig::Mode;

// Longest wait for a message before the clock is looked at again.
constexpr FrameExecutor::Time kLongestWait = std::chrono::milliseconds(100);

// Longer than signs of life take on a narrow link. The robot does not wait for a server that has
// been silent for so long.
constexpr FrameExecutor::Time kSilent = std::chrono::milliseconds(600);

// Old caches cost little: what changes in a second has mostly changed after a tenth of it.
constexpr FrameExecutor::Time kStandbyPeriod = std::chrono::seconds(1);

StateOptions OptionsOf(const RobotConfig& config, const ReuseSettings& settings, const Graph& graph,
                       bool has_server) {
  if (graph.inputs.size() != 1) {
    throw InputError(fmt::format("model '{}' has {} inputs, but a frame can feed only one",
                                 graph.name, graph.inputs.size()));
  }
  if (!config.KeepsResults()) return {};
  StateOptions options = OptionsFor(settings, graph);
  const bool can_split = !settings.is_by_warp() && settings.change_policy().can_split();
  const bool must_split = config.mode == Mode::kSplit;
  if (must_split && !can_split) {
    throw InputError(
        settings.is_by_warp()
            ? "a network cannot be split with the geometry warp"
            : "a network cannot be split with the policy fixed and a stem: set --stem 0");
  }
  options.trades = can_split && (must_split || (config.mode == Mode::kCacheinf && has_server));
  if (must_split || (config.mode == Mode::kCacheinf && has_server)) {
    CheckCarriesRows(config.server.slice_codec, graph);
  }
  return options;
}

// Returns the mode's plan, for every frame; mode cacheinf begins with it.
Plan BasePlanOf(const RobotConfig& config, const Graph& graph) {
  const ServerLinkConfig& server = config.server;
  const bool keeps = server.server_mode == ServerLinkConfig::ServerMode::kCache;
  if (config.mode == Mode::kRemote) {
    return {.kind = Plan::Kind::kRemote, .keeps = keeps, .codec = server.codec};
  }
  if (config.mode != Mode::kSplit) return {};
  return {.kind = Plan::Kind::kSplit, .keeps = keeps, .cuts = ParseCuts(server.cuts, graph)};
}

Plan PlanOf(const RobotConfig& config, const Graph& graph) {
  Plan plan = BasePlanOf(config, graph);
  if (config.mode != Mode::kCacheinf) plan.every = config.track;
  return plan;
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
                             const Clock& clock, const Clock& link_clock, ConnectToServers connect,
                             std::optional<uint64_t> by_hand)
    : config_(config),
      model_(std::move(model)),
      shared_(SharedSettingsOf(config, model_->graph())),
      settings_(Resolve(shared_)),
      options_(OptionsOf(config, settings_, model_->graph(),
                         !connect.empty() || !config.server.address.empty())),
      state_(model_, options_),
      clock_(clock),
      plan_(PlanOf(config, model_->graph())) {
  if (config.KeepsResults()) MakeReuse();
  if (config.server.address.empty() && connect.empty()) return;
  Check(plan_);
  if (plan_.kind == Plan::Kind::kSplit) {
    const std::string why_none =
        RowCompiler(model_->graph(), state_.layout()).WhyNoRowsAreShared(plan_.cuts);
    if (!why_none.empty()) LogWarning(why_none);
  }
  const std::string why_not = WhyNotExact(plan_, model_->backend().Arithmetic());
  if (!why_not.empty()) LogWarning(fmt::format("{}: answers may have other bits", why_not));
  if (!config.server.model.empty()) {
    servers_own_ = LoadInPlaceOf(model_->graph(), config.server.model, config, false);
    if (shared_.cache.policy == CacheConfig::Policy::kExact) {
      LogWarning("the server computes another model: its answers may have other bits");
    }
  }
  server_.emplace(config.server, servers_graph(), link_clock, std::move(connect), by_hand);
}

void FrameExecutor::MakeReuse() {
  const Graph& graph = model_->graph();
  if (graph.picture.width == 0) {
    throw InputError(
        fmt::format("mode {} needs pictures, but the model takes tensors", NameOf(config_.mode)));
  }
  auto tracker = settings_.follows_camera() ? MakeTracker(shared_.tracker) : nullptr;
  reuse_.emplace(settings_, graph, MakeGeometry(settings_, graph, std::move(tracker)));
}

void FrameExecutor::SetPlaceOfFrames(const Rectangle& place) {
  LeaveStandby();
  standby_.kept_at.reset();
  if (reuse_) reuse_->SetPlaceOfFrames(place);
}

void FrameExecutor::Decide(const FittedFrame& frame, const Verdict& verdict, Time due) {
  is_refresh_ = false;
  frame_ = frame;
  verdict_ = verdict;
  verdict_.forget = forgets_ = forgets_ || verdict.forget;
  due_ = due;
  begin_ = clock_.Now();
  alone_ = AloneIn(verdict_);
  last_ = {};
  last_.seen = frame.picture;
  if (plan_.kind == Plan::Kind::kRemote && IsServerReady()) {
    last_.kind = Plan::Kind::kRemote;
  } else {
    DecideHere();
  }
}

void FrameExecutor::DecideHere() {
  LeaveStandby();
  alone_since_ = clock_.Now();
  last_.kind = Plan::Kind::kLocal;
  const bool keeps = reuse_ && (plan_.kind != Plan::Kind::kLocal || plan_.keeps);
  if (!keeps) {
    ++whole_.number;
    whole_.frame = frame_.index;
    last_.decision = &whole_;
    return;
  }
  reuse_->MeasureSpreadsIfDue(state_);
  const Time begin = clock_.Now();
  const bool is_dense = plan_.kind == Plan::Kind::kSplit && !plan_.keeps;
  Verdict verdict = verdict_;
  verdict.forget = std::exchange(forgets_, false);
  if (is_dense) verdict.level = SafetyLevel::kDense;
  last_.decision = &reuse_->Decide(frame_.index, frame_.picture, verdict);
  last_.seen = reuse_->seen();
  last_.model_from_seen = reuse_->placement().frame_from_seen;
  last_.times.tracking = clock_.Now() - begin;
}

void FrameExecutor::Begin() {
  if (last_.kind != Plan::Kind::kRemote) {
    if (remote_) (void)remote_->GiveUp();  // on a frame that threw
    return BeginHere();
  }
  executing_ = Plan::Kind::kRemote;
  give_up_at_ = GiveUpAt(patience_, due_);
  // If the robot alone would be even later, the server's answer is of use until then.
  const Time of_use = due_ == kNever ? kNever : patience_.DoneAlone(give_up_at_, alone_);
  remote_->Begin(frame_.picture, frame_.place, frame_.index, std::max(due_, of_use));
}

// The way of every frame, whoever executes it.
bool FrameExecutor::Advance(Time look_at, const Idle& idle) {
  if (TakeLateDone()) return true;
  const Progress progress = TakeStep();
  if (progress == Progress::kDone) return true;
  const Time now = clock_.Now();  // a robot that is made slow takes its time for each step
  if (progress == Progress::kStepped) return false;
  if (progress == Progress::kRefused || now >= give_up_at_) {
    Abandon();
  } else if (!IsIdle(now) || !TakeIdleStep(idle)) {
    const Time until = std::min({give_up_at_, look_at, now + kLongestWait});
    connection_->channel().WaitForMessage(until);
    clock_.EndWait();
  }
  return false;
}

bool FrameExecutor::TakeIdleStep(const Idle& idle) {
  const Time begin = clock_.Now();
  const bool is_taken = idle ? idle() : StandBy();
  clock_.EndWait();
  if (is_taken) {
    const Time fading = longest_idle_step_ - longest_idle_step_ / 64;
    longest_idle_step_ = std::max(fading, clock_.Now() - begin);
  }
  return is_taken;
}

bool FrameExecutor::Step(Time look_at, const Idle& idle) {
  if (!Advance(look_at, idle)) return false;
  if (is_refresh_) return true;
  if (executing_ == Plan::Kind::kRemote) {
    outputs_ = remote_->outputs();
    NoteServer(Plan::Kind::kRemote, remote_->part(), remote_->times());
    last_.model_from_seen = remote_->picture_from_seen();
    patience_.NoteServer(remote_->GiveUp().value_or(clock_.Now() - begin_));
    return true;
  }
  if (split_ && split_->part()) NoteServer(Plan::Kind::kSplit, *split_->part(), split_->times());
  NoteTimes();
  return true;
}

const Execution& FrameExecutor::Commit() {
  const bool is_kept = last_.decision != nullptr && last_.decision != &whole_;
  if (is_kept) {
    last_.work = CommitDecision();
    if (server_) standby_.kept_at = clock_.Now();
    // If the frame was split, this state has only its own rows.
    standby_.share = last_.kind == Plan::Kind::kSplit ? 1 : last_.work->share;
  }
  return last_;
}

Progress FrameExecutor::TakeStep() {
  if (executing_ == Plan::Kind::kRemote) return remote_->Step();
  if (executing_ == Plan::Kind::kSplit) {
    const Progress progress = split_->Step();
    if (progress == Progress::kDone) done_ = split_->work();
    return progress;
  }
  if (computing_->next_stage() == computing_->stage_count()) {
    done_ = computing_->Commit();
    return Progress::kDone;
  }
  computing_->Step();
  return Progress::kStepped;
}

// The robot goes on without the server.
void FrameExecutor::Abandon() {
  last_.gave_up = true;
  if (executing_ == Plan::Kind::kSplit) return split_->Abandon();
  remote_->Abandon();
  DecideHere();
  BeginHere();
}

// The next decision makes up for what the robot's own one leaves.
bool FrameExecutor::TakeLateDone() {
  const bool may_come = executing_ == Plan::Kind::kLocal && remote_ && remote_->may_be_answered();
  if (!may_come || remote_->Step() != Progress::kDone) return false;
  computing_->Abandon();
  executing_ = Plan::Kind::kRemote;
  last_.decision = nullptr;
  last_.seen = frame_.picture;
  return true;
}

void FrameExecutor::BeginHere() {
  if (last_.decision != &whole_) {
    BeginDecision(*last_.decision, split_ ? GiveUpAt(patience_, due_) : kNever);
  } else if (reuse_) {
    if (!whole_state_) whole_state_.emplace(model_);
    BeginAlone(*whole_state_, whole_);
  } else {
    BeginAlone(state_, whole_);
  }
}

// With a server, if the plan splits frames.
void FrameExecutor::BeginDecision(const FrameDecision& decision, Time give_up_at) {
  if (split_) {
    outputs_ = state_;
    executing_ = Plan::Kind::kSplit;
    if (reuse_->needs_all()) split_->ComputeNextAlone();
    const bool is_shared = split_->Begin(decision, reuse_->seen(), reuse_->policy(), give_up_at);
    give_up_at_ = split_->give_up_at();
    if (is_shared) return;
  }
  BeginAlone(state_, decision);
}

void FrameExecutor::BeginAlone(ModelState& state, const FrameDecision& decision) {
  outputs_ = state;
  executing_ = Plan::Kind::kLocal;
  computing_ = &state;
  if (frame_.tensor.data != nullptr) {
    state.SetInput(0, frame_.tensor);
    state.BeginDense();
  } else if (&decision == &whole_) {
    state.BeginFrame(decision, frame_.picture, {});
  } else {
    state.BeginFrame(decision, reuse_->seen(), reuse_->policy());
  }
}

void FrameExecutor::NoteServer(Plan::Kind kind, const ServerPart& part, const FrameTimes& times) {
  const Time tracking = last_.times.tracking;
  last_.kind = kind;
  last_.server = part;
  last_.times = times;
  last_.times.tracking = tracking;
}

FrameWork FrameExecutor::CommitDecision() {
  return reuse_->Commit(done_, !split_ || split_->computed_all());
}

// Whether the awaited answer is not expected yet and the frame is not due. If the server's last
// answers did not come, this one may come now.
bool FrameExecutor::IsIdle(Time now) const {
  if (executing_ != Plan::Kind::kRemote) return false;
  const Time expected = patience_.ExpectedOfServer();
  const Time end = now + longest_idle_step_;
  return expected != Patience::kNever && end < std::min(due_, begin_ + expected);
}

bool FrameExecutor::StandBy() {
  if (!reuse_ || split_ || last_.kind != Plan::Kind::kRemote) return false;
  const Time begin = clock_.Now();
  if (!standby_.is_open) {
    if (standby_.kept_at && begin - *standby_.kept_at < kStandbyPeriod) return false;
    BeginStandby();
  } else {
    state_.Step();
  }
  if (state_.next_stage() == state_.stage_count()) {
    standby_.is_open = false;
    standby_.share = reuse_->Commit(state_.Commit()).share;
    standby_.kept_at = clock_.Now();
  }
  standby_.took += clock_.Now() - begin;
  if (!standby_.is_open && reuse_->decision().kind == FrameDecision::Kind::kChanged) {
    patience_.NoteAlone(Patience::Alone::kWhatChanged, standby_.took);
  }
  return true;
}

// Copies the picture, as standby stays open over frames.
void FrameExecutor::BeginStandby() {
  PictureView picture = frame_.picture;
  standby_.picture.assign(picture.pixels, picture.pixels + picture.byte_count());
  picture.pixels = standby_.picture.data();
  standby_.took = {};
  reuse_->MeasureSpreadsIfDue(state_);
  const Verdict verdict = {.forget = std::exchange(forgets_, false), .level = verdict_.level};
  const FrameDecision& decision = reuse_->Decide(frame_.index, picture, verdict);
  state_.BeginFrame(decision, reuse_->seen(), reuse_->policy());
  standby_.is_open = true;
}

// The next decision makes up for what standby leaves.
void FrameExecutor::LeaveStandby() {
  if (std::exchange(standby_.is_open, false)) state_.Abandon();
}

bool FrameExecutor::BeginRefresh(const PictureView& picture, const Verdict& verdict) {
  if (!last_.work) return false;  // nothing of this frame is kept
  // Nothing will be reused, so nothing gets old, and the level stays that of the frame.
  if (plan_.kind == Plan::Kind::kSplit && !plan_.keeps) return false;
  reuse_->MeasureSpreadsIfDue(state_);
  const FrameDecision* const decision = reuse_->DecideRefresh(picture, verdict);
  if (decision == nullptr) return false;
  is_refresh_ = true;
  if (split_) begin_ = clock_.Now();
  BeginDecision(*decision, split_ ? GiveUpAt(patience_with_refreshes_, kNever) : kNever);
  return true;
}

FrameWork FrameExecutor::CommitRefresh() {
  if (split_) {
    std::optional<Time> took = clock_.Now() - begin_;
    if (split_->alone_since()) took.reset();
    patience_with_refreshes_.NoteServer(took);
  }
  return CommitDecision();
}

// What has changed since an older frame may be everything.
bool FrameExecutor::IsKeptWarm() const {
  return standby_.kept_at && clock_.Now() - *standby_.kept_at < 2 * kStandbyPeriod;
}

// What the robot computes if no server has a part in the frame.
Patience::Alone FrameExecutor::AloneIn(const Verdict& verdict) const {
  if (!server_) return Patience::Alone::kAll;
  const bool plans_all = plan_.kind != Plan::Kind::kRemote && !plan_.keeps;
  const bool computes_all = !IsKeptWarm() || verdict.forget || plans_all;
  return computes_all ? Patience::Alone::kAll : Patience::Alone::kWhatChanged;
}

FrameExecutor::Time FrameExecutor::GiveUpAt(Patience& patience, Time due) {
  const ChannelStatistics link = connection_->channel().statistics();
  bytes_heard_ = link.received.wire;
  if (link.silence > kSilent) return begin_;
  // What a server needs to follow may take longer than any frame.
  if (due == kNever && split_ && !split_->is_followed()) return kNever;
  return patience.GiveUpAt(begin_, due, alone_, agreements_);
}

// Notes what a frame that was executed here took.
void FrameExecutor::NoteTimes() {
  const Time now = clock_.Now();
  if (remote_ && remote_->may_be_answered()) {
    const uint64_t bytes = connection_->channel().statistics().received.wire;
    patience_.NoteServer(remote_->GiveUp(), bytes > bytes_heard_);
  }
  if (const auto took = split_ ? split_->TakeLateDone() : std::nullopt) patience_.NoteServer(took);
  if (split_ && !split_->alone_since()) return patience_.NoteServer(now - begin_);
  // How long everything takes shows only where everything was computed.
  const bool is_whole = last_.decision->kind == FrameDecision::Kind::kWhole;
  if (alone_ == Patience::Alone::kAll && !is_whole) return;
  patience_.NoteAlone(alone_, now - (split_ ? *split_->alone_since() : alone_since_));
}

void FrameExecutor::WantSchedule(std::string robot_profile) {
  robot_profile_ = std::move(robot_profile);
  if (server_) server_->AskForSchedule(RemoteSettings(), robot_profile_);
}

void FrameExecutor::TalkToServer() {
  if (!server_) return;
  ServerConnection* const met = server_->Poll([this] {
    remote_.reset();
    split_.reset();
    connection_ = nullptr;
  });
  if (met != nullptr) {
    connection_ = met;
    patience_.ForgetServer();
    patience_with_refreshes_.ForgetServer();
    if (config_.mode == Mode::kCacheinf) connection_->ProbeLink();
    Join();
  }
  if (connection_ == nullptr) return;
  if (config_.mode == Mode::kCacheinf) connection_->KeepLinkKnown(clock_.Now());
  (void)IsServerReady();
}

bool FrameExecutor::MeetServer(const std::function<bool()>& has_plans) {
  if (!server_) return true;
  if (!wait_until_) {
    const std::chrono::duration<double> wait(config_.server.wait_s);
    wait_until_ = clock_.Now() + std::chrono::duration_cast<Time>(wait);
  }
  TalkToServer();
  if (IsServerReady() && (robot_profile_.empty() || has_plans())) wait_until_ = clock_.Now();
  // Spreads are measured on a frame that the robot computes alone, so do not wait.
  const bool lacks_spreads = split_ && LacksSpreads(reuse_->policy());
  return lacks_spreads || clock_.Now() >= *wait_until_;
}

bool FrameExecutor::IsServerReady() {
  if (connection_ == nullptr) return false;
  if (split_) return split_->IsReady(reuse_->policy());
  if (remote_) return remote_->IsReady();
  (void)connection_->Receive();
  return connection_->has_model();
}

void FrameExecutor::Check(const Plan& plan) const {
  if (plan.kind == Plan::Kind::kRemote) {
    const bool is_users_own = plan.codec == config_.server.codec;
    if (!is_users_own && !ParsePictureCodec(plan.codec).gst_pipeline.empty()) {
      throw InputError("a schedule runs a GStreamer pipeline only if --codec names the same");
    }
    CheckCodec(plan.codec, PictureFormatOf(model_->graph()));
  } else if (plan.kind == Plan::Kind::kSplit) {
    if (!options_.trades) throw InputError("a plan splits what this configuration cannot split");
    CheckCuts(plan.cuts, model_->graph(), state_.layout());
  }
}

void FrameExecutor::Follow(const Plan& plan) {
  const Plan before = std::exchange(plan_, plan);
  if (BaseOf(plan) == BaseOf(before)) return;
  if (plan.kind != Plan::Kind::kLocal && BaseOf(plan) != plan_of_server_) {
    plan_of_server_ = BaseOf(plan);
    patience_.ForgetServer();
  }
  if (connection_ != nullptr) Join();
}

std::optional<message::Schedule> FrameExecutor::TakeSchedule() {
  return server_ ? server_->TakeSchedule() : std::nullopt;
}

std::string FrameExecutor::WhyNotExact(const Plan& plan,
                                       const std::string& server_arithmetic) const {
  if (shared_.cache.policy != CacheConfig::Policy::kExact) return "";
  const std::string why_not =
      cacheinf::WhyNotExact(plan, {.robot = model_->backend().Arithmetic(),
                                   .server = server_arithmetic,
                                   .slice_codec = shared_.slice_codec,
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
  const Plan plan = {.kind = Plan::Kind::kRemote, .codec = "raw"};
  // The reader of the schedule has already said so.
  if (!WhyNotExact(plan, "").empty()) return false;
  std::string why_not = WhyNotExact(plan, connection_->arithmetic());
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
    remote_.emplace(*connection_, servers_graph(), clock_, RemoteSettings(), codec);
  } else if (plan_.codec != codec_) {
    remote_->SetCodec(codec);
  }
  remote_->SetServerKeeps(plan_.keeps);
  codec_ = plan_.codec;
}

message::Settings FrameExecutor::RemoteSettings() const {
  message::Settings settings = SettingsForServer();
  settings.mode = message::Settings::Mode::kRemote;
  if (servers_own_) settings.schemes.clear();
  return settings;
}

void FrameExecutor::JoinSplit() {
  remote_.reset();
  if (split_) return split_->SetCuts(plan_.cuts);
  message::Settings settings = SettingsForServer();
  settings.keep = options_.keep;
  settings.kept = options_.chosen;
  settings.cuts = plan_.cuts;
  split_.emplace(*connection_, state_, clock_, settings);
}

message::Settings FrameExecutor::SettingsForServer() const {
  message::Settings settings;
  const bool is_exact = shared_.cache.policy == CacheConfig::Policy::kExact;
  settings.takes_fastest = config_.scheme == RobotConfig::Scheme::kAuto && !is_exact;
  if (!settings.takes_fastest) settings.schemes = SchemesOf(state_.graph());
  settings.shared = shared_;
  return settings;
}

std::optional<ChannelStatistics> FrameExecutor::link_statistics() const {
  return server_ ? server_->statistics() : std::nullopt;
}

}  // namespace cacheinf
