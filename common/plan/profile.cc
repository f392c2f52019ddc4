#include "common/plan/profile.h"

#include <fmt/core.h>

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/error.h"
#include "common/base/file.h"
#include "common/base/json_fields.h"
#include "common/model/graph/words.h"

namespace cacheinf {
namespace {

constexpr const char* kFormat = "cacheinf profile";
constexpr uint64_t kLargestProfile = uint64_t{64} << 20;
constexpr double kLargestNumber = 1e15;
constexpr int64_t kMostRows = 1 << 16;
constexpr int64_t kMostOperators = 1 << 20;
constexpr size_t kMostPoints = 1 << 12;
constexpr int64_t kMostTaps = int64_t{1} << 31;

constexpr Whole kRows = {1, kMostRows};
constexpr Whole kPadding = {-kMostRows, kMostRows};
constexpr Whole kTaps = {1, 1 << 10};
// Milliseconds, bytes, watts.
constexpr Real kAmount = {0, kLargestNumber, "a number, 0 or more", "a number, 0 or more"};
constexpr Real kShare = {0, 1, "a number from 0 to 1", "a number from 0 to 1"};

// Everything that windows read, row by row; a plan has to look at it all.
int64_t CountTaps(const std::vector<ProfiledOperator>& operators) {
  int64_t taps = 0;
  for (const ProfiledOperator& op : operators) {
    for (const ProfiledOperator::Input& input : op.inputs) {
      const AxisWindow& rows = input.rows;
      taps += int64_t{rows.out_size} * rows.tile * rows.window.kernel;
    }
  }
  return taps;
}

void VisitJudged(const char* agreement, const char* weight,
                 MaybeConst<JudgedAgreement> auto& judged, auto& visit) {
  if (!visit.Has(agreement, judged.weight > 0)) return;
  visit(agreement, judged.agreement, kShare);
  visit(weight, judged.weight, kAmount);
}

}  // namespace

template <MaybeConst<Curve> T, typename Visit>
void VisitFields(T& curve, Visit& visit) {
  std::vector<double> xs;
  std::vector<double> ys;
  for (const Curve::Point& point : curve.points) {
    xs.push_back(point.x);
    ys.push_back(point.y);
  }
  visit("x", xs);
  visit("y", ys);
  static_assert(kMostPoints == 4096);
  visit.Check(xs.size() == ys.size() && xs.size() <= kMostPoints, "y",
              "as many numbers as x has, at most 4096");
  if constexpr (Visit::kReads) {
    double before = -1;
    for (size_t i = 0; i < xs.size(); ++i) {
      visit.Check(xs[i] > before && xs[i] >= 0 && xs[i] <= 1, "x",
                  "shares between 0 and 1, each greater than the one before");
      visit.Check(ys[i] >= 0 && ys[i] <= kLargestNumber, "y", "numbers, 0 or more");
      curve.points.push_back({xs[i], ys[i]});
      before = xs[i];
    }
  }
}

template <MaybeConst<AxisWindow> T, typename Visit>
void VisitFields(T& rows, Visit& visit) {
  visit("kind", rows.kind);
  visit("in", rows.in_size, kRows);
  visit("out", rows.out_size, kRows);
  visit("kernel", rows.window.kernel, kRows);
  visit("stride", rows.window.stride, kTaps);
  visit("pad_begin", rows.window.pad_begin, kPadding);
  visit("pad_end", rows.window.pad_end, kPadding);
  visit("dilation", rows.window.dilation, kTaps);
  visit("tile", rows.tile, kTaps);
  if (rows.kind != AxisWindow::Kind::kResize) return;
  visit.Object("resize", [&](auto& resize) {
    resize("kind", rows.resize.kind);
    resize("coordinates", rows.resize.coordinates);
    resize("rounding", rows.resize.rounding);
    resize("scale", rows.resize.scale_rows, kAmount);
  });
  if constexpr (Visit::kReads) rows.resize.out_height = rows.out_size;
}

void VisitFields(MaybeConst<ProfiledCodec> auto& codec, auto& visit) {
  visit("codec", codec.codec);
  visit("bytes", codec.bytes);
  visit("encode_ms", codec.encode_ms, kAmount);
  visit("decode_ms", codec.decode_ms, kAmount);
  if (visit.Has("seen", true)) visit("seen", codec.seen);
  VisitJudged("agreement", "agreement_weight", codec.judged, visit);
}

namespace {

// `before`: the operators before it; only they may be inputs.
template <typename Operator, typename Visit>
void VisitOperator(Operator& op, std::span<const ProfiledOperator> before, Visit& visit) {
  visit("name", op.name);
  visit("kind", op.kind);
  visit.List("inputs", op.inputs, [&](auto& input, auto& of_input) {
    of_input("from", input.from, Whole{-1, static_cast<int64_t>(before.size()) - 1});
    of_input("rows", input.rows);
  });
  visit("rows", op.rows, kRows);
  if constexpr (Visit::kReads) {
    for (const ProfiledOperator::Input& input : op.inputs) {
      visit.Check(input.rows.out_size == op.rows, "inputs: rows",
                  "a window of as many rows as its operator's");
      visit.Check(input.from < 0 || input.rows.in_size == before[input.from].rows, "inputs: rows",
                  "a window over as many rows as those that it reads");
    }
  }
  visit("row_bytes", op.row_bytes, kNotNegative);
  visit.Check(op.row_bytes <= int64_t{1} << 40, "row_bytes", "at most 2^40");
  visit("is_local", op.is_local);
  visit("is_kept", op.is_kept);
  visit("is_output", op.is_output);
  visit("is_view", op.is_view);
  visit("ms", op.ms);
  visit("dense_ms", op.dense_ms, kAmount);
  visit("refresh_ms", op.refresh_ms);
  visit("active", op.active);
  visit.Check(op.active.points.empty() || op.active.points.back().y <= 1, "active",
              "a curve of shares between 0 and 1");
  visit("slice_bytes", op.slice_bytes);
  visit("encode_ms", op.encode_ms);
  visit("decode_ms", op.decode_ms);
  visit("whole_bytes", op.whole_bytes, kAmount);
  visit("whole_encode_ms", op.whole_encode_ms, kAmount);
  visit("whole_decode_ms", op.whole_decode_ms, kAmount);
}

}  // namespace

void VisitFields(MaybeConst<Profile> auto& profile, auto& visit) {
  visit.Constant("format", kFormat);
  visit.Constant("version", Profile::kVersion);
  visit("side", profile.side);
  visit("model", profile.model);
  visit.Hex("model_checksum", profile.model_checksum);
  visit("settings", profile.settings);
  if (visit.Has("sampled", true)) visit("sampled", profile.sampled);
  visit("machine", profile.machine);
  visit("machine_fingerprint", profile.machine_fingerprint);
  visit("build", profile.build);
  visit("backend", profile.backend);
  visit("threads", profile.threads, Whole{1, 1 << 16});
  visit("slice_codec", profile.slice_codec);
  constexpr const char* kOperators = "a list of operators' numbers";
  visit("winograd_layers", profile.winograd_layers,
        Whole{0, kMostOperators - 1, kOperators, kOperators});
  visit("winograd_difference", profile.winograd_difference, kAmount);
  visit("assumptions", profile.assumptions);
  visit("picture_slice_bytes", profile.picture_slice_bytes);
  visit("picture_encode_ms", profile.picture_encode_ms);
  visit("picture_decode_ms", profile.picture_decode_ms);
  visit("fit_ms", profile.fit_ms, kAmount);
  visit("decide_ms", profile.decide_ms);
  visit("read_ms", profile.read_ms, kAmount);
  visit("codecs", profile.codecs);
  VisitJudged("cache_agreement", "cache_agreement_weight", profile.cache_judged, visit);
  visit("answer_bytes", profile.answer_bytes, kAmount);
  visit("answer_encode_ms", profile.answer_encode_ms, kAmount);
  visit("answer_decode_ms", profile.answer_decode_ms, kAmount);
  visit("computing_watts", profile.computing_watts, kAmount);
  visit("sending_watts", profile.sending_watts, kAmount);
  visit("waiting_watts", profile.waiting_watts, kAmount);
  visit("median_error", profile.median_error, kAmount);
  visit("p95_error", profile.p95_error, kAmount);
  visit("active_median_error", profile.active_median_error, kAmount);
  visit("active_p95_error", profile.active_p95_error, kAmount);
  visit.List("operators", profile.operators, [&](auto& op, auto& of_operator) {
    VisitOperator(op, {profile.operators.data(), &op}, of_operator);
  });
  visit.Check(!profile.operators.empty(), "operators", "a list of at least one operator");
  visit.Check(CountTaps(profile.operators) <= kMostTaps, "operators",
              "operators of fewer rows and smaller windows");
}

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

std::string ToJsonText(const Profile& profile) { return TextOf(WriteFields(profile)) + "\n"; }

Profile ParseProfile(const std::string& text, const std::string& name) {
  try {
    return ReadFields<Profile>(JsonReader(text, name));
  } catch (const InputError& error) {
    throw InputError(fmt::format(
        "{}; is this a profile of this version? cacheinf-profile measure makes a new one",
        error.what()));
  }
}

Profile LoadProfile(const std::filesystem::path& path) {
  return ParseProfile(ReadFile(path, kLargestProfile), path.string());
}

}  // namespace cacheinf
