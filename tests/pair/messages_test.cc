#include "common/pair/messages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "client/record/decision_text.h"
#include "tests/pair/message_seeds.h"

namespace cacheinf::message {
namespace {

template <typename Message>
std::string Refusal(const Message& message) {
  Message read;
  return Decode(Encode(message), &read);
}

TEST(MessagesTest, WhatIsReadIsWhatWasWritten) {
  for (const std::string& seed : MessageSeeds()) {
    const std::vector<uint8_t> bytes(seed.begin(), seed.end());
    int visits = 0;
    EXPECT_EQ(VisitMessage(bytes,
                           [&](const auto& message) {
                             ++visits;
                             EXPECT_EQ(Seed(message), seed);
                           }),
              "");
    EXPECT_EQ(visits, 1);
  }
}

// A robot and a server of different releases must understand each other: if this fails, raise
// kWire.newest, unless the only change is that a key of the configuration, which travels as JSON,
// has gone.
TEST(MessagesTest, BytesAreThoseOfTheWiresNewestVersion) {
  EXPECT_EQ(kWire.newest, 9u);
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const std::string& seed : MessageSeeds()) {
    for (const char byte : seed) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  }
  EXPECT_EQ(hash, 0x63cb034fabcf7ba7);
}

TEST(MessagesTest, AGreetingOfTheVersionBeforeIsRead) {
  Hello hello = {.speaks = {8, 8}, .model = {17, 4096}, .robot = "rover", .token = 5};
  const std::vector<uint8_t> bytes = Encode(hello);
  // As programs that spoke only version 8 wrote it.
  const std::string as_before = std::string("\x8\0\0\0\5\0\0\0", 8) + "0.1.0" +
                                std::string("\x11\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\0", 16) +
                                std::string("\5\0\0\0", 4) + "rover";
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), as_before);
  ASSERT_EQ(Decode(bytes, &hello), "");
  EXPECT_EQ(hello.speaks, (WireVersions{8, 8}));
  EXPECT_EQ(hello.model, (Fingerprint{17, 4096}));
  EXPECT_EQ(hello.robot, "rover");
  EXPECT_EQ(hello.token, 0u);

  Welcome welcome;
  const std::vector<uint8_t> short_one = Encode(Welcome{true, "FP32", 8});
  EXPECT_EQ(short_one.size(), 1 + 4 + 4u);
  ASSERT_EQ(Decode(short_one, &welcome), "");
  EXPECT_EQ(welcome.wire, 8u);
  EXPECT_EQ(Encode(Ready{7}).size(), sizeof(int64_t));
}

TEST(MessagesTest, WhatALaterVersionAppendsToAGreetingIsLeft) {
  for (const uint32_t newest : {kWire.newest, kWire.newest + 1}) {
    std::vector<uint8_t> bytes =
        Encode(Hello{.speaks = {kWire.newest, newest}, .robot = "rover", .token = 5});
    bytes.push_back(1);
    Hello hello;
    EXPECT_EQ(Decode(bytes, &hello).empty(), newest > kWire.newest);
    EXPECT_EQ(hello.token, 5u);
  }
  for (const uint32_t wire : {kWire.newest, kWire.newest + 1}) {
    std::vector<uint8_t> bytes = Encode(Welcome{.wire = wire});
    bytes.push_back(1);
    Welcome welcome;
    EXPECT_EQ(Decode(bytes, &welcome).empty(), wire > kWire.newest);
  }
  // Where no version is common, only the versions are read.
  Hello hello;
  std::vector<uint8_t> bytes = Encode(Hello{.speaks = {kWire.newest + 1, kWire.newest + 2}});
  bytes.push_back(1);
  EXPECT_EQ(Decode(bytes, &hello), "");
  EXPECT_EQ(hello.speaks, (WireVersions{kWire.newest + 1, kWire.newest + 2}));
}

