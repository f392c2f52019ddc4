#include "common/pair/server_connection.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/printable.h"
#include "common/codec/compressed_text.h"
#include "common/model/graph/pack.h"
#include "common/pair/say.h"
#include "common/plan/exactness.h"

namespace cacheinf {
namespace {

// How much of it is lost if a narrow link breaks.
constexpr size_t kPieceBytes = size_t{32} << 10;
// At most so much is queued at once, or the whole model would be in memory twice.
constexpr uint64_t kMostWaitingBytes = uint64_t{8} << 20;
constexpr uint32_t kMostProbeBytes = 256 << 10;
constexpr uint32_t kLeastProbeBytes = 2 << 10;
constexpr double kLongestProbeSeconds = .2;
constexpr std::chrono::seconds kLinkKnown(5);
constexpr std::chrono::seconds kProbeAgain(1);
// A server that speaks only version 8 of the wire says this to a greeting that begins with an
// unknown version.
constexpr char kOlderServer[] = "a message of kind 'hello' is invalid: the protocol is another one";

}  // namespace

MappedFile PackForServers(const Graph& graph) {
  static std::atomic<int> count = 0;
  std::error_code error;
  const std::filesystem::path path = std::filesystem::temp_directory_path(error) /
                                     fmt::format("cacheinf-{}-{}.model", getpid(), count++);
  try {
    WritePack(graph, path);
    MappedFile file = MapFile(path);
    std::filesystem::remove(path, error);
    return file;
  } catch (const InputError& refusal) {
    LogWarning(fmt::format("{}; the model for the server stays in memory", refusal.what()));
    return PackInMemory(graph);
  }
}

ServerConnection::ServerConnection(Channel& channel, message::Hello greeting, MappedFile model)
    : channel_(channel), model_(std::move(model)), speaks_(greeting.speaks) {
  greeting.model = {PackChecksum({model_.data.get(), model_.size}), model_.size};
  Say(channel_, std::move(greeting));
}

std::optional<Message> ServerConnection::Receive() {
  if (!fault_.empty()) return std::nullopt;
  while (std::optional<Message> message = channel_.Receive()) {
    if (Is<message::Slice>(*message) || Is<message::Done>(*message) ||
        Is<message::FrameRefusal>(*message)) {
      // Until the server is ready, these belong to a state that it has given up.
      if (step_ != Step::kReady) continue;
      return message;
    }
    Take(*message);
    if (!fault_.empty()) return std::nullopt;
    AskAgain();
  }
  NoteHang();
  if (step_ == Step::kGivesModel) GiveModel();
  return std::nullopt;
}

void ServerConnection::NoteHang() {
  const bool says_it_lives = wire_ > kWireWithoutLikeness;
  if (!says_it_lives && step_ != Step::kGreeted) return;
  const Channel::Time most = says_it_lives ? Channel::Time(kHung) : Channel::Time(kPatience);
  if (channel_.WithoutAnswer() > most) {
    Leave(says_it_lives ? "the server is there, but computes nothing any more"
                        : "the server is there, but does not answer");
  }
}

// Asks for a sign of life while it waits for more.
void ServerConnection::AskAgain() {
  const bool waits = step_ == Step::kPrepares || waits_for_frame_;
  if (waits && wire_ > kWireWithoutLikeness) Say(channel_, message::Probe{});
}

void ServerConnection::Take(const Message& received) {
  std::string wrong;
  if (Is<message::Welcome>(received) && step_ == Step::kGreeted) {
    message::Welcome welcome;
    wrong = Decode(received.bytes, &welcome);
    if (wrong.empty()) wrong = Take(std::move(welcome));
  } else if (Is<message::Schedule>(received)) {
    message::Schedule schedule;
    wrong = Decode(received.bytes, &schedule);
    schedule_ = std::move(schedule);
  } else if (Is<message::Alive>(received)) {
    message::Alive alive;
    wrong = Decode(received.bytes, &alive);
  } else if (Is<message::Probe>(received)) {
    message::Probe probe;
    wrong = Decode(received.bytes, &probe);
  } else if (Is<message::Ready>(received)) {
    message::Ready ready;
    wrong = Decode(received.bytes, &ready);
    if (wrong.empty()) Take(ready);
  } else if (Is<message::Bye>(received)) {
    message::Bye bye;
    wrong = Decode(received.bytes, &bye);
    if (wrong.empty())
      fault_ = bye.reason.empty() ? "the server has left" : Printable(bye.reason, kLongestReason);
    must_speak_older_ = step_ == Step::kGreeted && speaks_.newest > kWireWithoutLikeness &&
                        speaks_.oldest <= kWireWithoutLikeness && fault_ == kOlderServer;
  } else {
    wrong = fmt::format("a message of kind {} was not expected", received.kind);
  }
  if (!wrong.empty()) Leave(wrong);
}

std::string ServerConnection::Take(message::Welcome welcome) {
  if (welcome.wire < speaks_.oldest || welcome.wire > speaks_.newest) {
    return fmt::format("the server goes on in version {} of the wire, which was not offered",
                       welcome.wire);
  }
  if (welcome.needs_model && welcome.has_bytes >= model_.size) {
    return "the server has got more of the model than there is, and wants it";
  }
  wire_ = welcome.wire;
  given_ = welcome.has_bytes;
  arithmetic_ = Printable(welcome.arithmetic);
  step_ = welcome.needs_model ? Step::kGivesModel : Step::kHasModel;
  if (step_ == Step::kHasModel) BeginWithModel();
  if (step_ == Step::kGivesModel) LogInfo(WhyNotReady());
  return "";
}

void ServerConnection::Take(const message::Ready& ready) {
  if (ready.settings != settings_.version || step_ < Step::kPrepares) return;
  if (own_ && wire_ > kWireWithoutLikeness) {
    why_no_rows_ = WhyUnlike(*own_, ready.likeness.value_or(Likeness()), settings_.policy);
  }
  if (settings_.mode == message::Settings::Mode::kSplit && !why_no_rows_.empty()) {
    LogWarning("no rows are shared with the server: " + why_no_rows_);
    step_ = Step::kHasModel;
    return;
  }
  step_ = Step::kReady;
  has_been_ready_ = true;
}

void ServerConnection::GiveModel() {
  while (given_ < model_.size && channel_.statistics().waiting_to_leave < kMostWaitingBytes) {
    const std::span all(reinterpret_cast<const uint8_t*>(model_.data.get()), model_.size);
    const auto piece = all.subspan(given_, std::min(kPieceBytes, all.size() - given_));
    Say(channel_, message::ModelPiece{given_, {piece.begin(), piece.end()}});
    given_ += piece.size();
  }
  if (given_ < model_.size || !channel_.IsFlushed()) return;
  step_ = Step::kHasModel;
  BeginWithModel();
}

std::string ServerConnection::WhyNotReady() const {
  if (step_ == Step::kGreeted) return "the server has not answered yet";
  if (step_ == Step::kPrepares) return "the server is still getting ready";
  if (step_ != Step::kGivesModel) return "";
  const bool is_small = model_.size < 1'000'000;
  const double unit = is_small ? 1e3 : 1e6;
  const uint64_t waiting = std::min(channel_.statistics().waiting_to_leave, given_);
  return fmt::format("the model is on its way to the server, {:.1f} of {:.1f} {} have left",
                     static_cast<double>(given_ - waiting) / unit,
                     static_cast<double>(model_.size) / unit, is_small ? "kB" : "MB");
}

void ServerConnection::BeginWithModel() {
  if (std::exchange(is_probe_due_, false)) ProbeLink();
  SendProfile();
  SendSettings();
}

void ServerConnection::ProbeLink() {
  is_probe_due_ = !has_model();
  if (is_probe_due_) return;
  Probe(kProbeBytes);
}

void ServerConnection::KeepLinkKnown(std::chrono::nanoseconds now) {
  if (!has_model() || now < probe_again_at_) return;
  const ChannelStatistics statistics = channel_.statistics();
  const bool is_known = statistics.bandwidth && statistics.bandwidth->age < kLinkKnown;
  const bool is_busy = statistics.waiting_to_leave + statistics.unacknowledged > 0;
  if (is_known) idle_probe_bytes_ = kProbeBytes;
  if (is_known || is_busy) return;
  Probe(idle_probe_bytes_);
  // If a link was too fast to be measured by so few bytes, it can take more.
  idle_probe_bytes_ = std::min(4 * idle_probe_bytes_, kMostProbeBytes);
  probe_again_at_ = now + kProbeAgain;
}

void ServerConnection::Probe(uint32_t bytes) {
  if (const auto bandwidth = channel_.statistics().bandwidth; bandwidth && !bandwidth->is_guess()) {
    const double most = bandwidth->bits_per_second / 8 * kLongestProbeSeconds;
    bytes = std::max(kLeastProbeBytes, static_cast<uint32_t>(std::min<double>(bytes, most)));
  }
  Say(channel_, message::Probe{bytes, std::vector<uint8_t>(bytes)});
}

void ServerConnection::AskForSchedule(message::Settings settings, const std::string& profile) {
  profile_ = {std::move(settings), CompressText(profile)};
  if (has_model()) SendProfile();
}

void ServerConnection::Use(message::Settings settings, std::optional<Likeness> own) {
  own_ = own;
  settings.version = settings_.version + 1;
  const bool prepares = !has_settings_ || NeedsNewState(settings_, settings);
  settings_ = std::move(settings);
  has_settings_ = true;
  if (step_ < Step::kHasModel) return;
  if (prepares) step_ = Step::kHasModel;
  SendSettings();
}

void ServerConnection::SendProfile() {
  if (profile_) Say(channel_, *std::exchange(profile_, std::nullopt));
}

void ServerConnection::SendSettings() {
  if (!has_settings_) return;
  Say(channel_, settings_);
  if (step_ == Step::kHasModel) step_ = Step::kPrepares;
}

std::string ServerConnection::WhyNoSharedRows(const Backend& own,
                                              const ChangePolicy& policy) const {
  if (policy.kind != ChangePolicy::Kind::kExact) return "";
  const std::string why_not =
      WhyNotExact({.kind = Plan::Kind::kSplit}, {.robot = own.Arithmetic(), .server = arithmetic_});
  if (why_not.empty()) return "";
  return "the policy exact does not share rows between two arithmetics, and " + why_not;
}

void ServerConnection::Leave(const std::string& reason) {
  Say(channel_, message::Bye{reason});
  if (fault_.empty()) fault_ = reason;
}

std::string ServerConnection::fault() const { return fault_.empty() ? channel_.fault() : fault_; }

}  // namespace cacheinf
