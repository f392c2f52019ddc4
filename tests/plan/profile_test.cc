#include "common/plan/profile.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "common/base/error.h"
#include "common/plan/schedule.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

using Json = nlohmann::json;

// Every field differs from its default.
Profile SmallProfile() {
  Profile profile;
  profile.side = Side::kServer;
  profile.model = "net \"x\"";
  profile.model_checksum = 0xfedcba9876543210u;
  profile.settings = "{\"policy\":\"change\"}";
  profile.sampled = "{\"clips\":[]}";
  profile.machine = "a machine";
  profile.machine_fingerprint = "0123456789abcdef";
  profile.build = "b1";
  profile.backend = "cpu";
  profile.threads = 4;
  profile.slice_codec = SliceCodec::kFp16;
  profile.winograd_layers = {3, 5};
  profile.winograd_difference = 1e-6;
  profile.assumptions = {"one", "two"};
  profile.picture_slice_bytes = {{{0.0, 0.0}, {1.0, 4000.0}}};
  profile.picture_encode_ms = Curve::Constant(0.25);
  profile.picture_decode_ms = Curve::Constant(0.125);
  profile.fit_ms = 1.5;
  profile.decide_ms = {{{0.0, 0.5}, {1.0, 0.75}}};
  profile.read_ms = 0.1;
  profile.codecs = {{"jpeg:85", Curve::Constant(30000), 2.5, 1.25, {{{0, 0}, {1, 0.5}}}}};
  profile.answer_bytes = 1000;
  profile.answer_encode_ms = 0.01;
  profile.answer_decode_ms = 0.02;
  profile.computing_watts = 15;
  profile.sending_watts = 4;
  profile.waiting_watts = 3;
  profile.median_error = 0.03;
  profile.p95_error = 0.09;
  profile.active_median_error = 0.05;
  profile.active_p95_error = 0.15;

  ProfiledOperator conv;
  conv.name = "conv";
  conv.kind = "conv 3x3 s2 p1";
  conv.inputs = {{-1, AxisWindow::Sliding(16, 8, {3, 2, 1, 1, 1})}};
  conv.rows = 8;
  conv.row_bytes = 512;
  conv.ms = {{{0.0, 0.1}, {0.5, 1.0}, {1.0, 1.7}}};
  conv.dense_ms = 1.6;
  conv.refresh_ms = Curve::Constant(0.3);
  conv.active = {{{0.0, 0.0}, {1.0, 1.0}}};
  conv.slice_bytes = Curve::Constant(300);
  conv.encode_ms = Curve::Constant(0.5);
  conv.decode_ms = Curve::Constant(0.4);
  conv.whole_bytes = 3000;
  conv.whole_encode_ms = 0.6;
  conv.whole_decode_ms = 0.45;
  ProfiledOperator resize = conv;
  resize.name = "resize";
  resize.inputs = {{0, AxisWindow::Identity(8)}};
  AxisWindow& window = resize.inputs[0].rows;
  window.kind = AxisWindow::Kind::kResize;
  window.out_size = resize.rows = 16;
  window.resize.kind = ResizeSpec::Kind::kLinear;
  window.resize.coordinates = ResizeSpec::Coordinates::kAlignCorners;
  window.resize.rounding = ResizeSpec::Rounding::kCeil;
  window.resize.scale_rows = 2.0f;
  resize.is_local = resize.is_kept = false;
  resize.is_output = resize.is_view = true;
  profile.operators = {conv, resize};
  return profile;
}

std::string Refusal(const std::string& text) {
  return RefusalOf([&] { (void)ParseProfile(text, "p.json"); });
}

std::string Refusal(const std::function<void(Json&)>& damage) {
  Json json = Json::parse(ToJsonText(SmallProfile()));
  damage(json);
  return Refusal(json.dump());
}

