#include "common/pair/session.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "common/base/error.h"
#include "common/base/failure.h"
#include "common/base/log.h"
#include "common/base/printable.h"
#include "common/codec/compressed_text.h"
#include "common/exec/layout.h"
#include "common/pair/link_probe.h"
#include "common/pair/say.h"

namespace cacheinf {
namespace {

constexpr size_t kMostProfileBytes = size_t{64} << 20;
constexpr std::chrono::milliseconds kAliveInterval(500);

}  // namespace

Session::Session(Channel& channel, ModelStore& store, SlowWork& slow_work, const Clock& clock,
                 Options options)
    : channel_(channel),
      store_(store),
      slow_work_(slow_work),
      clock_(clock),
      options_(std::move(options)) {}

template <typename T>
T Session::Read(const Message& message) const {
  T read;
  const std::string wrong = Decode(message.bytes, &read);
  if (!wrong.empty()) throw InputError(wrong);
  return read;
}

bool Session::Advance(std::chrono::nanoseconds at_most) {
  const auto turn = clock_.Now();
  const bool has_heard = TakeNews(turn);
  return TakeTurn(turn, at_most) || has_heard;
}

bool Session::Hear() {
  const auto begin = clock_.Now();
  if (!TakeNews(begin)) return false;
  if (due_since_) *due_since_ += clock_.Now() - begin;  // this was no wait for others
  return true;
}

bool Session::Compute(std::chrono::nanoseconds at_most) { return TakeTurn(clock_.Now(), at_most); }

void Session::Wait(std::chrono::nanoseconds at_most) const {
  if (preparing_.valid()) {
    preparing_.wait_for(at_most);
  } else {
    channel_.WaitForMessage(clock_.Now() + at_most);
  }
}

bool Session::TakeNews(std::chrono::nanoseconds now) {
  if (is_over()) return false;
  SayAlive(now);
  bool has_moved = false;
  try {
    has_moved = FinishPreparing();
    if (SendRough()) has_moved = true;
    if (FinishSolving()) has_moved = true;
    while (!is_over() && !preparing_.valid()) {
      std::optional<Message> message =
          held_ ? std::exchange(held_, std::nullopt) : channel_.Receive();
      if (!message) break;
      has_heard_ = true;
      Take(*message);
      if (held_) break;
      has_moved = true;
    }
  } catch (const std::exception& error) {
    Leave(SentenceOf(error));
  }
  return has_moved;
}

bool Session::TakeTurn(std::chrono::nanoseconds turn, std::chrono::nanoseconds at_most) {
  if (is_over()) return false;
  try {
    return Step(turn, at_most);
  } catch (const std::exception& error) {
    Leave(SentenceOf(error));
  }
  return false;
}

std::chrono::nanoseconds Session::due() const {
  return remote_ ? remote_->due() : std::chrono::nanoseconds::max();
}

void Session::SayAlive(std::chrono::nanoseconds now) {
  if (wire_ <= kWireWithoutLikeness || now < said_alive_at_ + kAliveInterval) return;
  if (!has_heard_ && !preparing_.valid()) return;
  said_alive_at_ = now;
  // Else the messages that wait show it once they have left.
  if (channel_.statistics().waiting_to_leave > 0) return;
  Say(channel_, message::Alive{});
  has_heard_ = false;
}

bool Session::Step(std::chrono::nanoseconds turn, std::chrono::nanoseconds at_most) {
  const std::chrono::nanoseconds due_since = std::exchange(due_since_, std::nullopt).value_or(turn);
  const auto queued = queued_ + std::max(std::chrono::nanoseconds(0), turn - due_since);
  const auto step = [&] {
    return remote_ ? remote_->Step(queued) : split_ && split_->Step(queued);
  };
  const auto is_open = [this] { return remote_ ? remote_->is_open() : split_->is_open(); };
  if (!step()) return false;  // it waited for a slice, not for its turn
  const auto may_go_on = [&] {
    return at_most.count() > 0 && is_open() && !channel_.WaitForMessage(turn) &&
           clock_.Now() - turn < at_most;
  };
  while (may_go_on() && step()) {
  }
  queued_ = queued;
  if (held_) held_->arrived_at = clock_.Now();
  if (is_open()) due_since_ = clock_.Now();
  return true;
}

// A frame has come, or a slice of it.
void Session::NoteDue(const Message& message) {
  if (!Is<message::Slice>(message)) {
    queued_ = {};
    due_since_.reset();
  }
  if (!due_since_) due_since_ = message.arrived_at;
}

void Session::Take(const Message& message) {
  if (Is<message::Bye>(message)) {
    const auto bye = Read<message::Bye>(message);
    end_ = bye.reason.empty() ? "the robot has left" : Printable(bye.reason, kLongestReason);
  } else if (Is<message::Probe>(message)) {
    AnswerProbe(channel_, Read<message::Probe>(message));
  } else if (!is_greeted_) {
    if (!Is<message::Hello>(message)) throw InputError("the robot has not said hello");
    TakeHello(Read<message::Hello>(message));
  } else if (Is<message::ModelPiece>(message) && incoming_) {
    if (!incoming_->Take(Read<message::ModelPiece>(message))) return;
    incoming_.reset();
    arriving_ = {};
    store_.NoteBringer(key(), model_);
  } else if (Is<message::Settings>(message) && !incoming_) {
    if (split_ && split_->is_open()) return Hold(message);
    TakeSettings(Read<message::Settings>(message));
  } else if (Is<message::Profile>(message) && !incoming_) {
    TakeProfile(Read<message::Profile>(message));
  } else if (Is<message::Decided>(message) && split_) {
    const auto frame = Read<message::Decided>(message);
    if (split_->is_open() && frame.follows) return Hold(message);
    NoteDue(message);
    split_->Take(frame);
  } else if (Is<message::RemoteFrame>(message) && remote_) {
    NoteDue(message);
    remote_->Take(Read<message::RemoteFrame>(message));
  } else if (Is<message::Slice>(message) && split_) {
    NoteDue(message);
    split_->Take(Read<message::Slice>(message));
  } else if (Is<message::GiveUp>(message) && split_) {
    split_->Take(Read<message::GiveUp>(message));
  } else if (Is<message::GiveUp>(message) && remote_) {
    remote_->Take(Read<message::GiveUp>(message));
  } else {
    throw InputError(fmt::format("a message of kind {} was not expected", message.kind));
  }
}

// The message comes after all slices of the current frame.
void Session::Hold(const Message& message) {
  split_->ExpectNoMoreSlices();
  held_ = message;
  held_->arrived_at = clock_.Now();  // the wait was not for another robot
}

void Session::TakeHello(const message::Hello& hello) {
  const WireVersions& own = options_.speaks;
  const std::optional<uint32_t> wire = CommonWire(own, hello.speaks);
  if (!wire) {
    throw InputError(fmt::format(
        "the robot speaks version {} of the wire, and this server versions {} to {}: install a "
        "newer CacheInf on the {}",
        hello.speaks.newest, own.oldest, own.newest,
        hello.speaks.newest < own.oldest ? "robot" : "server"));
  }
  wire_ = *wire;
  robot_ = Printable(hello.robot);
  token_ = hello.token;
  model_ = hello.model;
  if (options_.on_greeting) options_.on_greeting(*this);
  const bool needs_model = !store_.Has(model_);
  if (needs_model) {
    if (options_.accounts != nullptr) {
      arriving_ = options_.accounts->ArrivingOf(key());
      arriving_.Take(model_.bytes);
      store_.MakeRoom(key(), model_, options_.accounts->quotas().disk_bytes);
    }
    incoming_.emplace(store_, model_, key(), /*resumes=*/wire_ > kWireWithoutLikeness);
  }
  is_greeted_ = true;
  said_alive_at_ = clock_.Now();
  const uint64_t has_bytes = incoming_ ? incoming_->taken() : 0;
  Say(channel_, message::Welcome{needs_model, store_.arithmetic(), wire_, has_bytes});
}

// To be called on another thread, which may outlive this.
std::function<Session::Prepared(const message::Settings& settings)> Session::Preparation() const {
  return [&store = store_, accounts = options_.accounts, robot = options_.robot, model = model_,
          talk = talk_](const message::Settings& settings) {
    Prepared prepared;
    if (accounts != nullptr) prepared.memory = accounts->MemoryOf(robot.key);
    prepared.memory.Take(2 * model.bytes);  // in the file's order and in the kernels'
    prepared.model = store.Get(model, settings, talk->stops, robot.is_trusted);
    const Graph& graph = prepared.model->graph();
    // A state that keeps everything, and as much again for one that moves or keeps nothing.
    const size_t state_bytes = sizeof(float) * MakeLayout(graph, {}, Keep::kAll).arena_floats;
    prepared.memory.Take(2 * state_bytes);
    ::operator delete(::operator new(state_bytes));  // fails now rather than when a frame needs it
    return prepared;
  };
}

void Session::TakeSettings(const message::Settings& settings) {
  const bool prepares = !split_ || NeedsNewState(*settings_, settings);
  settings_ = settings;
  if (!prepares) {
    split_->Use(settings);
    return SayReady();
  }
  split_.reset();
  remote_.reset();
  memory_ = {};
  preparing_ =
      slow_work_.Begin<Prepared>([prepare = Preparation(), settings] { return prepare(settings); });
}

void Session::SayReady() {
  message::Ready ready{settings_->version};
  if (split_ && wire_ > kWireWithoutLikeness) ready.likeness = split_->likeness();
  Say(channel_, ready);
}

bool Session::FinishPreparing() {
  const bool is_done = preparing_.valid() &&
                       preparing_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  if (!is_done) return false;
  // On this thread, since other sessions' states of this model run here.
  auto [model, memory] = preparing_.get();
  memory_ = std::move(memory);
  if (settings_->mode == message::Settings::Mode::kSplit) {
    split_ = std::make_unique<SplitServer>(std::move(model), *settings_, channel_, clock_);
  } else {
    remote_ = std::make_unique<RemoteServer>(std::move(model), *settings_, channel_, clock_,
                                             options_.on_picture);
  }
  SayReady();
  return true;
}

void Session::TakeProfile(message::Profile profile) {
  if (!options_.solve) return;
  if (solving_.valid()) {
    next_profile_ = std::move(profile);
    return;
  }
  solving_ = slow_work_.Begin<std::string>([prepare = Preparation(), solve = options_.solve,
                                            profile = std::move(profile), talk = talk_] {
    std::string text;
    if (const char* const fault = DecompressText(profile.profile, kMostProfileBytes, &text)) {
      throw InputError(fault);
    }
    const auto send_rough = [&](const std::string& schedule) {
      const std::lock_guard lock(talk->mutex);
      talk->rough = schedule;
    };
    const Prepared prepared = prepare(profile.settings);
    return solve(prepared.model, profile.settings, text, send_rough, talk->stops);
  });
}

bool Session::SendRough() {
  const std::lock_guard lock(talk_->mutex);
  if (talk_->rough.empty()) return false;
  Say(channel_,
      message::Schedule{CompressText(std::exchange(talk_->rough, "")), /*is_rough=*/true});
  return true;
}

bool Session::FinishSolving() {
  const bool is_done =
      solving_.valid() && solving_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  if (!is_done) return false;
  try {
    Say(channel_, message::Schedule{CompressText(solving_.get()), /*is_rough=*/false});
  } catch (const ModelRefusal&) {
    throw;  // no frame of it will be served either
  } catch (const std::exception& error) {
    LogWarning(fmt::format("robot \"{}\" gets no schedule: {}", robot_, SentenceOf(error)));
  }
  if (next_profile_) TakeProfile(*std::exchange(next_profile_, std::nullopt));
  return true;
}

void Session::Leave(const std::string& reason) {
  Say(channel_, message::Bye{reason});
  if (end_.empty()) end_ = reason;
  talk_->stops = true;
}

void Session::Evict(const std::string& reason) {
  Leave(reason);
  incoming_.reset();
  arriving_ = {};
  preparing_ = {};
  split_.reset();
  remote_.reset();
  memory_ = {};
}

bool Session::IsOfSameRobot(const Session& other) const {
  return token_ != 0 && token_ == other.token_ && key() == other.key();
}

std::string Session::end() const { return end_.empty() ? channel_.fault() : end_; }

}  // namespace cacheinf
