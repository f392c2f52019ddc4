#ifndef CACHEINF_TESTS_PAIR_MESSAGE_SEEDS_H_
#define CACHEINF_TESTS_PAIR_MESSAGE_SEEDS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/pair/messages.h"

// Good messages of every kind, as bytes; the first byte says the kind.

namespace cacheinf::message {

inline FrameDecision ChangedDecision() {
  FrameDecision decision;
  decision.number = 41;
  decision.base = 40;
  decision.frame = 12;
  decision.kind = FrameDecision::Kind::kChanged;
  decision.changed = Mask(24, 130);
  SetRectangle({3, 9}, {60, 129}, decision.changed);
  decision.forced = Mask(24, 130);
  SetRectangle({8, 16}, {0, 130}, decision.forced);
  decision.scroll = {-32, 64};
  decision.light = {1.0 / 3, -12.5};
  decision.settings = 3;
  decision.robot_rows = {0, 12, 24};
  return decision;
}

inline Settings SplitSettings() {
  Settings settings;
  settings.version = 7;
  settings.schemes = {Scheme::kDirect, Scheme::kWinograd, Scheme::kDirect};
  settings.takes_fastest = true;
  settings.shared.slice_codec = SliceCodec::kZstd;
  settings.shared.tracker.change.threshold = 0;
  settings.policy = {.kind = ChangePolicy::Kind::kChange, .threshold = 0.3f, .stem_depth = 1};
  settings.policy.spreads =
      std::make_shared<const InverseSpreads>(InverseSpreads{{}, {0.5f, 3.0f}, {1e-3f}});
  settings.keep = Keep::kChosen;
  settings.kept = {3, 1, 4};
  settings.cuts = {{2, 0}, {5, 500}};
  return settings;
}

template <typename Message>
std::string Seed(Message message) {
  const std::vector<uint8_t> bytes = Encode(std::move(message));
  return std::string(1, static_cast<char>(Message::kKind)) +
         std::string(bytes.begin(), bytes.end());
}

inline std::vector<std::string> MessageSeeds() {
  Decided whole;
  whole.decision.changed = whole.decision.forced = Mask(24, 130);
  SetAll(whole.decision.changed);
  Decided refresh{
      .decision = ChangedDecision(), .follows = 40, .committed = 39, .is_shared = false};
  refresh.decision.kind = FrameDecision::Kind::kRefresh;
  ClearAll(refresh.decision.changed);
  refresh.decision.scroll = {};
  refresh.decision.stored_from_frame.m[0][2] = 0.25;
  Settings remote = SplitSettings();
  remote.mode = Settings::Mode::kRemote;
  remote.policy = {};
  remote.shared.cache.change_scales = {1.0, 0.5};
  remote.shared.most_scores = 5;
  return {
      Seed(Hello{.model = {0x1234567890abcdef, 4096}, .robot = "rover", .token = 99}),
      Seed(Hello{.speaks = {8, 8}, .model = {0x1234567890abcdef, 4096}, .robot = "rover"}),
      Seed(Welcome{true, "exact FP32", kWire.newest, 4000}),
      Seed(ModelPiece{64, {1, 2, 3}}),
      Seed(SplitSettings()),
      Seed(std::move(remote)),
      Seed(Welcome{false, "exact FP32", 8}),
      Seed(Ready{7}),
      Seed(Ready{8, Likeness{5, 6}}),
      Seed(std::move(whole)),
      Seed(std::move(refresh)),
      Seed(Decided{.decision = ChangedDecision(), .follows = 40, .committed = 40}),
      Seed(RemoteFrame{.number = 41,
                       .frame = 12,
                       .keeps = true,
                       .place = {{8, 376}, {0, 640}},
                       .picture = {9, 8}}),
      Seed(Slice{41, 2, {1, 2, 3, 4}}),
      Seed(Done{.number = 41,
                .work = {.share = 0.4, .active = 0.2},
                .times = {.server_computing = std::chrono::microseconds(900)},
                .outputs = {{1}, {}}}),
      Seed(GiveUp{41}),
      Seed(FrameRefusal{41, "it does not hold frame 40"}),
      Seed(Alive()),
      Seed(Bye{"it stops"}),
      Seed(Probe{100, {1, 2}}),
      Seed(Profile{SplitSettings(), {5, 6, 7}}),
      Seed(Schedule{{8, 9}, true}),
  };
}

// Calls visit(message) if the bytes are a message, else returns what is wrong with them.
template <typename Visit>
std::string VisitMessage(std::span<const uint8_t> bytes, const Visit& visit) {
  if (bytes.empty()) return "nothing";
  const std::span<const uint8_t> rest = bytes.subspan(1);
  const auto decode = [&](auto message) {
    const std::string fault = Decode(rest, &message);
    if (fault.empty()) visit(message);
    return fault;
  };
  switch (static_cast<Kind>(bytes[0])) {
    case Kind::kHello:
      return decode(Hello());
    case Kind::kWelcome:
      return decode(Welcome());
    case Kind::kModelPiece:
      return decode(ModelPiece());
    case Kind::kSettings:
      return decode(Settings());
    case Kind::kReady:
      return decode(Ready());
    case Kind::kDecided:
      return decode(Decided());
    case Kind::kRemoteFrame:
      return decode(RemoteFrame());
    case Kind::kSlice:
      return decode(Slice());
    case Kind::kDone:
      return decode(Done());
    case Kind::kGiveUp:
      return decode(GiveUp());
    case Kind::kFrameRefusal:
      return decode(FrameRefusal());
    case Kind::kProfile:
      return decode(Profile());
    case Kind::kSchedule:
      return decode(Schedule());
    case Kind::kProbe:
      return decode(Probe());
    case Kind::kAlive:
      return decode(Alive());
    case Kind::kBye:
      return decode(Bye());
  }
  return "no kind";
}

}  // namespace cacheinf::message

#endif  // CACHEINF_TESTS_PAIR_MESSAGE_SEEDS_H_