TEST(ProfileTest, ComesBackAsItWasWritten) {
  const Profile profile = SmallProfile();
  const std::string text = ToJsonText(profile);
  const Profile again = ParseProfile(text, "p.json");
  EXPECT_EQ(ToJsonText(again), text);
  // Profiles of today must be those of tomorrow: if this fails, raise Profile::kVersion.
  EXPECT_EQ(FingerprintOf(profile), 0x7758f227feedcf94);
  EXPECT_EQ(again.side, Side::kServer);
  EXPECT_EQ(again.model_checksum, profile.model_checksum);
  EXPECT_EQ(again.slice_codec, SliceCodec::kFp16);
  EXPECT_EQ(again.winograd_layers, profile.winograd_layers);
  EXPECT_EQ(again.winograd_difference, profile.winograd_difference);
  EXPECT_EQ(again.assumptions, profile.assumptions);
  EXPECT_EQ(again.codecs[0].bytes, profile.codecs[0].bytes);
  EXPECT_EQ(again.codecs[0].seen, profile.codecs[0].seen);
  EXPECT_EQ(again.active_p95_error, 0.15);
  ASSERT_EQ(again.operators.size(), 2u);
  EXPECT_EQ(again.operators[0].ms, profile.operators[0].ms);
  EXPECT_EQ(again.operators[0].inputs[0].from, -1);
  EXPECT_EQ(again.operators[1].inputs[0].from, 0);
  // Compare windows by what rows need.
  for (int row = 0; row < 8; ++row) {
    const Range want = profile.operators[0].inputs[0].rows.Needed({row, row + 1});
    const Range got = again.operators[0].inputs[0].rows.Needed({row, row + 1});
    EXPECT_EQ(got.begin, want.begin);
    EXPECT_EQ(got.end, want.end);
  }
  for (int row = 0; row < 16; ++row) {
    const Range want = profile.operators[1].inputs[0].rows.Needed({row, row + 1});
    const Range got = again.operators[1].inputs[0].rows.Needed({row, row + 1});
    EXPECT_EQ(got.begin, want.begin);
    EXPECT_EQ(got.end, want.end);
  }
}

TEST(ProfileTest, SaysWhatACodecCostsInAgreementIfThatIsKnown) {
  Profile profile = SmallProfile();
  EXPECT_EQ(ToJsonText(profile).find("agreement"), std::string::npos) << "not as before";
  JudgedAgreement& judged = profile.codecs[0].judged;
  judged.Add(0.5, 0);
  EXPECT_EQ(judged.weight, 0.0);
  judged.Add(0.5, 10);
  judged.Add(1, 30);
  EXPECT_EQ(judged.agreement, 0.875);
  profile.cache_judged = {0.75, 20};
  const Profile again = ParseProfile(ToJsonText(profile), "p.json");
  EXPECT_EQ(again.codecs[0].judged.agreement, 0.875);
  EXPECT_EQ(again.codecs[0].judged.weight, 40.0);
  EXPECT_EQ(again.cache_judged.agreement, 0.75);
  EXPECT_EQ(again.cache_judged.weight, 20.0);

  Json json = Json::parse(ToJsonText(profile));
  json["codecs"][0]["agreement"] = 1.5;
  EXPECT_NE(Refusal(json.dump()).find("agreement"), std::string::npos);
  json["codecs"][0]["agreement"] = 0.5;
  json["codecs"][0].erase("agreement_weight");
  EXPECT_NE(Refusal(json.dump()).find("agreement_weight"), std::string::npos);
}

TEST(ProfileTest, RefusesWhatIsNoProfileAndSaysWhatToDo) {
  for (const std::string text : {"", "{", "[]", "{}", "null"}) {
    const std::string refusal = Refusal(text);
    EXPECT_TRUE(refusal.starts_with("p.json")) << text;
    EXPECT_NE(refusal.find("cacheinf-profile measure"), std::string::npos) << text;
  }
  EXPECT_EQ(Refusal([](Json&) {}), "");
}

