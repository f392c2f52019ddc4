#include "client/record/decision_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

#include "common/base/error.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

FrameDecision WholeFrame() {
  FrameDecision decision;
  decision.number = 0;
  decision.changed = Mask(10, 70);
  decision.forced = Mask(10, 70);
  SetAll(decision.changed);
  return decision;
}

FrameDecision Changed() {
  FrameDecision decision;
  decision.number = int64_t{1} << 40;
  decision.base = 7;
  decision.frame = 12;
  decision.kind = FrameDecision::Kind::kChanged;
  decision.changed = Mask(10, 70);
  decision.changed.view().Set(3, 65);
  decision.forced = Mask(10, 70);
  SetRectangle({2, 5}, {0, 70}, decision.forced);
  decision.stored_from_frame.m[0][2] = 0.1;
  decision.stored_from_frame.m[2][0] = 1e-300;
  decision.light = {1.0 / 3, -12.5};
  decision.settings = 3;
  decision.robot_rows = {0, 5, 10};
  return decision;
}

FrameDecision Refresh() {
  FrameDecision decision = Changed();
  decision.kind = FrameDecision::Kind::kRefresh;
  ClearAll(decision.changed);
  decision.stored_from_frame = {};
  decision.scroll = {-32, 64};
  return decision;
}

std::string Refusal(const std::string& text) {
  return RefusalOf([&] { ReadFrameDecision(text, "line 3"); });
}

TEST(DecisionTextTest, WhatIsReadIsWhatWasWritten) {
  FrameDecision of_tensors;
  of_tensors.number = 4;
  for (const FrameDecision& decision : {WholeFrame(), Changed(), Refresh(), of_tensors}) {
    const std::string text = ToText(decision);
    EXPECT_EQ(text.find('\n'), std::string::npos);
    const FrameDecision read = ReadFrameDecision(text, "text");
    EXPECT_EQ(ToText(read), text);
    EXPECT_TRUE(AreEqual(read.changed, decision.changed));
    EXPECT_TRUE(AreEqual(read.forced, decision.forced));
    EXPECT_EQ(read.stored_from_frame.m[0][2], decision.stored_from_frame.m[0][2]);
    EXPECT_EQ(read.stored_from_frame.m[2][0], decision.stored_from_frame.m[2][0]);
    EXPECT_EQ(read.light, decision.light);
    EXPECT_EQ(read.scroll.rows, decision.scroll.rows);
    EXPECT_EQ(read.scroll.columns, decision.scroll.columns);
    EXPECT_EQ(read.number, decision.number);
    EXPECT_EQ(read.robot_rows, decision.robot_rows);
  }
}

TEST(DecisionTextTest, RecordingsKeepTheirForm) {
  EXPECT_EQ(ToText(Changed()),
            "{\"number\":1099511627776,\"base\":7,\"frame\":12,\"kind\":\"changed\","
            "\"changed\":\"4d0102000a0000004600000003000000930201\","
            "\"forced\":\"4d0102000a00000046000000040000008c01d201\",\"scroll\":[0,0],"
            "\"stored_from_frame\":[1.0,0.0,0.1,0.0,1.0,0.0,1e-300,0.0,1.0],"
            "\"light\":[0.3333333333333333,-12.5],\"settings\":3,\"robot_rows\":[0,5,10]}");
}

