#ifndef CACHEINF_COMMON_PAIR_MESSAGES_H_
#define CACHEINF_COMMON_PAIR_MESSAGES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/frame_times.h"
#include "common/base/picture_view.h"
#include "common/base/words.h"
#include "common/exec/change_policy.h"
#include "common/exec/frame_decision.h"
#include "common/exec/layout.h"
#include "common/link/wire.h"
#include "common/model/graph/graph.h"
#include "common/pair/likeness.h"
#include "common/pair/shared_settings.h"
#include "common/plan/split.h"
#include "common/reuse/frame_work.h"

// What robot and server say to each other.
//
//   robot                         server
//   Hello ──────────────────────▶
//         ◀────────────────────── Welcome, or Bye with the reason
//   ModelPiece … ───────────────▶             if the server has not got the model
//   Profile ────────────────────▶             if it wants a schedule
//         ◀────────────────────── Schedule    once the server has measured itself and solved it
//   Settings ───────────────────▶             again whenever they change
//         ◀────────────────────── Ready       once it can take frames of these settings
//   Decided, Slice … ───────────▶             every decision in order, shared or not; in kRemote
//                                             RemoteFrame
//         ◀────────────────────── Slice …, Done, or FrameRefusal
//   GiveUp ─────────────────────▶
//   Bye ────────────────────────▶ or the other way round
//   Probe ──────────────────────▶             at any time, before Hello as well
//         ◀────────────────────── Probe       if the robot wants one
//         ◀────────────────────── Alive       within half a second of what came, and twice a second
//                                             while it prepares; from version 9 on
//
// On the wire a message is its fields in the order given here: numbers little-endian, lists and
// texts prefixed by their length (32 bits), masks as in sparse_ops/mask/wire.h. The channel carries
// the kind of message.

namespace cacheinf::message {

enum class Kind : uint8_t {
  kHello = 1,
  kWelcome,
  kModelPiece,
  kSettings,
  kReady,
  kDecided,
  kSlice,
  kDone,
  kGiveUp,
  kFrameRefusal,
  kBye,
  kProfile,
  kSchedule,
  kRemoteFrame,
  kProbe,
  kAlive,
};

// Identifies a model file's bytes.
struct Fingerprint {
  uint64_t checksum = 0;  // PackChecksum
  uint64_t bytes = 0;

  bool operator==(const Fingerprint&) const = default;
};

// Only grows at its end, so that every version can read its beginning. So do Welcome and Ready.
struct Hello {
  static constexpr Kind kKind = Kind::kHello;

  WireVersions speaks = kWire;  // if no version is common, nothing after it is read
  Fingerprint model = {};
  std::string robot = {};  // its name, for people: it proves nothing, and is no key
  // The same as long as the robot's process lives; 0: none. A robot that comes again with its token
  // ends what the server still holds of it.
  uint64_t token = 0;
};

struct Welcome {
  static constexpr Kind kKind = Kind::kWelcome;

  bool needs_model = false;
  std::string arithmetic = {};  // the server's Backend::Arithmetic
  uint32_t wire =
      kWire.newest;  // the version that both go on in; if 8, this and what follows is not written
  uint64_t has_bytes = 0;  // of the model, from an earlier connection
};

// A part of the model's native file (common/model/graph/pack.h). The first begins at the end of
// what the server already has, each later one where the last ended.
struct ModelPiece {
  static constexpr Kind kKind = Kind::kModelPiece;

  uint64_t offset = 0;
  std::vector<uint8_t> bytes = {};
};

// Everything that does not change from frame to frame.
struct Settings {
  static constexpr Kind kKind = Kind::kSettings;

  enum class Mode : uint8_t { kSplit, kRemote };

  int64_t version = 0;
  Mode mode = Mode::kSplit;
  std::vector<Scheme> schemes;  // one per operator; empty: direct
  bool takes_fastest = false;   // instead, the schemes that are fastest on the server
  // In kRemote the server's decisions depend on it.
  SharedSettings shared;

  // kSplit: the states of both sides, and who owns what.
  ChangePolicy policy;
  Keep keep = Keep::kAll;  // or kChosen
  std::vector<ValueId> kept;
  std::vector<Cut> cuts;
};

// Whether a server must prepare another state before it takes frames of `after`.
bool NeedsNewState(const Settings& before, const Settings& after);

// What the network costs on the robot. Asks for a schedule.
struct Profile {
  static constexpr Kind kKind = Kind::kProfile;

