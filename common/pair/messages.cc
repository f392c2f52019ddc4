#include "common/pair/messages.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include "common/base/error.h"
#include "common/base/fields.h"
#include "common/exec/decision_fields.h"
#include "common/model/graph/words.h"
#include "sparse_ops/mask/wire.h"

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie");

namespace cacheinf::message {
namespace {

constexpr size_t kMostText = 1024;
constexpr size_t kMostJson = size_t{1} << 16;
constexpr size_t kMostBytes = size_t{1} << 30;
constexpr size_t kMostItems = size_t{1} << 20;
constexpr size_t kMostMaskWords = size_t{1} << 20;  // for 8192 × 8192 pixels

constexpr char kBuildOfOldWire[] = "0.1.0";  // what its servers insist on

constexpr Real kShare = {0, 1};
constexpr Real kNotNegativeFloat = {0, std::numeric_limits<float>::max()};

// So written, NaN is within no bounds.
bool IsWithin(double number, const Real& bounds) { return bounds.Has(number); }

template <typename Integer>
bool IsWithin(Integer number, const Whole& bounds) {
  return std::cmp_greater_equal(number, bounds.least) &&
         (bounds.most == Whole().most || std::cmp_less_equal(number, bounds.most));
}

// Writer and Reader visit messages' fields (common/base/fields.h). Names appear in refusals.

class Writer {
 public:
  template <typename T>
  void operator()(const char* name, T& field, const auto&... /*bounds*/) {
    if constexpr (std::is_same_v<T, std::string>) {
      Text(field, kMostText);
    } else if constexpr (std::is_same_v<T, cacheinf::Mask>) {
      Mask(name, field);
    } else if constexpr (std::is_same_v<T, SharedSettings>) {
      Text(WriteJson(field.Fields()), kMostJson);
    } else {
      static_assert(std::is_arithmetic_v<T> || (std::is_enum_v<T> && sizeof(T) == 1));
      Put(&field, sizeof(field));
    }
  }
  template <typename T>
  void operator()(const char* /*name*/, std::vector<T>& numbers, const auto&... /*bounds*/) {
    Length(numbers.size());
    Put(numbers.data(), numbers.size() * sizeof(T));
  }
  // For an enum whose values have no words.
  template <typename Enum>
  void Choice(const char* name, Enum& value, size_t /*count*/) {
    (*this)(name, value);
  }
  // `visit(item, visitor)` visits an item's fields.
  template <typename T, typename Visit>
  void List(const char* /*name*/, std::vector<T>& items, const Visit& visit) {
    Length(items.size());
    for (T& item : items) visit(item, *this);
  }
  // Numbers that nearly always have their usual values.
  template <typename T, size_t kCount>
  void Tuple(const char* name, const std::array<T*, kCount>& numbers, bool is_usual,
             const auto& /*bounds*/) {
    bool is_there = !is_usual;
    (*this)(name, is_there);
    if (is_usual) return;
    for (T* const number : numbers) (*this)(name, *number);
  }
  void Check(const char* /*fault*/) {}
  // Whether a message has what a later version appends.
  bool GoesOn(bool has_more) { return has_more; }
  void Skip() {}

  std::vector<uint8_t> bytes;

 private:
  void Text(const std::string& text, size_t most) {
    const size_t length = std::min(text.size(), most);
    Length(length);
    Put(text.data(), length);
  }
  void Mask(const char* name, const cacheinf::Mask& mask) {
    const ConstMaskView view = mask;
    if (view.pixel_count() == 0) return Length(0);
    std::vector<uint8_t> coded(MaxEncodedMaskBytes(view.height, view.width));
    coded.resize(EncodeMask(view, coded.data()));
    (*this)(name, coded);
  }
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
  explicit Reader(std::span<const uint8_t> bytes) : left_(bytes) {}

