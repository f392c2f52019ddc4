// What a robot says to a server's session, message after message, each after its size in two bytes:
// the session takes it or ends with a sentence. The first byte says what comes before, said
// properly: nothing, a greeting, or also settings of either mode.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "common/backend/host/cpu_backend.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/codec/picture_codec.h"
#include "common/link/channel.h"
#include "common/model/graph/pack.h"
#include "common/pair/messages.h"
#include "common/pair/model_store.h"
#include "common/pair/remote_picture.h"
#include "common/pair/session.h"
#include "common/pair/slow_work.h"
#include "tests/fuzz/target.h"
#include "tests/link/packet_feed.h"
#include "tests/model/model_builder.h"
#include "tests/pair/message_seeds.h"

namespace cacheinf::fuzz {
namespace {

using message::Seed;

constexpr int kSide = 16;  // of the picture

Graph SmallNetwork() {
  ModelBuilder builder;
  const ValueId picture = builder.Input({1, 3, kSide, kSide});
  Graph graph = builder.Finish({builder.Conv(builder.Conv(picture, 4, 3, 1, 1), 2, 3, 1, 1)});
  graph.picture.width = graph.picture.height = kSide;
  return graph;
}

// A server that has the model.
class World {
 public:
  World() {
    SetLogLevel(LogLevel::kOff);
    message::ModelPiece piece;
    const MappedFile pack = PackInMemory(graph);
    const auto* const bytes = reinterpret_cast<const uint8_t*>(pack.data.get());
    piece.bytes.assign(bytes, bytes + pack.size);
    model = {PackChecksum({pack.data.get(), pack.size}), pack.size};
    ModelStore::Incoming(store, model, "", false).Take(piece);
  }
  ~World() { std::filesystem::remove_all(folder_); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  static World& The() {
    static World world;
    return world;
  }

 private:
  const std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                        ("cacheinf_fuzz_session_" + std::to_string(getpid()));

 public:
  const Graph graph = SmallNetwork();
  ModelStore store{folder_, [] { return std::make_unique<CpuBackend>(); }};
  message::Fingerprint model;
  SlowWork slow_work;
};

message::Settings SettingsOf(message::Settings::Mode mode) {
  message::Settings settings;
  settings.version = 1;
  settings.mode = mode;
  settings.shared.slice_codec = SliceCodec::kRaw;
  settings.cuts = {{0, 500}};
  return settings;
}

std::string Greeting() {
  return Seed(message::Hello{.model = World::The().model, .robot = "rover", .token = 1});
}

message::Decided WholeFrame(int64_t number) {
  message::Decided frame;
  frame.decision.number = number;
  frame.decision.settings = 1;
  frame.decision.changed = frame.decision.forced = Mask(kSide, kSide);
  SetAll(frame.decision.changed);
  return frame;
}

std::string PictureFrame(int64_t number) {
  PictureEncoder encoder(ParsePictureCodec("raw"), PictureFormatOf(World::The().graph));
  const std::vector<uint8_t> pixels(size_t{3} * kSide * kSide, 9);
  message::RemoteFrame frame = {
      .number = number, .frame = number, .keeps = true, .place = {{0, kSide}, {0, kSide}}};
  encoder.Append({pixels.data(), kSide, kSide, 3}, &frame.picture);
  return Seed(std::move(frame));
}

std::string Joined(char before, const std::vector<std::string>& messages) {
  std::string joined(1, before);
  for (const std::string& each : messages) {
    joined += static_cast<char>(each.size());
    joined += static_cast<char>(each.size() >> 8);
    joined += each;
  }
  return joined;
}

constexpr char kNothing = 0;
constexpr char kHello = 1;
constexpr char kRemote = 2;
constexpr char kSplit = 3;

std::vector<std::string> Conversations() {
  using Mode = message::Settings::Mode;
  message::Decided alone = WholeFrame(2);
  alone.follows = 1;
  alone.is_shared = false;
  const std::string remote = Seed(SettingsOf(Mode::kRemote));
  const std::string split = Seed(SettingsOf(Mode::kSplit));
  const std::string profile = Seed(message::Profile{SettingsOf(Mode::kRemote), {5, 6, 7}});
  const std::string probe = Seed(message::Probe{100, {1, 2}});
  return {
      Joined(kNothing, {probe, Greeting(), remote, PictureFrame(1), PictureFrame(2)}),
      Joined(kHello, {split, Seed(WholeFrame(1)), Seed(message::GiveUp{1}), probe}),
      Joined(kHello, {profile, remote, split, probe}),
      Joined(kRemote,
             {PictureFrame(1), Seed(message::GiveUp{1}), PictureFrame(2), PictureFrame(3)}),
      Joined(kSplit, {Seed(WholeFrame(1)), Seed(message::Slice{1, 0, {1, 2, 3}}), Seed(alone)}),
      Joined(kSplit, {Seed(WholeFrame(1)), split, Seed(WholeFrame(5)), Seed(message::GiveUp{5})}),
  };
}

class Robot {
 public:
  void Say(const std::string& words) {
    constexpr size_t kChunk = size_t{16} << 10;
    const Bytes bytes(reinterpret_cast<const uint8_t*>(words.data()) + 1, words.size() - 1);
    const auto kind = static_cast<uint8_t>(words[0]);
    size_t offset = 0;
    do {
      const Bytes chunk = bytes.subspan(offset, std::min(kChunk, bytes.size() - offset));
      WritePacket({number_++, Chunk{kind, 0, bytes.size(), offset, chunk}},
                  &arriving_.emplace_back());
      offset += chunk.size();
    } while (offset < bytes.size());
    while (!arriving_.empty() && channel_.fault().empty()) channel_.Pump();
    const uint64_t said_before = said();
    while (session.Advance()) clock_.Advance(std::chrono::milliseconds(1));
    if (kind != static_cast<uint8_t>(message::Kind::kSettings)) return;
    // The model is prepared on another thread.
    while (!session.is_over() && said() == said_before) {
      if (!session.Advance()) std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

 private:
  uint64_t said() const {
    const ChannelStatistics statistics = channel_.statistics();
    return statistics.sent.payload + statistics.waiting_to_leave;
  }

  ManualClock clock_;
  std::deque<std::vector<uint8_t>> arriving_;
  uint64_t number_ = 0;
  Channel channel_{std::make_unique<PacketFeed>(&arriving_), clock_};

 public:
  Session session{channel_, World::The().store, World::The().slow_work, clock_,
                  Session::Options{.solve = [](const auto&, const message::Settings&,
                                               const std::string& profile, const auto&,
                                               const std::atomic<bool>&) { return profile; }}};
};

bool ServesRobot(Bytes bytes) {
  if (bytes.empty()) return false;
  Robot robot;
  const int before = bytes[0] % 4;
  if (before != kNothing) robot.Say(Greeting());
  if (before == kRemote) robot.Say(Seed(SettingsOf(message::Settings::Mode::kRemote)));
  if (before == kSplit) robot.Say(Seed(SettingsOf(message::Settings::Mode::kSplit)));
  Promise(!robot.session.is_over(), "a good beginning is refused");
  for (bytes = bytes.subspan(1); bytes.size() > 2 && !robot.session.is_over();) {
    const size_t length = std::min<size_t>(bytes[0] + 256 * bytes[1], bytes.size() - 2);
    if (length > 0) robot.Say(ToText(bytes.subspan(2, length)));
    bytes = bytes.subspan(2 + length);
  }
  const std::string end = robot.session.end();
  Promise(end.find('\n') == end.npos && end.size() < 2000, "the end is no sentence");
  return !robot.session.is_over();
}

}  // namespace

const Target kSession = {"session", Conversations, {}, ServesRobot};

}  // namespace cacheinf::fuzz