  Settings settings;                  // kRemote: the server measures its own costs under these
  std::vector<uint8_t> profile = {};  // common/plan/profile.h, compressed (compressed_text.h)
};

struct Schedule {
  static constexpr Kind kKind = Kind::kSchedule;

  std::vector<uint8_t> schedule = {};  // common/plan/schedule.h, likewise
  bool is_rough = false;               // made of rough figures; another one follows
};

struct Ready {
  static constexpr Kind kKind = Kind::kReady;

  int64_t settings = 0;
  std::optional<Likeness> likeness = std::nullopt;  // in kSplit, from version 9 on
};

// In kSplit: the robot's decision. If shared, slices of what the server reads follow.
struct Decided {
  static constexpr Kind kKind = Kind::kDecided;

  FrameDecision decision;
  // The previous decision told; none: the server holds nothing.
  std::optional<int64_t> follows = std::nullopt;
  std::optional<int64_t> committed = std::nullopt;  // the last one that both finished together
  // Whether the server computes its rows. If not, the robot computes all, and whatever may have
  // changed becomes stale in the server's store.
  bool is_shared = true;
};

// In kRemote: a picture. Kept small, since it takes most of a slow link.
struct RemoteFrame {
  static constexpr Kind kKind = Kind::kRemoteFrame;

  int64_t number = 0;  // one more than the previous picture's
  int64_t frame = 0;   // the robot's frame number
  bool keeps = false;  // whether the server computes only what changed, as it decides
  // Time until the answer is late for the robot's deadline or, where the robot's own answer will be
  // late, too, until that is there; at least 1. 0: there is no deadline.
  uint16_t left_ms = 0;
  Rectangle place = {};               // the part that shows the frame; 16 bits each
  std::vector<uint8_t> picture = {};  // common/codec/picture_codec.h
};

// Rows that cross the link in a frame.
struct Slice {
  static constexpr Kind kKind = Kind::kSlice;

  int64_t number = 0;               // of the decision
  uint32_t transfer = 0;            // SplitRows::transfers
  std::vector<uint8_t> bytes = {};  // common/codec/slice_codec.h
};

// The server has done its part of a frame. In this and what follows `number` is the decision's in
// kSplit, the picture's in kRemote.
struct Done {
  static constexpr Kind kKind = Kind::kDone;

  int64_t number = 0;
  FrameDecision::Kind kind = FrameDecision::Kind::kWhole;  // as decided
  FrameWork work = {.share = 0, .active = 0};
  ServerTimes times = {};
  // In kRemote: where a pixel that the network saw lies in the picture, and all of each graph
  // output as a coded slice.
  Homography frame_from_seen = {};
  std::vector<std::vector<uint8_t>> outputs = {};
};

// The robot no longer waits for this frame.
struct GiveUp {
  static constexpr Kind kKind = Kind::kGiveUp;

  int64_t number = 0;
};

// The server takes no part in this frame, and holds nothing until a frame that follows none.
struct FrameRefusal {
  static constexpr Kind kKind = Kind::kFrameRefusal;

  int64_t number = 0;
  std::string reason = {};  // "it does not hold frame 17"
};

// Measures the link (link_probe.h).
struct Probe {
  static constexpr Kind kKind = Kind::kProbe;
  static constexpr uint32_t kMostBytes = 4 << 20;

  uint32_t wanted = 0;  // bytes to send back; 0: no reply
  std::vector<uint8_t> bytes = {};
};

// The server's computing thread is alive. (The channel's own signs of life come from another
// thread.) A robot that still waits answers with an empty Probe, so that the next Alive comes. A
// robot that asks for nothing gets none, since each wakes both sides.
struct Alive {
  static constexpr Kind kKind = Kind::kAlive;
};

struct Bye {
  static constexpr Kind kKind = Kind::kBye;

  std::string reason = {};  // one sentence; empty: all is well
};

// Texts for people are cut to 1024 bytes.
template <typename Message>
std::vector<uint8_t> Encode(Message message);

// Trusts no byte. Returns "" or one sentence on what is wrong with the bytes, after which `message`
// may hold anything. Knows no model: the caller checks that masks, rows and values fit its own.
template <typename Message>
std::string Decode(std::span<const uint8_t> bytes, Message* message);

constexpr Words<2> WordsOf(Settings::Mode) { return {"split", "remote"}; }

}  // namespace cacheinf::message

#endif  // CACHEINF_COMMON_PAIR_MESSAGES_H_
