#ifndef CACHEINF_COMMON_LINK_CHANNEL_H_
#define CACHEINF_COMMON_LINK_CHANNEL_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/base/clock.h"
#include "common/link/link.h"
#include "common/link/link_estimate.h"
#include "common/link/packet.h"

namespace cacheinf {

struct Message {
  uint8_t kind = 0;  // what the bytes are; means nothing to the channel
  int64_t frame = 0;
  std::vector<uint8_t> bytes;
  std::chrono::nanoseconds arrived_at{};  // set by the receiving channel
};

struct ChannelOptions {
  std::chrono::nanoseconds heartbeat = std::chrono::milliseconds(250);
  std::chrono::nanoseconds patience = std::chrono::milliseconds(1500);  // with a silent peer
  uint64_t largest_message = uint64_t{64} << 20;  // limit for a received message
  uint64_t most_waiting = uint64_t{256} << 20;    // bytes received but not taken
};

struct ChannelStatistics {
  struct Traffic {
    uint64_t payload = 0;  // bytes of messages
    uint64_t wire = 0;     // bytes of all packets
  };
  Traffic sent;
  Traffic received;
  uint64_t acknowledged = 0;  // bytes of packets with chunks, as the two below
  uint64_t unacknowledged = 0;
  uint64_t credit = 0;                 // the most that may be unacknowledged now
  uint64_t waiting_to_leave = 0;       // payload not yet handed to the link
  std::chrono::nanoseconds silence{};  // of the peer, not counting pauses of this process

  // Bandwidth for what leaves here, measured by acknowledged bytes; `age` is the time since the
  // last measurement.
  struct Bandwidth {
    double bits_per_second = 0;
    std::chrono::nanoseconds age{};
    BandwidthBasis basis = BandwidthBasis::kMeasured;

    bool is_guess() const { return basis == BandwidthBasis::kTooLittle; }
  };
  struct RoundTrip {
    std::chrono::nanoseconds time{};
    std::chrono::nanoseconds age{};
  };
  std::optional<Bandwidth> bandwidth;
  std::optional<Bandwidth> bandwidth_back;  // of what arrives here, as the peer reports
  std::optional<RoundTrip> round_trip;
};

// Returns "20.1 Mbit/s", "at least 20.1 Mbit/s", or "not measured yet" for nothing or a guess.
std::string ToText(const std::optional<ChannelStatistics::Bandwidth>& bandwidth);

// Carries messages over a link, whole, in order and unharmed, or breaks. A lost, damaged or
// disordered packet, a silent peer or the end of the link break it for good; fault() then says why
// in one sentence. A pause of this process (a machine that sleeps) does not count as the peer's
// silence. Complete messages can still be received; others are lost. The owner reconnects with a
// new channel.
//
// Messages leave in the order in which they are sent, in chunks that the receiver acknowledges. At
// most max(64 KiB, bandwidth × 50 ms) of chunks are unacknowledged at any time, so that little that
// cannot be recalled is under way; on a narrow link no more than takes 50 ms, or a chunk of 1 KiB.
// So signs of life pass at any time.
//
// Any thread may call any function but Pump. Only Pump touches the link.
class Channel {
 public:
  using Time = std::chrono::nanoseconds;

  // REQUIRES: the clock outlives the channel.
  Channel(std::unique_ptr<Link> link, const Clock& clock, const ChannelOptions& options = {});
  ~Channel();  // drops messages that have not left
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Starts a thread that pumps. Otherwise the owner calls Pump, as a test with a manual clock does.
  void StartPumping();

  // Moves what can be moved, both ways. Returns whether anything moved. REQUIRES: StartPumping was
  // not called.
  bool Pump();

  // Queues a message and returns at once. Returns false if the channel is broken.
  bool Send(Message message);

  // Withdraws this frame's messages: no further chunk of them leaves, and the peer never sees one
  // in part. Returns whether any had not left in full.
  bool GiveUp(int64_t frame);

  // Returns the next complete message, or nothing.
  std::optional<Message> Receive();

  // Waits for a complete message. Returns false if none came by `deadline` or the channel is
  // broken. Without a thread that pumps it does not wait. REQUIRES: a thread's clock is steady.
  bool WaitForMessage(Time deadline);

  // Sets whether packets are expected. The channel looks for them every 100 µs while they are
  // expected or under way, but every ms while chunks wait and nobody waits for a message. In
  // silence the interval grows to 2 % of the silence, after a ping to 10 %, at most 20 ms.
  void Expect(bool is_expecting);

  // Empty while the channel is whole.
  std::string fault() const;

  // Whether everything sent has been acknowledged.
  bool IsFlushed() const;

  // Waits until flushed, broken or `deadline`. The conditions of WaitForMessage hold.
  void Flush(Time deadline) const;

  ChannelStatistics statistics() const;

  // How long the peer has owed a message: the time since it acknowledged one that was sent after
  // its last message arrived. Does not count pauses of this process.
  Time WithoutAnswer() const;

 private:
  void PumpUntilStopped();
  bool PumpLocked();
  Time PollInterval() const;

  bool ReceivePacket();
  const char* Take(const Chunk& chunk);
  const char* Take(const Report& report);
  const char* Take(const Abandonment& abandonment);

  bool SendPackets();
  bool SendReport(Time now);
  bool SendChunk();
  size_t ChunkSize(size_t left) const;
  bool SendPacket(PacketBody body);

  bool IsQuiet() const;
  void Break(std::string why);

  const std::unique_ptr<Link> link_;
  const Clock& clock_;
  const ChannelOptions options_;

  mutable std::mutex mutex_;          // guards everything below
  std::condition_variable has_news_;  // wakes those who wait for messages
  std::condition_variable wake_;      // wakes the thread that pumps
  std::string fault_;
  bool is_stopping_ = false;
  bool is_expecting_ = false;
  int waiting_ = 0;              // threads waiting for messages
  Time active_at_{};             // when a chunk last moved
  Time pinged_at_{};             // when a ping did
  std::vector<uint8_t> packet_;  // the current one
  ChannelStatistics::Traffic sent_;
  ChannelStatistics::Traffic received_;
  LinkEstimate estimate_;

  // Sending.
  std::deque<Message> outbox_;
  uint64_t offset_ = 0;  // bytes of the first message that have left
  uint64_t waiting_to_leave_ = 0;
  std::optional<Abandonment> abandonment_;  // to send before the next chunk
  uint64_t next_number_ = 0;
  bool has_to_wait_ = false;  // the outbox waits for credit or room, or has waited
  Time sent_at_{};
  std::optional<uint64_t> question_end_;  // acknowledged bytes after which a reply is due

  // Receiving.
  std::deque<Message> inbox_;
  uint64_t inbox_bytes_ = 0;
  std::optional<Message> incoming_;  // incomplete
  uint64_t incoming_size_ = 0;
  uint64_t next_expected_ = 0;
  Time heard_at_{};
  Time silence_{};  // since then, not counting pauses in which nobody looked
  Time without_reply_{};
  Time late_by_{};  // how long the current packet may have lain unnoticed
  Time found_none_at_{};
  bool owes_report_ = false;
  uint64_t arrived_bytes_ = 0;
  Time arrived_at_{};
  Time arrived_late_by_{};
  uint64_t bytes_per_second_back_ = 0;  // as the peer reports; 0: unknown
  Time measured_back_at_{};
  BandwidthBasis basis_back_ = BandwidthBasis::kTooLittle;
  int64_t ping_ = kNoTime;  // to be answered
  Time pinged_late_by_{};

  std::thread pump_;  // last member: it uses all others
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_CHANNEL_H_