TEST(MessagesTest, AFrameIsItsDecision) {
  const Decided frame{
      .decision = ChangedDecision(), .follows = 38, .committed = 37, .is_shared = false};
  const std::vector<uint8_t> bytes = Encode(frame);
  EXPECT_LE(bytes.size(), 200u);
  Decided read;
  ASSERT_EQ(Decode(bytes, &read), "");
  EXPECT_EQ(ToText(read.decision), ToText(frame.decision));
  EXPECT_EQ(read.follows, 38);
  EXPECT_EQ(read.committed, 37);
  EXPECT_FALSE(read.is_shared);
}

// At 1 Mbit/s, 125 bytes take a millisecond.
TEST(MessagesTest, APictureNeedsFewBytesBesideIt) {
  const RemoteFrame frame{.number = 41,
                          .frame = 1 << 20,
                          .keeps = true,
                          .left_ms = 90,
                          .place = {{8, 376}, {0, 640}},
                          .picture = {1, 2, 3}};
  const std::vector<uint8_t> bytes = Encode(frame);
  EXPECT_EQ(bytes.size(), frame.picture.size() + 31);
  RemoteFrame read;
  ASSERT_EQ(Decode(bytes, &read), "");
  EXPECT_EQ(read.number, frame.number);
  EXPECT_EQ(read.frame, frame.frame);
  EXPECT_TRUE(read.keeps);
  EXPECT_EQ(read.left_ms, frame.left_ms);
  EXPECT_EQ(read.place, frame.place);
  EXPECT_EQ(read.picture, frame.picture);
  EXPECT_LE(Encode(Done()).size(), 40u);
}

TEST(MessagesTest, SettingsAreWhatTheRobotGoesBy) {
  Settings settings = SplitSettings();
  settings.shared.cache.policy = CacheConfig::Policy::kFixed;
  settings.shared.cache.change = 0.1;
  settings.shared.tracker.change.threshold = 0.07;
  Settings read;
  ASSERT_EQ(Decode(Encode(settings), &read), "");
  EXPECT_EQ(read.version, 7);
  EXPECT_EQ(read.schemes, settings.schemes);
  EXPECT_EQ(read.takes_fastest, settings.takes_fastest);
  EXPECT_EQ(read.policy.threshold, 0.3f);
  EXPECT_EQ(*read.policy.spreads, *settings.policy.spreads);
  EXPECT_EQ(read.keep, Keep::kChosen);
  EXPECT_EQ(read.kept, settings.kept);
  ASSERT_EQ(read.cuts.size(), 2u);
  EXPECT_EQ(read.cuts[1].robot_thousandths, 500);
  EXPECT_EQ(read.shared.cache.policy, CacheConfig::Policy::kFixed);
  EXPECT_EQ(read.shared.cache.change, 0.1);
  EXPECT_EQ(read.shared.tracker.change.threshold, 0.07);
}

TEST(MessagesTest, AServerPreparesAgainIfItKeepsOrComputesDifferently) {
  const message::Settings before;
  const auto needs = [&](auto member, const auto& value) {
    message::Settings after = before;
    after.*member = value;
    return NeedsNewState(before, after);
  };
  EXPECT_FALSE(NeedsNewState(before, before));
  EXPECT_FALSE(needs(&message::Settings::cuts, std::vector<Cut>{{3, 500}}));
  SharedSettings shared;
  shared.slice_codec = SliceCodec::kRaw;
  EXPECT_FALSE(needs(&message::Settings::shared, shared));
  EXPECT_TRUE(needs(&message::Settings::mode, message::Settings::Mode::kRemote));
  EXPECT_TRUE(needs(&message::Settings::schemes, std::vector<Scheme>{Scheme::kWinograd}));
  EXPECT_TRUE(needs(&message::Settings::takes_fastest, true));
  EXPECT_TRUE(needs(&message::Settings::keep, Keep::kAllApart));
  EXPECT_TRUE(needs(&message::Settings::kept, std::vector<ValueId>{3}));
}