  template <typename T>
  void operator()(const char* name, T& field) {
    if constexpr (std::is_same_v<T, std::string>) {
      Text(name, field, kMostText);
    } else if constexpr (std::is_same_v<T, cacheinf::Mask>) {
      Mask(name, field);
    } else if constexpr (std::is_same_v<T, SharedSettings>) {
      Shared(name, field);
    } else if constexpr (std::is_same_v<T, bool>) {
      Choice(name, field, 2);
    } else if constexpr (std::is_enum_v<T>) {
      Choice(name, field, WordsOf(field).size());
    } else {
      static_assert(std::is_integral_v<T>);
      (*this)(name, field, Whole());
    }
  }
  template <typename T>
  void operator()(const char* name, T& number, const auto& bounds) {
    T read{};
    if (!Take(name, &read, sizeof(read))) return;
    if (!IsWithin(read, bounds)) return Refuse(name, "is out of bounds");
    number = read;
  }
  template <typename T>
  void operator()(const char* name, std::vector<T>& numbers) {
    numbers.resize(Length(name, sizeof(T) == 1 ? kMostBytes : kMostItems, sizeof(T)));
    if (!numbers.empty()) Take(name, numbers.data(), numbers.size() * sizeof(T));
  }
  template <typename T>
  void operator()(const char* name, std::vector<T>& numbers, const auto& bounds) {
    (*this)(name, numbers);
    const auto is_sound = [&](T number) { return IsWithin(number, bounds); };
    if (!std::all_of(numbers.begin(), numbers.end(), is_sound)) {
      Refuse(name, fmt::format("must be {}", bounds.range));
    }
  }
  template <typename Enum>
  void Choice(const char* name, Enum& value, size_t count) {
    uint8_t read = 0;
    if (!Take(name, &read, 1)) return;
    if (read >= count) return Refuse(name, "is unknown");
    value = static_cast<Enum>(read);
  }
  template <typename T, typename Visit>
  void List(const char* name, std::vector<T>& items, const Visit& visit) {
    // An item takes at least a byte, and memory grows as items are read.
    const size_t length = Length(name, kMostItems, 1);
    items.clear();
    for (size_t i = 0; i < length && is_sound(); ++i) visit(items.emplace_back(), *this);
  }
  template <typename T, size_t kCount>
  void Tuple(const char* name, const std::array<T*, kCount>& numbers, bool /*is_usual*/,
             const auto& bounds) {
    bool is_there = false;
    (*this)(name, is_there);
    if (!is_there) return;
    for (T* const number : numbers) (*this)(name, *number, bounds);
  }
  bool GoesOn(bool /*has_more*/) const { return is_sound() && !left_.empty(); }
  // What follows is of a version that is not known here.
  void Skip() { left_ = {}; }
  // For faults that show only across several fields.
  void Check(const char* fault) {
    if (fault != nullptr && is_sound()) fault_ = fault;
  }

  std::string Finish() {
    if (is_sound() && !left_.empty()) fault_ = "goes on after its end";
    return fault_;
  }

 private:
  bool is_sound() const { return fault_.empty(); }
  void Text(const char* name, std::string& text, size_t most) {
    const size_t length = Length(name, most, 1);
    text.assign(reinterpret_cast<const char*>(left_.data()), length);
    left_ = left_.subspan(length);
  }
  void Mask(const char* name, cacheinf::Mask& mask) {
    const size_t length = Length(name, kMostBytes, 1);
    const std::span<const uint8_t> bytes = left_.subspan(0, length);
    left_ = left_.subspan(length);
    mask = {};
    if (length == 0) return;
    const char* const fault = DecodeMask(bytes.data(), length, kMostMaskWords, &mask);
    if (fault != nullptr) Refuse(name, fmt::format("is not a mask: {}", fault));
  }
  void Shared(const char* name, SharedSettings& shared) {
    std::string text;
    Text(name, text, kMostJson);
    if (!is_sound()) return;
    try {
      ReadJson(text, name, shared.Fields());
    } catch (const InputError& error) {
      Refuse(name, fmt::format("is not a configuration: {}", error.what()));
    }
  }
  bool Take(const char* name, void* data, size_t size) {
    if (!is_sound()) return false;
    if (size > left_.size()) {
      Refuse(name, "is cut short");
      return false;
    }
    std::memcpy(data, left_.data(), size);
    left_ = left_.subspan(size);
    return true;
  }
  // Reads a length that the remaining bytes can hold.
  size_t Length(const char* name, size_t most, size_t item_bytes) {
    uint32_t length = 0;
    if (!Take(name, &length, sizeof(length))) return 0;
    if (length <= most && length <= left_.size() / item_bytes) return length;
    Refuse(name, length > most ? "is too long" : "is cut short");
    return 0;
  }
  void Refuse(const char* name, std::string_view why) {
    if (is_sound()) fault_ = fmt::format("{} {}", name, why);
  }

