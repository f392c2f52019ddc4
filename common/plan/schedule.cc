#include "common/plan/schedule.h"

#include <fmt/core.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include "common/base/error.h"
#include "common/base/file.h"
#include "common/base/json_fields.h"

namespace cacheinf {
namespace {

constexpr const char* kScheduleFormat = "cacheinf schedule";
constexpr const char* kSolveAgain = "solve it again (cacheinf-schedule solve)";
constexpr size_t kMostSteps = 1000;  // steps of an axis
constexpr size_t kMostBuckets = 1 << 20;
constexpr int64_t kLastOperator = 1 << 20;
// Milliseconds, joules.
constexpr Real kCost = {0, 1e15, "at least 0 and at most 1e+15"};

void VisitAxis(const char* key, auto& steps, double most, auto& visit) {
  visit(key, steps);
  const bool ascends = std::ranges::adjacent_find(steps, std::greater_equal()) == steps.end();
  visit.Check(!steps.empty() && steps.size() <= kMostSteps && steps[0] >= 0 &&
                  steps.back() <= most && ascends,
              key, "a list of ascending numbers");
}

// A value's place on an axis: this fraction of the way from a step to the next.
struct AxisPlace {
  size_t step = 0;
  double fraction = 0;
};

AxisPlace PlaceOn(const std::vector<double>& steps, double value, const auto& scale) {
  const auto next = std::ranges::upper_bound(steps, value);
  if (next == steps.begin()) return {0, 0.0};
  const auto step = static_cast<size_t>(next - steps.begin()) - 1;
  if (next == steps.end()) return {step, 0.0};
  const double begin = scale(steps[step]);
  const double whole = scale(*next) - begin;
  return {step, whole > 0 ? (scale(value) - begin) / whole : 0.0};
}

}  // namespace

template <MaybeConst<Schedule::Bucket> T, typename Visit>
void VisitFields(T& bucket, Visit& visit) {
  auto& plan = bucket.plan;
  visit("kind", plan.kind);
  visit("keeps", plan.keeps);
  if (plan.kind == Plan::Kind::kRemote) visit("codec", plan.codec);
  if (plan.kind == Plan::Kind::kSplit) {
    std::vector<int64_t> after;
    std::vector<int64_t> shares;
    for (const Cut& cut : plan.cuts) {
      after.push_back(cut.after);
      shares.push_back(cut.robot_thousandths);
    }
    visit("after", after, Whole());
    visit("robot_thousandths", shares, Whole());
    visit.Check(after.size() == shares.size(), "after", "as long as robot_thousandths");
    if constexpr (Visit::kReads) {
      int64_t least = -1;
      for (size_t i = 0; i < after.size(); ++i) {
        visit.Check(after[i] >= least && after[i] <= kLastOperator, "after", "ascending operators");
        visit.Check(shares[i] >= 0 && shares[i] <= Cut::kAll, "robot_thousandths",
                    "between 0 and 1000");
        least = after[i] + 1;
        plan.cuts.push_back({static_cast<int>(after[i]), static_cast<int>(shares[i])});
      }
    }
  }
  visit("latency_ms", bucket.latency_ms, kCost);
  visit("energy_j", bucket.energy_j, kCost);
}

// All but profiles and buckets.
void VisitFields(MaybeConst<Schedule> auto& schedule, auto& visit) {
  visit.Constant("format", kScheduleFormat);
  visit.Constant("version", Schedule::kVersion);
  visit("model", schedule.model);
  visit("planner", schedule.planner);
  visit.Hex("seed", schedule.seed);
  visit("round_trip_ms", schedule.round_trip_ms, kCost);
  visit("server_queue_ms", schedule.server_queue_ms, kCost);
  VisitAxis("mbit", schedule.mbit, 1e9, visit);
  VisitAxis("robot_work", schedule.robot_work, 1, visit);
  VisitAxis("server_work", schedule.server_work, 1, visit);
}

uint64_t FingerprintOf(const Profile& profile) {
  const std::string text = ToJsonText(profile);
  return XXH3_64bits(text.data(), text.size());
}

Situation Schedule::SituationOf(size_t bucket) const {
  Situation situation;
  situation.server_work = server_work[bucket % server_work.size()];
  bucket /= server_work.size();
  situation.robot_work = robot_work[bucket % robot_work.size()];
  situation.mbit_up = situation.mbit_down = mbit[bucket / robot_work.size()];
  situation.round_trip_ms = round_trip_ms;
  situation.server_queue_ms = server_queue_ms;
  return situation;
}

Schedule::Found Schedule::Lookup(const Situation& situation) const {
  // Anything slower than a quarter of the slowest link counts as no link.
  const double least_mbit = mbit[0] > 0 || mbit.size() == 1 ? mbit[0] : mbit[1];
  const auto logarithm = [&](double value) {
    return std::log(std::max({value, least_mbit / 4, 1e-9}));
  };
  const auto identity = [](double value) { return value; };
  const std::array<AxisPlace, 3> places = {
      PlaceOn(mbit, std::min(situation.mbit_up, situation.mbit_down), logarithm),
      PlaceOn(robot_work, situation.robot_work, identity),
      PlaceOn(server_work, situation.server_work, identity)};
  Found found;
  std::vector<std::pair<double, size_t>> corners;  // weight, bucket
  for (unsigned corner = 0; corner < 8; ++corner) {
    double weight = 1;
    std::array<size_t, 3> steps = {};
    for (size_t axis = 0; axis < 3; ++axis) {
      const bool is_next = (corner >> axis & 1U) != 0;
      weight *= is_next ? places[axis].fraction : 1 - places[axis].fraction;
      steps[axis] = places[axis].step + (is_next ? 1 : 0);
    }
    if (weight <= 0) continue;
    const size_t bucket = IndexOf(steps[0], steps[1], steps[2]);
    corners.emplace_back(weight, bucket);
    found.latency_ms += weight * buckets[bucket].latency_ms;
  }
  std::ranges::stable_sort(corners, std::greater<>(), &std::pair<double, size_t>::first);
  found.bucket = corners.front().second;
  for (const auto& [weight, bucket] : corners) {
    const Plan& plan = buckets[bucket].plan;
    if (std::ranges::find(found.plans, plan) == found.plans.end()) found.plans.push_back(plan);
  }
  return found;
}

std::string ToJsonText(const Schedule& schedule) {
  // One line per bucket, and per profile.
  std::string text = TextOf(WriteFields(schedule), 1);
  text.erase(text.rfind('\n'));
  const auto in_one_line = [](const Profile& profile) {
    return FieldsJson::parse(ToJsonText(profile)).dump();
  };
  text += ",\n \"robot\": " + in_one_line(schedule.robot);
  text += ",\n \"server\": " + in_one_line(schedule.server);
  text += ",\n \"buckets\": [\n";
  for (size_t i = 0; i < schedule.buckets.size(); ++i) {
    const Schedule::Bucket& bucket = schedule.buckets[i];
    text += "  " + (bucket.is_solved ? WriteFields(bucket).dump() : "null") +
            (i + 1 == schedule.buckets.size() ? "\n" : ",\n");
  }
  return text + " ]\n}\n";
}

namespace {

Schedule ScheduleOf(const std::string& text, const std::string& name) {
  const JsonReader json(text, name);
  if (!json.Has("format") || json.json()["format"] != kScheduleFormat) {
    throw InputError(fmt::format("{}: not a schedule of cacheinf-schedule", name));
  }
  int64_t version = 0;
  json("version", version);
  if (version != Schedule::kVersion) {
    throw InputError(fmt::format("{}: a schedule of another version of CacheInf", name));
  }
  auto schedule = ReadFields<Schedule>(json);
  schedule.robot = ParseProfile(json.Object("robot").json().dump(), name + ": robot");
  schedule.server = ParseProfile(json.Object("server").json().dump(), name + ": server");
  CheckArePair(schedule.robot, schedule.server, name);
  const size_t count =
      schedule.mbit.size() * schedule.robot_work.size() * schedule.server_work.size();
  if (count > kMostBuckets || !json.Has("buckets") || !json.json()["buckets"].is_array() ||
      json.json()["buckets"].size() != count) {
    json.Refuse("buckets", "a list with one for every step of the axes");
  }
  for (const FieldsJson& bucket : json.json()["buckets"]) {
    schedule.buckets.emplace_back();
    if (bucket.is_null()) continue;
    schedule.buckets.back() =
        ReadFields<Schedule::Bucket>(JsonReader(bucket, fmt::format("{}: buckets", name)));
    schedule.buckets.back().is_solved = true;
  }
  const auto operators = static_cast<int>(schedule.robot.operators.size());
  for (const Schedule::Bucket& bucket : schedule.buckets) {
    if (!bucket.plan.cuts.empty() && bucket.plan.cuts.back().after >= operators) {
      json.Refuse("buckets", "plans for the operators of its profiles");
    }
    if (bucket.plan.kind == Plan::Kind::kRemote &&
        std::ranges::find(schedule.robot.codecs, bucket.plan.codec, &ProfiledCodec::codec) ==
            schedule.robot.codecs.end()) {
      json.Refuse("buckets", "plans with the codecs of its profiles");
    }
  }
  return schedule;
}

}  // namespace

Schedule ParseSchedule(const std::string& text, const std::string& name, bool may_lack) {
  Schedule schedule;
  try {
    schedule = ScheduleOf(text, name);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}; {}", error.what(), kSolveAgain));
  }
  if (!may_lack && !std::ranges::all_of(schedule.buckets, &Schedule::Bucket::is_solved)) {
    throw InputError(fmt::format(
        "{}: not solved to the end; continue with cacheinf-schedule solve --resume", name));
  }
  return schedule;
}

Schedule LoadSchedule(const std::filesystem::path& path, bool may_lack) {
  return ParseSchedule(ReadFile(path, kLargestSchedule), path.string(), may_lack);
}

void CheckIsOf(const Schedule& schedule, const std::string& name, const Profile& robot,
               const Profile& server) {
  const auto refuse = [&](const char* what) {
    throw InputError(fmt::format("{}: {}; {}", name, what, kSolveAgain));
  };
  if (FingerprintOf(schedule.robot) != FingerprintOf(robot)) {
    refuse("solved from another profile of the robot");
  }
  if (FingerprintOf(schedule.server) != FingerprintOf(server)) {
    refuse("solved from another profile of the server");
  }
}

}  // namespace cacheinf