TEST(ProfileTest, RefusesWhatIsWrong) {
  struct Case {
    const char* in_message;
    std::function<void(Json&)> damage;
  };
  const auto op = [](Json& json, size_t index) -> Json& { return json["operators"][index]; };
  const Case cases[] = {
      {"version", [](Json& json) { json["version"] = Profile::kVersion + 1; }},
      {"format", [](Json& json) { json["format"] = "cacheinf schedule"; }},
      {"side", [](Json& json) { json["side"] = "middle"; }},
      {"model_checksum", [](Json& json) { json["model_checksum"] = "12"; }},
      {"threads", [](Json& json) { json["threads"] = 0; }},
      {"winograd_layers", [](Json& json) { json["winograd_layers"] = 2; }},
      {"winograd_layers", [](Json& json) { json["winograd_layers"] = {-1}; }},
      {"winograd_difference", [](Json& json) { json.erase("winograd_difference"); }},
      {"fit_ms", [](Json& json) { json["fit_ms"] = -1; }},
      {"fit_ms", [](Json& json) { json.erase("fit_ms"); }},
      {"assumptions", [](Json& json) { json["assumptions"][0] = 3; }},
      {"operators", [](Json& json) { json["operators"] = Json::array(); }},
      {"from", [&](Json& json) { op(json, 0)["inputs"][0]["from"] = 0; }},
      {"from", [&](Json& json) { op(json, 1)["inputs"][0]["from"] = 1; }},
      {"from", [&](Json& json) { op(json, 1)["inputs"][0]["from"] = -2; }},
      {"rows", [&](Json& json) { op(json, 1)["inputs"][0]["rows"]["in"] = 9; }},
      {"rows", [&](Json& json) { op(json, 0)["inputs"][0]["rows"]["out"] = 9; }},
      {"stride", [&](Json& json) { op(json, 0)["inputs"][0]["rows"]["stride"] = 0; }},
      {"tile", [&](Json& json) { op(json, 0)["inputs"][0]["rows"]["tile"] = 0; }},
      {"operators",
       [&](Json& json) {
         for (size_t i = 0; i < json["operators"].size(); ++i) {
           Json& rows = op(json, i)["inputs"][0]["rows"];
           rows["out"] = op(json, i)["rows"] = 1 << 16;
           if (i > 0) rows["in"] = 1 << 16;
           rows["kernel"] = 1 << 16;
         }
       }},
      {"kind", [&](Json& json) { op(json, 0)["inputs"][0]["rows"]["kind"] = "odd"; }},
      {"x",
       [&](Json& json) {
         op(json, 0)["ms"]["x"] = {0.0, 0.5, 0.5};
       }},
      {"x",
       [&](Json& json) {
         op(json, 0)["ms"]["x"] = {0.0, 0.5, 1.5};
       }},
      {"y",
       [&](Json& json) {
         op(json, 0)["ms"]["y"] = {0.0, 0.5};
       }},
      {"y", [&](Json& json) { op(json, 0)["ms"]["y"][1] = -0.5; }},
      {"y", [&](Json& json) { op(json, 0)["ms"]["y"][1] = 1e300; }},
      {"y",
       [&](Json& json) {
         Json& curve = op(json, 0)["ms"];
         for (int i = 0; i <= 1 << 12; ++i) {
           curve["x"][i] = i * 1e-4;
           curve["y"][i] = i;
         }
       }},
      {"active", [&](Json& json) { op(json, 0)["active"]["y"][1] = 1.5; }},
      {"row_bytes", [&](Json& json) { op(json, 0)["row_bytes"] = int64_t{1} << 41; }},
      {"dense_ms", [&](Json& json) { op(json, 0)["dense_ms"] = 1e300; }},
  };
  for (const Case& wrong : cases) {
    const std::string refusal = Refusal(wrong.damage);
    EXPECT_NE(refusal.find(std::string(": ") + wrong.in_message + " must be"), std::string::npos)
        << wrong.in_message << ": " << refusal;
    EXPECT_EQ(refusal.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace cacheinf
