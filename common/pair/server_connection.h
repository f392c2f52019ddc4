#ifndef CACHEINF_COMMON_PAIR_SERVER_CONNECTION_H_
#define CACHEINF_COMMON_PAIR_SERVER_CONNECTION_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/backend/backend.h"
#include "common/base/file.h"
#include "common/exec/change_policy.h"
#include "common/link/channel.h"
#include "common/model/graph/graph.h"
#include "common/pair/messages.h"

namespace cacheinf {

// Returns the graph as a native model file (common/model/graph/pack.h): mapped or, if the temporary
// folder cannot hold it, in memory.
MappedFile PackForServers(const Graph& graph);

// The robot's end of what precedes frames (messages.h): greets a server, sends settings, and the
// model if the server lacks it, and knows when the server is ready. Never waits; makes progress in
// Receive.
class ServerConnection {
 public:
  // A server that takes longer for a frame, or to greet the robot, counts as lost.
  static constexpr std::chrono::seconds kPatience{10};
  // A server whose machine is alive, but which sends no message for so long while the robot waits,
  // counts as lost, too.
  static constexpr std::chrono::seconds kHung{2};

  // `greeting` says who the robot is and which versions of the wire it speaks; its model is set
  // here. The channel must outlive this.
  ServerConnection(Channel& channel, message::Hello greeting, MappedFile model);

  // Returns the next message about frames, or nothing. Call at least once per frame.
  std::optional<Message> Receive();

  // Applies to later frames; sets the version itself. If the frames need another state, the server
  // is not ready until it has prepared that. To share rows, give the likeness of what this side has
  // compiled: if the server's differs, the server is not ready for these settings, and why_no_rows
  // says why.
  void Use(message::Settings settings, std::optional<Likeness> own = {});
  const message::Settings& settings() const { return settings_; }

  // Sends a probe each way once the server has the model, to know the link before the first frame.
  void ProbeLink();

  // Probes the link again if it has been idle for a while, so that both sides know when it gets
  // better or worse. Call between frames.
  void KeepLinkKnown(std::chrono::nanoseconds now);

  // Sends a robot's profile (ToJsonText) once the server has the model, also to replace a worse one
  // that was sent before. The server measures its own under `settings`.
  void AskForSchedule(message::Settings settings, const std::string& profile);

  // Returns the server's last answer, and each only once; nothing if no new one has arrived.
  std::optional<message::Schedule> TakeSchedule() { return std::exchange(schedule_, std::nullopt); }

  bool has_model() const { return step_ >= Step::kHasModel && fault().empty(); }

  // What is still under way, in a sentence; empty if frames may be sent, or there are no settings.
  std::string WhyNotReady() const;

  // Whether frames of these settings may be sent.
  bool is_ready() const { return step_ == Step::kReady && fault().empty(); }

  // The server's Backend::Arithmetic; empty until it has welcomed the robot.
  const std::string& arithmetic() const { return arithmetic_; }

  // Returns why a robot with this backend cannot share rows with the server under a policy; empty
  // if it can, or the server has not yet welcomed it.
  std::string WhyNoSharedRows(const Backend& own, const ChangePolicy& policy) const;

  // Why this server and the robot share no rows, as far as trying has shown; the server still takes
  // pictures.
  const std::string& why_no_rows() const { return why_no_rows_; }

  // Whether the server speaks only an older version of the wire, and must be greeted in that.
  bool must_speak_older() const { return must_speak_older_; }

  // Whether the server ended the connection, or cannot be talked to, before it was ever ready.
  bool has_refused() const { return !fault_.empty() && !has_been_ready_; }

  // Whether the robot waits for an answer to a frame. A server that hangs is noticed during that,
  // while it gets ready, and otherwise once it is asked for something.
  void Await(bool waits) { waits_for_frame_ = waits; }

  // Ends the connection and tells the server why.
  void Leave(const std::string& reason);

  // Why the connection has ended; empty while it has not.
  std::string fault() const;

  Channel& channel() { return channel_; }

 private:
  // Takes a seventh of a second each way at 1 Mbit/s, in two chunks.
  static constexpr uint32_t kProbeBytes = 16 << 10;

  enum class Step : uint8_t { kGreeted, kGivesModel, kHasModel, kPrepares, kReady };

  void Take(const Message& received);
  std::string Take(message::Welcome welcome);
  void Take(const message::Ready& ready);
  void NoteHang();
  void AskAgain();
  void GiveModel();
  void BeginWithModel();
  void Probe(uint32_t bytes);
  void SendProfile();
  void SendSettings();

  Channel& channel_;
  MappedFile model_;
  uint64_t given_ = 0;  // bytes of the model
  Step step_ = Step::kGreeted;
  const WireVersions speaks_;
  uint32_t wire_ = 0;  // as agreed on; 0: not yet
  bool must_speak_older_ = false;
  std::string arithmetic_;       // the server's
  std::optional<Likeness> own_;  // of the settings
  std::string why_no_rows_;
  message::Settings settings_;
  bool has_settings_ = false;
  bool has_been_ready_ = false;
  bool waits_for_frame_ = false;
  bool is_probe_due_ = false;
  std::chrono::nanoseconds probe_again_at_{0};
  uint32_t idle_probe_bytes_ = kProbeBytes;
  std::optional<message::Profile> profile_;  // still to be sent
  std::optional<message::Schedule> schedule_;
  std::string fault_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_SERVER_CONNECTION_H_
