#include "common/pair/messages.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include "common/base/error.h"
#include "common/exec/decision_text.h"
#include "sparse_ops/mask/wire.h"

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie");

namespace cacheinf::message {
namespace {

constexpr int64_t kMostNumber = std::numeric_limits<int64_t>::max();
constexpr size_t kMostText = 1024;
constexpr size_t kMostJson = size_t{1} << 16;
constexpr size_t kMostBytes = size_t{1} << 30;
constexpr size_t kMostItems = size_t{1} << 20;
constexpr size_t kMostMaskWords = size_t{1} << 20;  // for 8192 × 8192 pixels
constexpr int kLongestShift = 1 << 14;

// Writer and Reader have the same functions, one per kind of field, so that VisitFields lists each
// message's fields once for both. Names appear in refusals.

class Writer {
 public:
  template <typename T>
  void Number(const char* /*name*/, T& number, T /*least*/, T /*most*/) {
    Put(&number, sizeof(number));
  }
  template <typename Enum>
  void Choice(const char* /*name*/, Enum& value, size_t /*count*/) {
    static_assert(sizeof(value) == 1);
    Put(&value, 1);
  }
  void Text(const char* /*name*/, std::string& text, size_t most) {
    const size_t length = std::min(text.size(), most);
    Length(length);
    Put(text.data(), length);
  }
  void Bytes(const char* name, std::vector<uint8_t>& bytes) { Array(name, bytes); }
  template <typename T>
  void Array(const char* /*name*/, std::vector<T>& numbers) {
    Length(numbers.size());
    Put(numbers.data(), numbers.size() * sizeof(T));
  }
  // `visit(item)` visits an item's fields.
  template <typename T, typename Visit>
  void List(const char* /*name*/, std::vector<T>& items, const Visit& visit) {
    Length(items.size());
    for (T& item : items) visit(item);
  }
  // A value that nearly always is the default.
  template <typename T, typename Visit>
  void Rare(const char* /*name*/, T& value, bool is_default, const Visit& visit) {
    uint8_t is_there = is_default ? 0 : 1;
    Put(&is_there, 1);
    if (!is_default) visit(value);
  }
  void Mask(const char* /*name*/, cacheinf::Mask& mask) {
    const ConstMaskView view = std::as_const(mask);
    if (view.pixel_count() == 0) return Length(0);
    std::vector<uint8_t> bytes(MaxEncodedMaskBytes(view.height, view.width));
    bytes.resize(EncodeMask(view, bytes.data()));
    Array("", bytes);
  }
  void Cache(const char* name, CacheConfig& cache) {
    std::string text = WriteJson(cache.Fields());
    Text(name, text, kMostJson);
  }
  void Check(const char* /*fault*/) {}
  bool is_sound() const { return true; }

  std::vector<uint8_t> bytes;

 private:
  void Length(size_t length) {
    const auto number = static_cast<uint32_t>(length);
    Put(&number, sizeof(number));
  }
  void Put(const void* data, size_t size) {
    if (size == 0) return;
    const auto* begin = static_cast<const uint8_t*>(data);
    bytes.insert(bytes.end(), begin, begin + size);
  }
};

// After the first fault it reads nothing and leaves values as they are.
class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : rest_(bytes) {}

  template <typename T>
  void Number(const char* name, T& number, T least, T most) {
    T read{};
    if (!Take(name, &read, sizeof(read))) return;
    // This way round it refuses NaN, too.
    if (!(read >= least && read <= most)) return Refuse(name, "is out of bounds");
    number = read;
  }
  template <typename Enum>
  void Choice(const char* name, Enum& value, size_t count) {
    uint8_t read = 0;
    if (!Take(name, &read, 1)) return;
    if (read >= count) return Refuse(name, "is unknown");
    value = static_cast<Enum>(read);
  }
  void Text(const char* name, std::string& text, size_t most) {
    const size_t length = Length(name, most, 1);
    text.assign(reinterpret_cast<const char*>(rest_.data()), length);
    rest_ = rest_.subspan(length);
  }
  void Bytes(const char* name, std::vector<uint8_t>& bytes) { Array(name, bytes, kMostBytes); }
  template <typename T>
  void Array(const char* name, std::vector<T>& numbers, size_t most = kMostItems) {
    numbers.resize(Length(name, most, sizeof(T)));
    if (!numbers.empty()) Take(name, numbers.data(), numbers.size() * sizeof(T));
  }
  template <typename T, typename Visit>
  void List(const char* name, std::vector<T>& items, const Visit& visit) {
    // An item takes at least a byte, and memory grows as items are read.
    const size_t length = Length(name, kMostItems, 1);
    items.clear();
    for (size_t i = 0; i < length && is_sound(); ++i) visit(items.emplace_back());
  }
  template <typename T, typename Visit>
  void Rare(const char* name, T& value, bool /*is_default*/, const Visit& visit) {
    bool is_there = false;
    Choice(name, is_there, 2);
    if (is_there) visit(value);
  }
  void Mask(const char* name, cacheinf::Mask& mask) {
    const size_t length = Length(name, kMostBytes, 1);
    const std::span<const uint8_t> bytes = rest_.subspan(0, length);
    rest_ = rest_.subspan(length);
    mask = {};
    if (length == 0) return;
    const char* const fault = DecodeMask(bytes.data(), length, kMostMaskWords, &mask);
    if (fault != nullptr) Refuse(name, fmt::format("is not a mask: {}", fault));
  }
  void Cache(const char* name, CacheConfig& cache) {
    std::string text;
    Text(name, text, kMostJson);
    if (!is_sound()) return;
    try {
      ReadJson(text, name, cache.Fields());
      cache.Check(name);
    } catch (const InputError& error) {
      Refuse(name, fmt::format("is not a configuration: {}", error.what()));
    }
  }
  // For faults that show only in several fields together.
  void Check(const char* fault) {
    if (fault != nullptr && is_sound()) fault_ = fault;
  }
  bool is_sound() const { return fault_.empty(); }

