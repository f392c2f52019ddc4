#include "common/plan/profile.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "common/base/checked_json.h"
#include "common/base/error.h"
#include "common/base/file.h"

namespace cacheinf {
namespace {

using ProfileJson = CheckedJson::Json;

constexpr const char* kFormat = "cacheinf profile";
constexpr uint64_t kLargestProfile = uint64_t{64} << 20;
constexpr double kLargestNumber = 1e15;  // milliseconds, bytes, watts
constexpr int64_t kMostRows = 1 << 16;
constexpr int64_t kMostTaps = 1 << 10;
constexpr int64_t kMostThreads = 1 << 16;
constexpr size_t kMostOperators = 1 << 20;
constexpr size_t kMostPoints = 1 << 12;

constexpr Words<7> kWindowKinds = {"sliding", "transposed", "resize", "reflect",
                                   "edge",    "broadcast",  "whole"};
constexpr Words<3> kResizeKinds = {"nearest", "linear", "cubic"};
constexpr Words<5> kCoordinates = {"half_pixel", "pytorch_half_pixel", "align_corners",
                                   "asymmetric", "half_pixel_symmetric"};
constexpr Words<4> kRoundings = {"prefer_floor", "prefer_ceil", "floor", "ceil"};

// ---------------------------------------------------------------------------------------------
// Writing.

template <size_t kCount, typename Enum>
const char* WordOf(const Words<kCount>& words, Enum value) {
  return words[static_cast<size_t>(value)];
}

ProfileJson ToJson(const Curve& curve) {
  ProfileJson json = {{"x", ProfileJson::array()}, {"y", ProfileJson::array()}};
  for (const Curve::Point& point : curve.points) {
    json["x"].push_back(point.x);
    json["y"].push_back(point.y);
  }
  return json;
}

ProfileJson ToJson(const AxisWindow& rows) {
  ProfileJson json = {{"kind", WordOf(kWindowKinds, rows.kind)},
                      {"in", rows.in_size},
                      {"out", rows.out_size},
                      {"kernel", rows.window.kernel},
                      {"stride", rows.window.stride},
                      {"pad_begin", rows.window.pad_begin},
                      {"pad_end", rows.window.pad_end},
                      {"dilation", rows.window.dilation},
                      {"tile", rows.tile}};
  if (rows.kind != AxisWindow::Kind::kResize) return json;
  const ResizeSpec& resize = rows.resize;
  json["resize"] = {{"kind", WordOf(kResizeKinds, resize.kind)},
                    {"coordinates", WordOf(kCoordinates, resize.coordinates)},
                    {"rounding", WordOf(kRoundings, resize.rounding)},
                    {"scale", resize.scale_rows}};
  return json;
}

ProfileJson ToJson(const ProfiledOperator& op) {
  ProfileJson inputs = ProfileJson::array();
  for (const ProfiledOperator::Input& input : op.inputs) {
    inputs.push_back({{"from", input.from}, {"rows", ToJson(input.rows)}});
  }
  return {{"name", op.name},
          {"kind", op.kind},
          {"inputs", std::move(inputs)},
          {"rows", op.rows},
          {"row_bytes", op.row_bytes},
          {"is_local", op.is_local},
          {"is_kept", op.is_kept},
          {"is_output", op.is_output},
          {"is_view", op.is_view},
          {"ms", ToJson(op.ms)},
          {"dense_ms", op.dense_ms},
          {"refresh_ms", ToJson(op.refresh_ms)},
          {"active", ToJson(op.active)},
          {"slice_bytes", ToJson(op.slice_bytes)},
          {"encode_ms", ToJson(op.encode_ms)},
          {"decode_ms", ToJson(op.decode_ms)},
          {"whole_bytes", op.whole_bytes},
          {"whole_encode_ms", op.whole_encode_ms},
          {"whole_decode_ms", op.whole_decode_ms}};
}

ProfileJson ToJson(const ProfiledCodec& codec) {
  return {{"codec", codec.codec},
          {"bytes", ToJson(codec.bytes)},
          {"encode_ms", codec.encode_ms},
          {"decode_ms", codec.decode_ms},
          {"seen", ToJson(codec.seen)}};
}

template <typename Item>
ProfileJson ListOf(const std::vector<Item>& items) {
  ProfileJson list = ProfileJson::array();
  for (const Item& item : items) list.push_back(ToJson(item));
  return list;
}

// ---------------------------------------------------------------------------------------------
// Reading.

int IntegerIn(const CheckedJson& json, const char* key, int64_t least, int64_t most) {
  const int64_t integer = json.Integer(key);
  if (integer < least || integer > most) {
    json.Refuse(key, fmt::format("between {} and {}", least, most));
  }
  return static_cast<int>(integer);
}

double AmountOf(const CheckedJson& json, const char* key) {
  const bool is_number = json.Has(key) && json.json()[key].is_number();
  const double number = is_number ? json.json()[key].get<double>() : -1;
  if (!(number >= 0 && number <= kLargestNumber)) json.Refuse(key, "a number, 0 or more");
  return number;
}

template <typename Enum, size_t kCount>
Enum WordIn(const CheckedJson& json, const char* key, const Words<kCount>& words) {
  const std::string word = json.Text(key);
  for (size_t i = 0; i < kCount; ++i) {
    if (word == words[i]) return static_cast<Enum>(i);
  }
  json.Refuse(key, fmt::format("one of {}", fmt::join(words, ", ")));
}

Curve CurveOf(const CheckedJson& parent, const char* key) {
  const CheckedJson json = parent.Object(key);
  const std::vector<double> xs = json.Numbers("x");
  const std::vector<double> ys = json.Numbers("y");
  if (xs.size() != ys.size() || xs.size() > kMostPoints) {
    json.Refuse("y", fmt::format("as many numbers as x has, at most {}", kMostPoints));
  }
  Curve curve;
  double before = -1;
  for (size_t i = 0; i < xs.size(); ++i) {
    if (!(xs[i] > before && xs[i] >= 0 && xs[i] <= 1)) {
      json.Refuse("x", "shares between 0 and 1, each greater than the one before");
    }
    if (!(ys[i] >= 0 && ys[i] <= kLargestNumber)) json.Refuse("y", "numbers, 0 or more");
    curve.points.push_back({xs[i], ys[i]});
    before = xs[i];
  }
  return curve;
}

AxisWindow WindowOf(const CheckedJson& json) {
  AxisWindow rows;
  rows.kind = WordIn<AxisWindow::Kind>(json, "kind", kWindowKinds);
  rows.in_size = IntegerIn(json, "in", 1, kMostRows);
  rows.out_size = IntegerIn(json, "out", 1, kMostRows);
  rows.window.kernel = IntegerIn(json, "kernel", 1, kMostRows);
  rows.window.stride = IntegerIn(json, "stride", 1, kMostTaps);
  rows.window.pad_begin = IntegerIn(json, "pad_begin", -kMostRows, kMostRows);
  rows.window.pad_end = IntegerIn(json, "pad_end", -kMostRows, kMostRows);
  rows.window.dilation = IntegerIn(json, "dilation", 1, kMostTaps);
  rows.tile = IntegerIn(json, "tile", 1, kMostTaps);
  if (rows.kind != AxisWindow::Kind::kResize) return rows;
  const CheckedJson resize = json.Object("resize");
  rows.resize.kind = WordIn<ResizeSpec::Kind>(resize, "kind", kResizeKinds);
  rows.resize.coordinates = WordIn<ResizeSpec::Coordinates>(resize, "coordinates", kCoordinates);
  rows.resize.rounding = WordIn<ResizeSpec::Rounding>(resize, "rounding", kRoundings);
  rows.resize.scale_rows = static_cast<float>(AmountOf(resize, "scale"));
  rows.resize.out_height = rows.out_size;
  return rows;
}

// `before`: the operators read so far; only they may be inputs.
std::vector<ProfiledOperator::Input> InputsOf(const CheckedJson& json, int rows,
                                              const std::vector<ProfiledOperator>& before) {
  std::vector<ProfiledOperator::Input> inputs;
  for (const CheckedJson& input : json.Objects("inputs")) {
    const int from = IntegerIn(input, "from", -1, static_cast<int64_t>(before.size()) - 1);
    inputs.push_back({from, WindowOf(input.Object("rows"))});
    const AxisWindow& window = inputs.back().rows;
    if (window.out_size != rows) input.Refuse("rows", "a window of as many rows as its operator's");
    if (from >= 0 && window.in_size != before[static_cast<size_t>(from)].rows) {
      input.Refuse("rows", "a window over as many rows as those that it reads");
    }
  }
  return inputs;
}

ProfiledOperator OperatorOf(const CheckedJson& json, const std::vector<ProfiledOperator>& before) {
  ProfiledOperator op;
  op.name = json.Text("name");
  op.kind = json.Text("kind");
  op.rows = IntegerIn(json, "rows", 1, kMostRows);
  op.inputs = InputsOf(json, op.rows, before);
  op.row_bytes = json.Integer("row_bytes", 0);
  if (op.row_bytes > int64_t{1} << 40) json.Refuse("row_bytes", "at most 2^40");
  op.is_local = json.Bool("is_local");
  op.is_kept = json.Bool("is_kept");
  op.is_output = json.Bool("is_output");
  op.is_view = json.Bool("is_view");
  op.ms = CurveOf(json, "ms");
  op.dense_ms = AmountOf(json, "dense_ms");
  op.refresh_ms = CurveOf(json, "refresh_ms");
  op.active = CurveOf(json, "active");
  if (!op.active.points.empty() && op.active.points.back().y > 1) {
    json.Refuse("active", "a curve of shares between 0 and 1");
  }
  op.slice_bytes = CurveOf(json, "slice_bytes");
  op.encode_ms = CurveOf(json, "encode_ms");
  op.decode_ms = CurveOf(json, "decode_ms");
  op.whole_bytes = AmountOf(json, "whole_bytes");
  op.whole_encode_ms = AmountOf(json, "whole_encode_ms");
  op.whole_decode_ms = AmountOf(json, "whole_decode_ms");
  return op;
}

ProfiledCodec CodecOf(const CheckedJson& json) {
  return {json.Text("codec"), CurveOf(json, "bytes"), AmountOf(json, "encode_ms"),
          AmountOf(json, "decode_ms"), json.Has("seen") ? CurveOf(json, "seen") : Curve()};
}

std::vector<std::string> TextsOf(const CheckedJson& json, const char* key) {
  std::vector<std::string> texts;
  if (!json.Has(key) || !json.json()[key].is_array()) json.Refuse(key, "a list of texts");
  for (const ProfileJson& text : json.json()[key]) {
    if (!text.is_string()) json.Refuse(key, "a list of texts");
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

std::vector<int> OperatorsIn(const CheckedJson& json, const char* key) {
  constexpr const char* kMust = "a list of operators' numbers";
  std::vector<int> operators;
  if (!json.Has(key) || !json.json()[key].is_array()) json.Refuse(key, kMust);
  for (const ProfileJson& number : json.json()[key]) {
    const bool is_one = number.is_number_unsigned() && number.get<uint64_t>() < kMostOperators;
    if (!is_one) json.Refuse(key, kMust);
    operators.push_back(number.get<int>());
  }
  return operators;
}

void ReadWhatItIsOf(const CheckedJson& json, Profile* profile) {
  profile->side = json.Choice<Side>("side");
  profile->model = json.Text("model");
  profile->model_checksum = json.Hex("model_checksum");
  profile->settings = json.Text("settings");
  if (json.Has("sampled")) profile->sampled = json.Text("sampled");
  profile->machine = json.Text("machine");
  profile->machine_fingerprint = json.Text("machine_fingerprint");
  profile->build = json.Text("build");
  profile->backend = json.Text("backend");
  profile->threads = IntegerIn(json, "threads", 1, kMostThreads);
  profile->slice_codec = json.Choice<SliceCodec>("slice_codec");
  profile->winograd_layers = OperatorsIn(json, "winograd_layers");
  if (json.Has("winograd_difference") && json.json()["winograd_difference"].is_null()) {
    profile->winograd_difference.reset();
  } else {
    profile->winograd_difference = AmountOf(json, "winograd_difference");
  }
  profile->assumptions = TextsOf(json, "assumptions");
}

void ReadFrame(const CheckedJson& json, Profile* profile) {
  profile->picture_slice_bytes = CurveOf(json, "picture_slice_bytes");
  profile->picture_encode_ms = CurveOf(json, "picture_encode_ms");
  profile->picture_decode_ms = CurveOf(json, "picture_decode_ms");
  profile->fit_ms = AmountOf(json, "fit_ms");
  profile->decide_ms = CurveOf(json, "decide_ms");
  profile->read_ms = AmountOf(json, "read_ms");
  for (const CheckedJson& codec : json.Objects("codecs")) profile->codecs.push_back(CodecOf(codec));
  profile->answer_bytes = AmountOf(json, "answer_bytes");
  profile->answer_encode_ms = AmountOf(json, "answer_encode_ms");
  profile->answer_decode_ms = AmountOf(json, "answer_decode_ms");
  profile->computing_watts = AmountOf(json, "computing_watts");
  profile->sending_watts = AmountOf(json, "sending_watts");
  profile->waiting_watts = AmountOf(json, "waiting_watts");
  profile->median_error = AmountOf(json, "median_error");
  profile->p95_error = AmountOf(json, "p95_error");
  profile->active_median_error = AmountOf(json, "active_median_error");
  profile->active_p95_error = AmountOf(json, "active_p95_error");
}

Profile ProfileOf(const CheckedJson& json) {
  if (json.Text("format") != kFormat) json.Refuse("format", kFormat);
  if (json.Integer("version") != Profile::kVersion) {
    json.Refuse("version", fmt::format("{}", Profile::kVersion));
  }
  Profile profile;
  ReadWhatItIsOf(json, &profile);
  ReadFrame(json, &profile);
  for (const CheckedJson& op : json.Objects("operators")) {
    if (profile.operators.size() == kMostOperators) json.Refuse("operators", "fewer");
    profile.operators.push_back(OperatorOf(op, profile.operators));
  }
  if (profile.operators.empty()) json.Refuse("operators", "a list of at least one operator");
  return profile;
}

}  // namespace

std::string WinogradText(const Profile& profile) {
  if (profile.winograd_layers.empty()) return "";
  const std::string error =
      profile.winograd_difference ? fmt::format("{:.1e}", *profile.winograd_difference) : "unknown";
  return fmt::format("{} convolutions by Winograd, relative error {}",
                     profile.winograd_layers.size(), error);
}

Profile SlowedDown(Profile profile, double factor) {
  if (factor == 1) return profile;
  const auto slow = [factor](Curve& curve) {
    for (Curve::Point& point : curve.points) point.y *= factor;
  };
  for (ProfiledOperator& op : profile.operators) {
    for (Curve* const curve : {&op.ms, &op.refresh_ms, &op.encode_ms, &op.decode_ms}) slow(*curve);
    for (double* const time : {&op.dense_ms, &op.whole_encode_ms, &op.whole_decode_ms}) {
      *time *= factor;
    }
  }
  for (Curve* const curve :
       {&profile.decide_ms, &profile.picture_encode_ms, &profile.picture_decode_ms}) {
    slow(*curve);
  }
  for (ProfiledCodec& codec : profile.codecs) {
    codec.encode_ms *= factor;
    codec.decode_ms *= factor;
  }
  for (double* const time :
       {&profile.fit_ms, &profile.read_ms, &profile.answer_encode_ms, &profile.answer_decode_ms}) {
    *time *= factor;
  }
  profile.assumptions.push_back(
      fmt::format("everything takes {} times as long as measured", factor));
  return profile;
}

std::string ToJsonText(const Profile& profile) {
  const ProfileJson winograd_difference =
      profile.winograd_difference ? ProfileJson(*profile.winograd_difference) : ProfileJson();
  const ProfileJson json = {{"format", kFormat},
                            {"version", Profile::kVersion},
                            {"side", NameOf(profile.side)},
                            {"model", profile.model},
                            {"model_checksum", fmt::format("{:016x}", profile.model_checksum)},
                            {"settings", profile.settings},
                            {"sampled", profile.sampled},
                            {"machine", profile.machine},
                            {"machine_fingerprint", profile.machine_fingerprint},
                            {"build", profile.build},
                            {"backend", profile.backend},
                            {"threads", profile.threads},
                            {"slice_codec", NameOf(profile.slice_codec)},
                            {"winograd_layers", profile.winograd_layers},
                            {"winograd_difference", winograd_difference},
                            {"assumptions", profile.assumptions},
                            {"picture_slice_bytes", ToJson(profile.picture_slice_bytes)},
                            {"picture_encode_ms", ToJson(profile.picture_encode_ms)},
                            {"picture_decode_ms", ToJson(profile.picture_decode_ms)},
                            {"fit_ms", profile.fit_ms},
                            {"decide_ms", ToJson(profile.decide_ms)},
                            {"read_ms", profile.read_ms},
                            {"codecs", ListOf(profile.codecs)},
                            {"answer_bytes", profile.answer_bytes},
                            {"answer_encode_ms", profile.answer_encode_ms},
                            {"answer_decode_ms", profile.answer_decode_ms},
                            {"computing_watts", profile.computing_watts},
                            {"sending_watts", profile.sending_watts},
                            {"waiting_watts", profile.waiting_watts},
                            {"median_error", profile.median_error},
                            {"p95_error", profile.p95_error},
                            {"active_median_error", profile.active_median_error},
                            {"active_p95_error", profile.active_p95_error},
                            {"operators", ListOf(profile.operators)}};
  // JSON must be UTF-8, but names in a model's file may not be.
  return json.dump(-1, ' ', /*ensure_ascii=*/false, ProfileJson::error_handler_t::replace) + "\n";
}

Profile ParseProfile(const std::string& text, const std::string& name) {
  try {
    return ProfileOf(CheckedJson(text, name));
  } catch (const InputError& error) {
    throw InputError(fmt::format(
        "{}; is this a profile of this version? cacheinf-profile measure or import makes a new "
        "one",
        error.what()));
  }
}

Profile LoadProfile(const std::filesystem::path& path) {
  return ParseProfile(ReadFile(path, kLargestProfile), path.string());
}

}  // namespace cacheinf
