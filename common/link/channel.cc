#include "common/link/channel.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <span>
#include <utility>
#include <variant>

#include "common/base/failure.h"

namespace cacheinf {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// An empty message takes memory too.
constexpr uint64_t kMessageOverhead = 64;

// Packets moved at once, few enough that neither direction waits for the other.
constexpr int kMostPackets = 32;

constexpr std::chrono::nanoseconds kBusyPoll = microseconds(100);
constexpr std::chrono::nanoseconds kPatientPoll = milliseconds(1);
constexpr std::chrono::nanoseconds kIdlePoll = milliseconds(20);
constexpr int kPollsPerSilence = 50;
constexpr int kPollsPerSilenceOfPings = 10;

constexpr milliseconds kBandwidthInterval(200);
// If a side looks for packets less often than this, it was not listening: the process or the whole
// machine stood still, and perhaps a peer on the same machine with it.
constexpr std::chrono::nanoseconds kLongestListened = milliseconds(100);
constexpr size_t kLeastSplit = 2048;
// Packets that a channel finds when it begins may have lain there for long.
constexpr std::chrono::hours kBeforeAnyChannel(1);

}  // namespace

std::string ToText(const std::optional<ChannelStatistics::Bandwidth>& bandwidth) {
  if (!bandwidth || bandwidth->is_guess()) return "not measured yet";
  return fmt::format("{}{:.1f} Mbit/s",
                     bandwidth->basis == BandwidthBasis::kAtLeast ? "at least " : "",
                     bandwidth->bits_per_second / 1e6);
}

Channel::Channel(std::unique_ptr<Link> link, const Clock& clock, const ChannelOptions& options)
    : link_(std::move(link)),
      clock_(clock),
      options_(options),
      active_at_(clock.Now()),
      estimate_(active_at_),
      sent_at_(active_at_),
      heard_at_(active_at_),
      found_none_at_(active_at_ - kBeforeAnyChannel) {}

Channel::~Channel() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  if (pump_.joinable()) pump_.join();
}

void Channel::StartPumping() {
  pump_ = std::thread([this] { PumpUntilStopped(); });
}

bool Channel::Pump() {
  const std::lock_guard lock(mutex_);
  return PumpLocked();
}

bool Channel::Send(Message message) {
  {
    const std::lock_guard lock(mutex_);
    if (!fault_.empty()) return false;
    waiting_to_leave_ += message.bytes.size();
    outbox_.push_back(std::move(message));
  }
  wake_.notify_all();
  return true;
}

bool Channel::GiveUp(int64_t frame) {
  size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    if (offset_ > 0 && outbox_.front().frame == frame) {
      abandonment_ = Abandonment{frame};
      waiting_to_leave_ += std::exchange(offset_, 0);
    }
    const auto given_up = [&](const Message& message) {
      if (message.frame != frame) return false;
      waiting_to_leave_ -= message.bytes.size();
      return true;
    };
    count = std::erase_if(outbox_, given_up);
  }
  wake_.notify_all();
  return count > 0;
}

std::optional<Message> Channel::Receive() {
  const std::lock_guard lock(mutex_);
  if (inbox_.empty()) return std::nullopt;
  Message message = std::move(inbox_.front());
  inbox_.pop_front();
  inbox_bytes_ -= message.bytes.size() + kMessageOverhead;
  return message;
}

bool Channel::WaitForMessage(Time deadline) {
  std::unique_lock lock(mutex_);
  while (inbox_.empty() && fault_.empty() && pump_.joinable()) {
    const Time left = deadline - clock_.Now();
    if (left <= Time(0)) return false;
    if (++waiting_ == 1 && has_to_wait_) wake_.notify_all();
    has_news_.wait_for(lock, left);
    --waiting_;
  }
  return !inbox_.empty();
}

void Channel::Expect(bool is_expecting) {
  {
    const std::lock_guard lock(mutex_);
    is_expecting_ = is_expecting;
  }
  wake_.notify_all();
}

std::string Channel::fault() const {
  const std::lock_guard lock(mutex_);
  return fault_;
}

bool Channel::IsFlushed() const {
  const std::lock_guard lock(mutex_);
  return IsQuiet();
}