TEST(MessagesTest, FieldsAreChecked) {
  const auto refused = [](auto change) {
    Decided frame{.decision = ChangedDecision(), .follows = 40, .committed = 40};
    change(frame);
    return Refusal(frame);
  };
  const std::string frame = "a message of kind 'frame' is invalid: ";
  EXPECT_EQ(refused([](Decided& f) { f.decision.number = -1; }), frame + "number is out of bounds");
  EXPECT_EQ(refused([](Decided& f) { f.decision.base = 41; }),
            frame + "base must be -1 or a number before this one's");
  EXPECT_EQ(refused([](Decided& f) { f.follows = 41; }), frame + "follows is out of bounds");
  EXPECT_EQ(refused([](Decided& f) { f.committed = -2; }), frame + "committed is out of bounds");
  EXPECT_EQ(refused([](Decided& f) { f.decision.forced = Mask(24, 129); }),
            frame + "forced must be a mask of the size of changed");
  EXPECT_EQ(refused([](Decided& f) { f.decision.scroll.rows = 1 << 20; }),
            frame + "scroll is out of bounds");
  EXPECT_EQ(
      refused([](Decided& f) { f.decision.light.gain = std::numeric_limits<double>::quiet_NaN(); }),
      frame + "light is out of bounds");
  EXPECT_EQ(refused([](Decided& f) { f.decision.robot_rows[1] = -3; }),
            frame + "robot_rows must be rows");
  EXPECT_EQ(refused([](Decided& f) {
              f.decision.changed = f.decision.forced = Mask((1 << 20) + 1, 64);
              f.decision.kind = FrameDecision::Kind::kRefresh;
            }).substr(0, frame.size() + 23),
            frame + "changed is not a mask: ");

  const auto settings_refused = [](auto change) {
    Settings settings = SplitSettings();
    change(settings);
    return Refusal(settings);
  };
  const std::string settings = "a message of kind 'settings' is invalid: ";
  EXPECT_EQ(settings_refused([](Settings& s) { s.policy.threshold = -1; }),
            settings + "threshold is out of bounds");
  EXPECT_EQ(settings_refused([](Settings& s) { s.policy.spreads.reset(); }),
            settings + "a threshold needs spreads");
  EXPECT_EQ(settings_refused([](Settings& s) {
              s.policy.spreads = std::make_shared<const InverseSpreads>(
                  InverseSpreads{{1.0f, std::numeric_limits<float>::infinity()}});
            }),
            settings + "spreads must be positive numbers");
  EXPECT_EQ(settings_refused([](Settings& s) { s.keep = Keep::kListed; }),
            settings + "all values must be kept, or chosen ones");
  EXPECT_EQ(settings_refused([](Settings& s) { s.cuts[0].robot_thousandths = 1001; }),
            settings + "a cut's share is out of bounds");
  EXPECT_EQ(settings_refused([](Settings& s) {
              s.shared.cache.growth = 65;
            }).substr(0, settings.size() + 31),
            settings + "shared is not a configuration: ");
  EXPECT_EQ(Refusal(Done{.work = {.active = 1.5}}),
            "a message of kind 'done' is invalid: active is out of bounds");
}

// However long a list claims to be, memory is allocated only for bytes that are there.
TEST(MessagesTest, LengthsAreHeldAgainstTheBytes) {
  std::vector<uint8_t> bytes = Encode(ModelPiece{0, std::vector<uint8_t>(10)});
  ModelPiece piece;
  for (size_t i = 8; i < 12; ++i) {
    std::vector<uint8_t> damaged = bytes;
    damaged[i] = 0x3f;
    EXPECT_EQ(Decode(damaged, &piece), "a message of kind 'model' is invalid: bytes is cut short");
    EXPECT_EQ(piece.bytes.capacity(), 0u);
  }
  bytes.push_back(0);
  EXPECT_EQ(Decode(bytes, &piece), "a message of kind 'model' is invalid: goes on after its end");
}

TEST(MessagesTest, LongReasonsAreCut) {
  Bye read;
  EXPECT_EQ(Decode(Encode(Bye{std::string(5000, 'x')}), &read), "");
  EXPECT_EQ(read.reason.size(), 1024u);
}

}  // namespace
}  // namespace cacheinf::message