  std::string Finish() {
    if (is_sound() && !rest_.empty()) fault_ = "goes on after its end";
    return fault_;
  }

 private:
  bool Take(const char* name, void* data, size_t size) {
    if (!is_sound()) return false;
    if (size > rest_.size()) {
      Refuse(name, "is cut short");
      return false;
    }
    std::memcpy(data, rest_.data(), size);
    rest_ = rest_.subspan(size);
    return true;
  }
  // Reads a length that the remaining bytes can hold.
  size_t Length(const char* name, size_t most, size_t item_bytes) {
    uint32_t length = 0;
    if (!Take(name, &length, sizeof(length))) return 0;
    if (length <= most && length <= rest_.size() / item_bytes) return length;
    Refuse(name, length > most ? "is too long" : "is cut short");
    return 0;
  }
  void Refuse(const char* name, std::string_view why) {
    if (is_sound()) fault_ = fmt::format("{} {}", name, why);
  }

  std::span<const uint8_t> rest_;
  std::string fault_;
};

template <typename Visitor, typename T>
void VisitShare(Visitor& visit, const char* name, T& share) {
  visit.Number(name, share, T{0}, T{1});
}

template <typename Visitor>
void VisitFields(Visitor& visit, Hello& hello) {
  visit.Number("protocol", hello.protocol, 0u, std::numeric_limits<uint32_t>::max());
  if (hello.protocol != Hello::kProtocol) return visit.Check("the protocol is another one");
  visit.Text("build", hello.build, kMostText);
  visit.Number("checksum", hello.model.checksum, uint64_t{0}, ~uint64_t{0});
  visit.Number("model's bytes", hello.model.bytes, uint64_t{0}, ~uint64_t{0});
  visit.Text("robot", hello.robot, kMostText);
}

template <typename Visitor>
void VisitFields(Visitor& visit, Welcome& welcome) {
  visit.Choice("needs_model", welcome.needs_model, 2);
  visit.Text("arithmetic", welcome.arithmetic, kMostText);
}

template <typename Visitor>
void VisitFields(Visitor& visit, ModelPiece& piece) {
  visit.Number("offset", piece.offset, uint64_t{0}, ~uint64_t{0});
  visit.Bytes("bytes", piece.bytes);
}

constexpr float kLargest = std::numeric_limits<float>::max();

template <typename Visitor>
void VisitPolicy(Visitor& visit, ChangePolicy& policy) {
  constexpr int kMostPixels = 1 << 16;
  visit.Choice("policy", policy.kind, 3);
  visit.Number("threshold", policy.threshold, 0.0f, kLargest);
  visit.Number("growth", policy.growth, 0, kMostPixels);
  visit.Number("stem", policy.stem_depth, 0, kMostPixels);
  InverseSpreads spreads = policy.spreads ? *policy.spreads : InverseSpreads();
  visit.List("spreads", spreads, [&](std::vector<float>& channels) {
    visit.Array("spreads", channels);
    const auto is_sound = [](float inverse) { return inverse > 0.0f && inverse <= kLargest; };
    if (!std::all_of(channels.begin(), channels.end(), is_sound)) {
      visit.Check("spreads must be positive numbers");
    }
  });
  policy.spreads.reset();
  if (!spreads.empty()) policy.spreads = std::make_shared<const InverseSpreads>(std::move(spreads));
  if (policy.threshold > 0.0f && !policy.spreads) visit.Check("a threshold needs spreads");
}

template <typename Visitor>
void VisitFields(Visitor& visit, Settings& settings) {
  visit.Number("version", settings.version, int64_t{0}, kMostNumber);
  visit.Choice("mode", settings.mode, 2);
  visit.List("schemes", settings.schemes,
             [&](Scheme& scheme) { visit.Choice("schemes", scheme, 2); });
  visit.Choice("takes_fastest", settings.takes_fastest, 2);
  visit.Choice("slice_codec", settings.slice_codec, 4);
  VisitPolicy(visit, settings.policy);
  visit.Choice("keep", settings.keep, 4);
  const bool keeps = settings.keep == Keep::kAll || settings.keep == Keep::kChosen;
  if (!keeps) visit.Check("all values must be kept, or chosen ones");
  visit.Array("kept", settings.kept);
  visit.List("cuts", settings.cuts, [&](Cut& cut) {
    visit.Number("a cut's operator", cut.after, -1, std::numeric_limits<OpId>::max());
    visit.Number("a cut's share", cut.robot_thousandths, 0, Cut::kAll);
  });
  visit.Cache("cache", settings.cache);
  visit.Choice("tracker", settings.tracker, 2);
  VisitShare(visit, "change_threshold", settings.change_threshold);
  visit.Number("most_scores", settings.most_scores, 0, std::numeric_limits<int>::max());
}

template <typename Visitor>
void VisitFields(Visitor& visit, Profile& profile) {
  VisitFields(visit, profile.settings);
  visit.Bytes("profile", profile.profile);
}

template <typename Visitor>
void VisitFields(Visitor& visit, Schedule& schedule) {
  visit.Bytes("schedule", schedule.schedule);
  visit.Choice("is_rough", schedule.is_rough, 2);
}

template <typename Visitor>
void VisitFields(Visitor& visit, Ready& ready) {
  visit.Number("settings", ready.settings, int64_t{0}, kMostNumber);
}

template <typename Visitor>
void VisitHomography(Visitor& visit, const char* name, Homography& homography) {
  constexpr double kFinite = std::numeric_limits<double>::max();
  visit.Rare(name, homography, homography.IsIdentity(), [&](Homography& read) {
    for (auto& row : read.m) {
      for (double& entry : row) visit.Number(name, entry, -kFinite, kFinite);
    }
  });
}

template <typename Visitor>
void VisitDecision(Visitor& visit, FrameDecision& decision) {
  constexpr double kFinite = std::numeric_limits<double>::max();
  visit.Number("number", decision.number, int64_t{0}, kMostNumber);
  visit.Number("base", decision.base, int64_t{-1}, kMostNumber);
  visit.Number("frame", decision.frame, int64_t{0}, kMostNumber);
  visit.Choice("kind", decision.kind, 3);
  visit.Mask("changed", decision.changed);
  visit.Mask("forced", decision.forced);
  visit.Rare("scroll", decision.scroll, decision.scroll.is_zero(), [&](Shift& shift) {
    visit.Number("scroll", shift.rows, -kLongestShift, kLongestShift);
    visit.Number("scroll", shift.columns, -kLongestShift, kLongestShift);
  });
  VisitHomography(visit, "stored_from_frame", decision.stored_from_frame);
  visit.Rare("light", decision.light, decision.light.IsIdentity(), [&](Light& light) {
    visit.Number("light", light.gain, -kFinite, kFinite);
    visit.Number("light", light.offset, -kFinite, kFinite);
  });
  visit.Number("settings", decision.settings, int64_t{0}, kMostNumber);
  visit.Array("robot_rows", decision.robot_rows);
  const auto is_row = [](int row) { return row >= 0; };
  if (!std::all_of(decision.robot_rows.begin(), decision.robot_rows.end(), is_row)) {
    visit.Check("robot_rows must be rows");
  }
  visit.Check(FaultOf(decision));
}

template <typename Visitor>
void VisitFields(Visitor& visit, Frame& frame) {
  VisitDecision(visit, frame.decision);
  visit.Number("follows", frame.follows, int64_t{-1}, frame.decision.number - 1);
  visit.Number("committed", frame.committed, int64_t{-1}, frame.decision.number - 1);
  visit.Choice("is_shared", frame.is_shared, 2);
}

template <typename Visitor>
void VisitFields(Visitor& visit, RemoteFrame& frame) {
  visit.Number("number", frame.number, int64_t{0}, kMostNumber);
  visit.Number("frame", frame.frame, int64_t{0}, kMostNumber);
  visit.Choice("keeps", frame.keeps, 2);
  Range& rows = frame.place.rows;
  Range& columns = frame.place.columns;
  for (int* const edge : {&rows.begin, &rows.end, &columns.begin, &columns.end}) {
    auto narrow = static_cast<uint16_t>(*edge);
    visit.Number("place", narrow, uint16_t{0}, std::numeric_limits<uint16_t>::max());
    *edge = narrow;
  }
  visit.Bytes("picture", frame.picture);
}

template <typename Visitor>
void VisitFields(Visitor& visit, Slice& slice) {
  visit.Number("frame", slice.frame, int64_t{0}, kMostNumber);
  visit.Number("transfer", slice.transfer, 0u, std::numeric_limits<uint32_t>::max());
  visit.Bytes("bytes", slice.bytes);
}

template <typename Visitor>
void VisitFields(Visitor& visit, Answer& answer) {
  visit.Number("frame", answer.frame, int64_t{0}, kMostNumber);
  visit.Choice("kind", answer.kind, 3);
  VisitShare(visit, "active", answer.active);
  visit.Number("work", answer.work, 0.0f, kLargest);
  visit.Number("compute_us", answer.compute_us, 0u, std::numeric_limits<uint32_t>::max());
  visit.Number("decode_us", answer.decode_us, 0u, std::numeric_limits<uint32_t>::max());
  visit.Number("queue_us", answer.queue_us, 0u, std::numeric_limits<uint32_t>::max());
  VisitHomography(visit, "frame_from_seen", answer.frame_from_seen);
  visit.List("outputs", answer.outputs,
             [&](std::vector<uint8_t>& output) { visit.Bytes("outputs", output); });
}

template <typename Visitor>
void VisitFields(Visitor& visit, GiveUp& give_up) {
  visit.Number("frame", give_up.frame, int64_t{0}, kMostNumber);
}

template <typename Visitor>
void VisitFields(Visitor& visit, FrameRefusal& refusal) {
  visit.Number("frame", refusal.frame, int64_t{0}, kMostNumber);
  visit.Text("reason", refusal.reason, kMostText);
}

template <typename Visitor>
void VisitFields(Visitor& visit, Bye& bye) {
  visit.Text("reason", bye.reason, kMostText);
}

template <typename Visitor>
void VisitFields(Visitor& visit, Probe& probe) {
  visit.Number("wanted", probe.wanted, 0u, Probe::kMostBytes);
  visit.Bytes("bytes", probe.bytes);
}

constexpr const char* NameOf(Kind kind) {
  constexpr const char* kNames[] = {"hello",   "welcome", "model",    "settings", "ready",
                                    "frame",   "slice",   "answer",   "give-up",  "refusal",
                                    "goodbye", "profile", "schedule", "picture",  "probe"};
  return kNames[static_cast<size_t>(kind) - 1];
}

}  // namespace