void Channel::Flush(Time deadline) const {
  while (pump_.joinable() && !IsFlushed() && fault().empty() && clock_.Now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

ChannelStatistics Channel::statistics() const {
  const std::lock_guard lock(mutex_);
  const Time now = clock_.Now();
  ChannelStatistics statistics;
  statistics.sent = sent_;
  statistics.received = received_;
  statistics.acknowledged = estimate_.acknowledged();
  statistics.unacknowledged = estimate_.unacknowledged();
  statistics.credit = estimate_.Credit(found_none_at_);
  statistics.waiting_to_leave = waiting_to_leave_;
  statistics.silence = silence_;
  if (const std::optional<double> bandwidth = estimate_.bandwidth(found_none_at_)) {
    statistics.bandwidth = {*bandwidth * 8, now - estimate_.bandwidth_at(found_none_at_),
                            estimate_.basis(found_none_at_)};
  }
  if (bytes_per_second_back_ > 0) {
    statistics.bandwidth_back = {static_cast<double>(bytes_per_second_back_) * 8,
                                 now - measured_back_at_, basis_back_};
  }
  if (const std::optional<Time> round_trip = estimate_.round_trip()) {
    statistics.round_trip = {*round_trip, now - estimate_.round_trip_at()};
  }
  return statistics;
}

Channel::Time Channel::WithoutAnswer() const {
  const std::lock_guard lock(mutex_);
  return without_reply_;
}

void Channel::PumpUntilStopped() {
  std::unique_lock lock(mutex_);
  while (!is_stopping_ && fault_.empty()) {
    bool has_moved = false;
    try {
      has_moved = PumpLocked();
    } catch (const std::exception& error) {  // of memory
      Break(SentenceOf(error));
    }
    const Time interval = has_moved ? Time(0) : PollInterval();
    if (interval > 2 * kBusyPoll) {
      link_->Rest(interval);
      wake_.wait_for(lock, interval);
      continue;
    }
    lock.unlock();
    if (has_moved) {
      std::this_thread::yield();
    } else {
      link_->Wait(interval);
    }
    lock.lock();
  }
}

Channel::Time Channel::PollInterval() const {
  if (is_expecting_ || incoming_) return kBusyPoll;
  if (!IsQuiet()) return has_to_wait_ && waiting_ == 0 ? kPatientPoll : kBusyPoll;
  const Time now = clock_.Now();
  const Time interval =
      std::min((now - active_at_) / kPollsPerSilence, (now - pinged_at_) / kPollsPerSilenceOfPings);
  return std::clamp(interval, kBusyPoll, kIdlePoll);
}

bool Channel::PumpLocked() {
  if (!fault_.empty()) return false;
  std::string end = link_->fault();
  int count = 0;
  while (fault_.empty() && count < kMostPackets && ReceivePacket()) ++count;
  if (fault_.empty() && count < kMostPackets) {
    if (!end.empty()) {
      Break(std::move(end));
    } else if (silence_ > options_.patience) {
      Break("nothing was heard from the peer for " +
            std::to_string(static_cast<int64_t>(Milliseconds(options_.patience))) + " ms");
    }
  }
  if (!fault_.empty()) return true;
  return SendPackets() || count > 0;
}

bool Channel::ReceivePacket() {
  const Time before = clock_.Now();
  if (!link_->Receive(&packet_)) {
    const Time listened = std::min(before - std::max(found_none_at_, heard_at_), kLongestListened);
    silence_ += listened;
    if (question_end_ && estimate_.acknowledged() >= *question_end_) without_reply_ += listened;
    found_none_at_ = before;
    return false;
  }
  received_.wire += packet_.size();
  Packet packet;
  const char* wrong = ReadPacket(packet_, &packet);
  if (wrong == nullptr && packet.number > next_expected_) wrong = "a packet from the peer was lost";
  if (wrong == nullptr && packet.number == next_expected_) {
    ++next_expected_;
    heard_at_ = clock_.Now();
    silence_ = Time(0);
    late_by_ = heard_at_ - found_none_at_;
    wrong = std::visit([&](const auto& body) { return Take(body); }, packet.body);
  }
  if (wrong != nullptr) Break(wrong);
  return true;
}

const char* Channel::Take(const Chunk& chunk) {
  if (!incoming_) {
    if (chunk.offset != 0) return "the peer sent the middle of a message without its beginning";
    if (chunk.message_bytes > options_.largest_message)
      return "the peer announced too large a message";
    incoming_ = Message{chunk.kind, chunk.frame, {}};
    incoming_size_ = chunk.message_bytes;
  }
  std::vector<uint8_t>& bytes = incoming_->bytes;
  if (chunk.kind != incoming_->kind || chunk.frame != incoming_->frame ||
      chunk.message_bytes != incoming_size_ || chunk.offset != bytes.size()) {
    return "the peer sent a chunk that does not go on where the last one ended";
  }
  bytes.insert(bytes.end(), chunk.bytes.begin(), chunk.bytes.end());
  received_.payload += chunk.bytes.size();
  arrived_bytes_ += packet_.size();
  arrived_at_ = heard_at_;
  arrived_late_by_ = late_by_;
  active_at_ = heard_at_;
  question_end_.reset();
  without_reply_ = Time(0);
  owes_report_ = true;
  if (inbox_bytes_ + bytes.size() + kMessageOverhead > options_.most_waiting) {
    return "the peer sent more than was taken";
  }
  if (bytes.size() == incoming_size_) {
    inbox_bytes_ += bytes.size() + kMessageOverhead;
    incoming_->arrived_at = heard_at_;
    inbox_.push_back(*std::exchange(incoming_, std::nullopt));
    has_news_.notify_all();
  }
  return nullptr;
}

const char* Channel::Take(const Abandonment& abandonment) {
  if (!incoming_ || incoming_->frame != abandonment.frame) {
    return "the peer gave up a message that it had not begun";
  }
  incoming_.reset();
  return nullptr;
}

const char* Channel::Take(const Report& report) {
  if (report.ping != kNoTime) {
    ping_ = report.ping;
    pinged_late_by_ = late_by_;
  }
  if (report.ping != kNoTime || report.pong != kNoTime) pinged_at_ = heard_at_;
  if (report.arrived_bytes != estimate_.acknowledged()) active_at_ = heard_at_;
  bytes_per_second_back_ = report.bytes_per_second;
  basis_back_ = static_cast<BandwidthBasis>(report.basis);
  measured_back_at_ = heard_at_ - Time(report.measured_ago);
  return estimate_.Take(report, heard_at_, late_by_);
}

bool Channel::SendPackets() {
  const Time now = clock_.Now();
  bool has_moved = false;
  if (owes_report_ || ping_ != kNoTime || estimate_.IsPingDue(now) ||
      now - sent_at_ >= options_.heartbeat) {
    if (!SendReport(now)) return false;
    has_moved = true;
  }
  if (abandonment_) {
    if (!SendPacket(*abandonment_)) return has_moved;
    abandonment_.reset();
    has_moved = true;
  }
  for (int count = 0; count < kMostPackets && SendChunk(); ++count) has_moved = true;
  return has_moved;
}

bool Channel::SendReport(Time now) {
  const bool is_ping_due = estimate_.IsPingDue(now);
  Report report;
  report.arrived_bytes = arrived_bytes_;
  report.arrived_at = arrived_at_.count();
  report.arrived_late_by = arrived_late_by_.count();
  report.sent_at = now.count();
  if (is_ping_due) report.ping = now.count();
  report.pong = ping_;
  report.pinged_late_by = pinged_late_by_.count();
  report.is_quiet = estimate_.unacknowledged() == 0 ? 1 : 0;
  if (const std::optional<double> bandwidth = estimate_.bandwidth(found_none_at_)) {
    report.bytes_per_second = static_cast<uint64_t>(*bandwidth);
    report.measured_ago = (now - estimate_.bandwidth_at(found_none_at_)).count();
    report.basis = static_cast<uint8_t>(estimate_.basis(found_none_at_));
  }
  if (!SendPacket(report)) return false;
  owes_report_ = false;
  ping_ = kNoTime;
  if (is_ping_due) {
    estimate_.Pinged(now);
    pinged_at_ = now;
  }
  return true;
}

bool Channel::SendChunk() {
  if (outbox_.empty()) return false;
  const Message& message = outbox_.front();
  std::span<const uint8_t> bytes = std::span(message.bytes).subspan(offset_);
  bytes = bytes.first(ChunkSize(bytes.size()));
  const uint64_t after = estimate_.unacknowledged() + kChunkOverhead + bytes.size();
  if (after > estimate_.Credit(found_none_at_) ||
      !SendPacket(Chunk{message.kind, message.frame, message.bytes.size(), offset_, bytes})) {
    has_to_wait_ = true;
    return false;
  }
  estimate_.Sent(kChunkOverhead + bytes.size(), has_to_wait_, sent_at_);
  active_at_ = sent_at_;
  sent_.payload += bytes.size();
  waiting_to_leave_ -= bytes.size();
  offset_ += bytes.size();
  if (offset_ == message.bytes.size()) {
    outbox_.pop_front();
    offset_ = 0;
    if (!question_end_) question_end_ = estimate_.acknowledged() + estimate_.unacknowledged();
    if (outbox_.empty()) has_to_wait_ = false;
  }
  return true;
}

// Splits into chunks of equal size. Now and then splits a small message in two, because the second
// chunk shows how fast the link is.
size_t Channel::ChunkSize(size_t left) const {
  const size_t largest = estimate_.LargestPacket(found_none_at_) - kChunkOverhead;
  size_t count = (left + largest - 1) / largest;
  const bool is_old = !estimate_.bandwidth(found_none_at_) ||
                      clock_.Now() - estimate_.bandwidth_at(found_none_at_) > kBandwidthInterval;
  if (offset_ == 0 && count == 1 && left >= kLeastSplit && is_old) count = 2;
  return count == 0 ? 0 : (left + count - 1) / count;
}

bool Channel::SendPacket(PacketBody body) {
  WritePacket({next_number_, body}, &packet_);
  const Time now = clock_.Now();
  if (!link_->Send(packet_)) return false;
  ++next_number_;
  sent_.wire += packet_.size();
  sent_at_ = now;
  return true;
}

bool Channel::IsQuiet() const {
  return outbox_.empty() && !abandonment_ && estimate_.unacknowledged() == 0;
}

void Channel::Break(std::string why) {
  fault_ = std::move(why);
  outbox_.clear();
  offset_ = 0;
  waiting_to_leave_ = 0;
  incoming_.reset();
  has_news_.notify_all();
}

}  // namespace cacheinf