TEST(DecisionTextTest, EveryFieldIsChecked) {
  const auto with = [](const FrameDecision& decision, const std::string& from,
                       const std::string& to) {
    std::string text = ToText(decision);
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from << " in " << text;
    if (at != std::string::npos) text.replace(at, from.size(), to);
    return Refusal(text);
  };
  const auto changed = [&](const std::string& from, const std::string& to) {
    return with(Changed(), from, to);
  };
  const std::string line = "line 3: ";
  EXPECT_EQ(Refusal("{"), line + "not a JSON object");
  EXPECT_EQ(Refusal("[]"), line + "not a JSON object");
  EXPECT_EQ(Refusal("{}"), line + "not the fields of a decision");
  EXPECT_EQ(changed("\"number\"", "\"numbers\""), line + "number must be an integer");
  EXPECT_EQ(changed("\"number\":", "\"number\":-"), line + "number must be at least 0");
  EXPECT_EQ(changed("\"base\":7", "\"base\":-2"),
            line + "base must be -1 or a number before this one's");
  EXPECT_EQ(changed("\"base\":7", "\"base\":1e3"), line + "base must be an integer");
  EXPECT_EQ(changed("\"base\":7", "\"base\":-1"),
            line + "kind must be whole without a base and a mask");
  EXPECT_EQ(changed("\"frame\":12", "\"frame\":-1"), line + "frame must be at least 0");
  EXPECT_EQ(changed("\"kind\":\"changed\"", "\"kind\":\"every\""),
            line + "kind must be one of whole, changed, refresh");
  EXPECT_EQ(changed("\"kind\":\"changed\"", "\"kind\":\"whole\""),
            line + "changed must be everything in a whole frame");
  EXPECT_EQ(changed("\"kind\":\"changed\"", "\"kind\":\"refresh\""),
            line + "changed must be nothing in a refresh");
  EXPECT_EQ(changed("\"changed\":\"", "\"changed\":\"0"),
            line + "changed must be pairs of hexadecimal digits");
  EXPECT_EQ(changed("\"changed\":\"", "\"changed\":\"0G"),
            line + "changed must be pairs of hexadecimal digits");
  EXPECT_TRUE(changed("\"changed\":\"4d", "\"changed\":\"4e")
                  .starts_with(line + "changed must be a mask, but "));
  FrameDecision other_size = Changed();
  other_size.forced = Mask(10, 71);
  EXPECT_EQ(Refusal(ToText(other_size)), line + "forced must be a mask of the size of changed");
  EXPECT_EQ(changed("\"scroll\":[0,0]", "\"scroll\":[0,0,0]"),
            line + "scroll must be two numbers of pixels");
  EXPECT_EQ(changed("\"scroll\":[0,0]", "\"scroll\":[0,70000]"),
            line + "scroll must be two numbers of pixels");
  EXPECT_EQ(changed("\"scroll\":[0,0]", "\"scroll\":[0,0.5]"),
            line + "scroll must be a list of integers");
  EXPECT_EQ(changed("\"scroll\":[0,0]", "\"scroll\":[0,32]"),
            line + "scroll must be zero if the maps move otherwise");
  EXPECT_EQ(changed("\"stored_from_frame\":[", "\"stored_from_frame\":[0,"),
            line + "stored_from_frame must be 9 numbers");
  EXPECT_EQ(changed("\"light\":[", "\"light\":[null,"), line + "light must be a list of numbers");
  EXPECT_EQ(changed("\"settings\":3", "\"settings\":-3"), line + "settings must be at least 0");
  EXPECT_EQ(changed("\"robot_rows\":[0", "\"robot_rows\":[-1"), line + "robot_rows must be rows");
  FrameDecision nowhere = Changed();
  nowhere.stored_from_frame.m[0][0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Refusal(ToText(nowhere)), line + "stored_from_frame must be a list of numbers");
}

// Any text is either refused, or read as a decision that survives being written and read again.
TEST(DecisionTextTest, DamagedTextIsReadOrRefused) {
  constexpr uint32_t kSeed = 5;
  std::mt19937 random(kSeed);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = ToText(round % 2 == 0 ? Changed() : Refresh());
    for (int i = 0; i < 1 + round % 3; ++i) {
      const char characters[] = "0123456789abcdef\"[]{},:-.e";
      text[random() % text.size()] = characters[random() % (sizeof(characters) - 1)];
    }
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ": " << text);
    try {
      const FrameDecision decision = ReadFrameDecision(text, "line");
      EXPECT_EQ(ToText(ReadFrameDecision(ToText(decision), "again")), ToText(decision));
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 3000);
}

}  // namespace
}  // namespace cacheinf