bool NeedsNewState(const Settings& before, const Settings& after) {
  return before.mode != after.mode || after.mode == Settings::Mode::kRemote ||
         before.schemes != after.schemes || before.takes_fastest != after.takes_fastest ||
         before.keep != after.keep || before.kept != after.kept;
}

template <typename Message>
std::vector<uint8_t> Encode(Message message) {
  Writer writer;
  VisitFields(writer, message);
  return std::move(writer.bytes);
}

template <typename Message>
std::string Decode(std::span<const uint8_t> bytes, Message* message) {
  *message = {};
  Reader reader(bytes);
  VisitFields(reader, *message);
  const std::string fault = reader.Finish();
  return fault.empty()
             ? ""
             : fmt::format("a message of kind '{}' is invalid: {}", NameOf(Message::kKind), fault);
}

#define CACHEINF_MESSAGE(Message)                      \
  template std::vector<uint8_t> Encode(Message given); \
  template std::string Decode(std::span<const uint8_t> bytes, std::add_pointer_t<Message> message);
CACHEINF_MESSAGE(Hello)
CACHEINF_MESSAGE(Welcome)
CACHEINF_MESSAGE(ModelPiece)
CACHEINF_MESSAGE(Settings)
CACHEINF_MESSAGE(Ready)
CACHEINF_MESSAGE(Frame)
CACHEINF_MESSAGE(RemoteFrame)
CACHEINF_MESSAGE(Slice)
CACHEINF_MESSAGE(Answer)
CACHEINF_MESSAGE(GiveUp)
CACHEINF_MESSAGE(FrameRefusal)
CACHEINF_MESSAGE(Bye)
CACHEINF_MESSAGE(Probe)
CACHEINF_MESSAGE(Profile)
CACHEINF_MESSAGE(Schedule)
#undef CACHEINF_MESSAGE

}  // namespace cacheinf::message
