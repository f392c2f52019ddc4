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
};

struct ChannelOptions {
  std::chrono::nanoseconds heartbeat = std::chrono::milliseconds(250);
  std::chrono::nanoseconds patience = std::chrono::milliseconds(1500);  // with a silent peer
  uint64_t largest_message = uint64_t{64} << 20;                        // that may be received
  uint64_t most_waiting = uint64_t{256} << 20;  // bytes received but not taken
};

struct ChannelStatistics {
  struct Traffic {
    uint64_t payload = 0;  // bytes of messages
    uint64_t wire = 0;     // of all packets
  };
  Traffic sent;
  Traffic received;
  uint64_t acknowledged = 0;  // of the bytes on the wire; chunks only, as the two below
  uint64_t unacknowledged = 0;
  uint64_t credit = 0;            // the most that may be unacknowledged now
  uint64_t waiting_to_leave = 0;  // payload that was not handed to the link yet

  // Of what leaves here, as acknowledged bytes showed; the age is the time since the last
  // measurement.
  struct Bandwidth {
    double bits_per_second = 0;
    std::chrono::nanoseconds age{};
  };
  struct RoundTrip {
    std::chrono::nanoseconds time{};
    std::chrono::nanoseconds age{};
  };
  std::optional<Bandwidth> bandwidth;
  std::optional<Bandwidth> bandwidth_back;  // of what arrives here, as the peer said
  std::optional<RoundTrip> round_trip;
};

// Carries messages over a link, whole, in order and unharmed, or breaks: a lost, damaged or
// disordered packet, a silent peer or the link's own end break it for good, with one sentence in
// fault(). What stands above reconnects with a new channel. Messages that are complete by then can
// still be received; the others are gone.
//
// Messages leave in the order in which they are sent, one after the other, in chunks that the
// receiver acknowledges. Of chunks no more than max(64 KiB, bandwidth × 50 ms) are unacknowledged
// at any time, so little is under way that cannot be recalled.
//
// All functions but Pump may be called from any thread. The link is touched by Pump only.
class Channel {
 public:
  using Time = std::chrono::nanoseconds;

  // REQUIRES: the clock outlives the channel.
  Channel(std::unique_ptr<Link> link, const Clock& clock, const ChannelOptions& options = {});
  ~Channel();  // messages that have not left are dropped
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Starts a thread that pumps. Without it the owner calls Pump, as a test with a manual clock
  // does.
  void StartPumping();

  // Moves what can be moved, both ways; whether anything was. REQUIRES: StartPumping was not
  // called.
  bool Pump();

  // Queues a message and returns at once. False: the channel is broken.
  bool Send(Message message);

  // No further chunk of this frame's messages leaves. The peer never sees a message of which some
  // chunks are missing then. Whether there is any.
  bool GiveUp(int64_t frame);

  // The next message that is complete; nothing if none is.
  std::optional<Message> Receive();

  // Waits until one is; false: not by then, or never because the channel is broken. REQUIRES: a
  // thread pumps, and the clock is steady.
  bool WaitForMessage(Time deadline);

  // While packets are expected they are looked for every 100 µs; else only while something is under
  // way (every ms, where much is and nobody waits for a message), and when that was long ago, every
  // few ms: a packet then waits 2 % of the silence before it, but never more than 20 ms.
  void Expect(bool is_expecting);

  // Empty while the channel is whole.
  std::string fault() const;

  // Whether all that was sent has been acknowledged.
  bool IsFlushed() const;

  // Waits until it is, or the channel is broken, or until then. REQUIRES: as WaitForMessage.
  void Flush(Time deadline) const;

  ChannelStatistics statistics() const;

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

  mutable std::mutex mutex_;          // of all below
  std::condition_variable has_news_;  // for those who wait for messages
  std::condition_variable wake_;      // for the thread that pumps
  std::string fault_;
  bool is_stopping_ = false;
  bool is_expecting_ = false;
  int waiting_ = 0;              // for messages
  Time active_at_{};             // when a chunk or a ping moved last
  std::vector<uint8_t> packet_;  // the one in hand
  ChannelStatistics::Traffic sent_;
  ChannelStatistics::Traffic received_;
  LinkEstimate estimate_;

  // Sending.
  std::deque<Message> outbox_;
  uint64_t offset_ = 0;  // what has left of the first message there
  uint64_t waiting_to_leave_ = 0;
  std::optional<Abandonment> abandonment_;  // goes before the next chunk
  uint64_t next_number_ = 0;
  bool has_to_wait_ = false;  // the next chunk, for credit or room
  Time sent_at_{};

  // Receiving.
  std::deque<Message> inbox_;
  uint64_t inbox_bytes_ = 0;
  std::optional<Message> incoming_;  // not complete
  uint64_t incoming_size_ = 0;
  uint64_t next_expected_ = 0;
  Time heard_at_{};
  Time late_by_{};  // the packet in hand may have lain there unnoticed for so long
  Time found_none_at_{};
  bool owes_report_ = false;
  uint64_t arrived_bytes_ = 0;
  Time arrived_at_{};
  Time arrived_late_by_{};
  uint64_t bytes_per_second_back_ = 0;  // as the peer said; 0: it does not know
  Time measured_back_at_{};
  int64_t ping_ = kNoTime;  // to be answered
  Time pinged_late_by_{};

  std::thread pump_;  // the last member: it uses all others
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_CHANNEL_H_