  std::span<const uint8_t> left_;
  std::string fault_;
};

void VisitPolicy(ChangePolicy& policy, auto& visit) {
  constexpr Whole kPixels = {0, 1 << 16};
  visit.Choice("policy", policy.kind, 3);
  visit("threshold", policy.threshold, kNotNegativeFloat);
  visit("growth", policy.growth, kPixels);
  visit("stem", policy.stem_depth, kPixels);
  InverseSpreads spreads = policy.spreads ? *policy.spreads : InverseSpreads();
  visit.List("spreads", spreads, [](std::vector<float>& channels, auto& visit) {
    visit("spreads", channels,
          Real{std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::max(),
               "positive numbers"});
  });
  policy.spreads.reset();
  if (!spreads.empty()) policy.spreads = std::make_shared<const InverseSpreads>(std::move(spreads));
  if (policy.threshold > 0.0f && !policy.spreads) visit.Check("a threshold needs spreads");
}

// A field that has another type on the wire.
template <typename Wire, typename T>
void VisitAs(T& field, auto& visit, const char* name, const auto&... bounds) {
  auto narrow = static_cast<Wire>(field);
  visit(name, narrow, bounds...);
  field = narrow;
}

// The number of an earlier decision, or -1.
void VisitEarlier(std::optional<int64_t>& number, auto& visit, const char* name, int64_t than) {
  int64_t sent = number.value_or(-1);
  visit(name, sent, Whole{-1, than - 1});
  number.reset();
  if (sent != -1) number = sent;
}

CACHEINF_FIELDS(ModelPiece, offset, bytes)
CACHEINF_FIELDS(Schedule, schedule, is_rough)
CACHEINF_FIELDS(Bye, reason)

template <typename Message, typename Visit>
void VisitFields(Message& m, Visit& visit) {
  if constexpr (std::is_same_v<Message, Hello>) {
    visit("newest version", m.speaks.newest);
    const bool is_first = m.speaks.newest <= kWireWithoutLikeness;
    if (is_first) {
      m.speaks.oldest = m.speaks.newest;
    } else {
      visit("oldest version", m.speaks.oldest);
    }
    if (!CommonWire(m.speaks, kWire)) return visit.Skip();
    std::string build = kBuildOfOldWire;
    if (is_first) visit("build", build);
    visit("checksum", m.model.checksum);
    visit("model's bytes", m.model.bytes);
    visit("robot", m.robot);
    if (is_first) return;
    visit("token", m.token);
    if (m.speaks.newest > kWire.newest) visit.Skip();
  } else if constexpr (std::is_same_v<Message, Welcome>) {
    visit("needs_model", m.needs_model);
    visit("arithmetic", m.arithmetic);
    if (!visit.GoesOn(m.wire > kWireWithoutLikeness)) {
      m.wire = kWireWithoutLikeness;
      return;
    }
    visit("version", m.wire);
    visit("has_bytes", m.has_bytes);
    if (m.wire > kWire.newest) visit.Skip();
  } else if constexpr (std::is_same_v<Message, Settings>) {
    visit("version", m.version, kNotNegative);
    visit("mode", m.mode);
    visit.List("schemes", m.schemes, [](Scheme& scheme, auto& visit) { visit("schemes", scheme); });
    visit("takes_fastest", m.takes_fastest);
    visit("shared", m.shared);
    VisitPolicy(m.policy, visit);
    visit.Choice("keep", m.keep, 4);
    const bool keeps = m.keep == Keep::kAll || m.keep == Keep::kChosen;
    if (!keeps) visit.Check("all values must be kept, or chosen ones");
    visit("kept", m.kept);
    visit.List("cuts", m.cuts, [](Cut& cut, auto& visit) {
      visit("a cut's operator", cut.after, Whole{-1, std::numeric_limits<OpId>::max()});
      visit("a cut's share", cut.robot_thousandths, Whole{0, Cut::kAll});
    });
  } else if constexpr (std::is_same_v<Message, Profile>) {
    VisitFields(m.settings, visit);
    visit("profile", m.profile);
  } else if constexpr (std::is_same_v<Message, Ready>) {
    visit("settings", m.settings, kNotNegative);
    if (!visit.GoesOn(m.likeness.has_value())) return;
    if (!m.likeness) m.likeness.emplace();
    visit("rows", m.likeness->rows);
    visit("bits", m.likeness->bits);
  } else if constexpr (std::is_same_v<Message, Decided>) {
    cacheinf::VisitFields(m.decision, visit);
    VisitEarlier(m.follows, visit, "follows", m.decision.number);
    VisitEarlier(m.committed, visit, "committed", m.decision.number);
    visit("is_shared", m.is_shared);
  } else if constexpr (std::is_same_v<Message, RemoteFrame>) {
    visit("number", m.number, kNotNegative);
    visit("frame", m.frame, kNotNegative);
    visit("keeps", m.keeps);
    visit("left_ms", m.left_ms);
    Range& rows = m.place.rows;
    Range& columns = m.place.columns;
    for (int* const edge : {&rows.begin, &rows.end, &columns.begin, &columns.end}) {
      VisitAs<uint16_t>(*edge, visit, "place");
    }
    visit("picture", m.picture);
  } else if constexpr (std::is_same_v<Message, Slice>) {
    visit("number", m.number, kNotNegative);
    visit("transfer", m.transfer);
    visit("bytes", m.bytes);
  } else if constexpr (std::is_same_v<Message, Done>) {
    visit("number", m.number, kNotNegative);
    visit("kind", m.kind);
    m.work.is_dense = m.kind == FrameDecision::Kind::kWhole;
    VisitAs<float>(m.work.active, visit, "active", kShare);
    VisitAs<float>(m.work.share, visit, "work", kNotNegativeFloat);
    for (auto* time :
         {&m.times.server_computing, &m.times.server_decoding, &m.times.server_queueing}) {
      auto us = std::chrono::duration_cast<std::chrono::microseconds>(*time).count();
      VisitAs<uint32_t>(us, visit, "a time");
      *time = std::chrono::microseconds(us);
    }
    visit.Tuple("frame_from_seen", EntriesOf(m.frame_from_seen), m.frame_from_seen.IsIdentity(),
                Real());
    visit.List("outputs", m.outputs,
               [](std::vector<uint8_t>& output, auto& visit) { visit("outputs", output); });
  } else if constexpr (std::is_same_v<Message, GiveUp>) {
    visit("number", m.number, kNotNegative);
  } else if constexpr (std::is_same_v<Message, FrameRefusal>) {
    visit("number", m.number, kNotNegative);
    visit("reason", m.reason);
  } else if constexpr (std::is_same_v<Message, Alive>) {
    visit.Check(nullptr);
  } else {
    static_assert(std::is_same_v<Message, Probe>, "a message whose fields are not listed");
    visit("wanted", m.wanted, Whole{0, Probe::kMostBytes});
    visit("bytes", m.bytes);
  }
}

constexpr const char* NameOf(Kind kind) {
  constexpr const char* kNames[] = {
      "hello",   "welcome", "model",   "settings", "ready",    "frame",   "slice", "done",
      "give-up", "refusal", "goodbye", "profile",  "schedule", "picture", "probe", "alive"};
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
  VisitFields(message, writer);
  return std::move(writer.bytes);
}

template <typename Message>
std::string Decode(std::span<const uint8_t> bytes, Message* message) {
  *message = {};
  Reader reader(bytes);
  VisitFields(*message, reader);
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
CACHEINF_MESSAGE(Decided)
CACHEINF_MESSAGE(RemoteFrame)
CACHEINF_MESSAGE(Slice)
CACHEINF_MESSAGE(Done)
CACHEINF_MESSAGE(GiveUp)
CACHEINF_MESSAGE(FrameRefusal)
CACHEINF_MESSAGE(Alive)
CACHEINF_MESSAGE(Bye)
CACHEINF_MESSAGE(Probe)
CACHEINF_MESSAGE(Profile)
CACHEINF_MESSAGE(Schedule)
#undef CACHEINF_MESSAGE

}  // namespace cacheinf::message
