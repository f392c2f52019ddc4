#include "client/calibrate/cache_settings.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace cacheinf {
namespace {

using Policy = CacheConfig::Policy;
using Geometry = CacheConfig::Geometry;
using Tracker = TrackerConfig::Kind;

enum Dimension : size_t { kWay, kChange, kThreshold, kStem, kGrowth, kRefresh, kCount };

struct Way {
  Policy policy;
  Geometry geometry;
  Tracker tracker = Tracker::kHomography;
};
constexpr std::array<Way, 10> kWays = {{{Policy::kChange, Geometry::kNone},
                                        {Policy::kChange, Geometry::kCanvas, Tracker::kHomography},
                                        {Policy::kChange, Geometry::kCanvas, Tracker::kBlock},
                                        {Policy::kChange, Geometry::kWarp, Tracker::kHomography},
                                        {Policy::kChange, Geometry::kWarp, Tracker::kBlock},
                                        {Policy::kFixed, Geometry::kNone},
                                        {Policy::kFixed, Geometry::kCanvas, Tracker::kHomography},
                                        {Policy::kFixed, Geometry::kCanvas, Tracker::kBlock},
                                        {Policy::kFixed, Geometry::kWarp, Tracker::kHomography},
                                        {Policy::kFixed, Geometry::kWarp, Tracker::kBlock}}};

// Each list runs from the safest to the cheapest.
constexpr std::array kChanges = {0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.6};
constexpr std::array kThresholds = {0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3};
constexpr std::array kStems = {3, 2, 1, 0};
constexpr std::array kGrowths = {2, 1, 0};
constexpr std::array kRefreshes = {4, 8, 16, 32, 64};
constexpr std::array kScales = {0.25, 0.5, 1.0, 2.0, 4.0};
constexpr int kScaleOfOne = 2;

template <typename Values>
int IndexOf(const Values& values, typename Values::value_type value) {
  const auto found = std::ranges::find(values, value);
  return static_cast<int>(found - values.begin());
}

auto At(const auto& values, const SettingPoint& point, size_t dimension) {
  return values[static_cast<size_t>(point[dimension])];
}

// Sets what a way does not use to the usual value, from which a step to a way that uses it begins.
SettingPoint Canonical(SettingPoint point) {
  const Way way = At(kWays, point, kWay);
  const bool has_stem = At(kStems, point, kStem) > 0;
  const bool is_change = way.policy == Policy::kChange;
  if (!is_change && !has_stem) point[kChange] = IndexOf(kChanges, 0.2);
  if (has_stem) point[kThreshold] = IndexOf(kThresholds, 0.05);
  if (is_change) point[kGrowth] = IndexOf(kGrowths, 1);
  return point;
}

struct Start {
  Way way;
  double change;
  double threshold;
  int stem;
  int refresh = 8;
};

constexpr Way kChangeInPlace = {Policy::kChange, Geometry::kNone};
constexpr Way kChangeOnCanvas = {Policy::kChange, Geometry::kCanvas, Tracker::kHomography};
constexpr Way kChangeByWarp = {Policy::kChange, Geometry::kWarp, Tracker::kHomography};
constexpr Way kFixedInPlace = {Policy::kFixed, Geometry::kNone};
constexpr Way kFixedOnCanvas = {Policy::kFixed, Geometry::kCanvas, Tracker::kHomography};
constexpr Way kFixedByWarp = {Policy::kFixed, Geometry::kWarp, Tracker::kHomography};

constexpr std::array<Start, 14> kStarts = {{
    {kChangeOnCanvas, 0.1, 0.1, 1},
    {kChangeInPlace, 0.1, 0.1, 1},
    {kFixedInPlace, 0.3, 0.1, 2},
    {kFixedOnCanvas, 0.3, 0.1, 2},
    {kChangeOnCanvas, 0.2, 0.05, 0},
    {kChangeInPlace, 0.1, 0.05, 0},
    {kChangeInPlace, 0.15, 0.03, 0, 64},
    {kChangeInPlace, 0.3, 0.05, 0, 32},
    {kChangeOnCanvas, 0.3, 0.1, 0},
    {kFixedInPlace, 0.3, 0.1, 0},
    {kFixedOnCanvas, 0.3, 0.1, 0},
    {kFixedOnCanvas, 0.3, 0.2, 0},
    {kChangeByWarp, 0.3, 0.1, 0},
    {kFixedByWarp, 0.3, 0.1, 0},
}};

SettingPoint PointOf(const Start& start) {
  const auto is_way = [&](const Way& way) {
    return way.policy == start.way.policy && way.geometry == start.way.geometry &&
           way.tracker == start.way.tracker;
  };
  SettingPoint point(kCount, 0);
  point[kWay] = static_cast<int>(std::ranges::find_if(kWays, is_way) - kWays.begin());
  point[kChange] = IndexOf(kChanges, start.change);
  point[kThreshold] = IndexOf(kThresholds, start.threshold);
  point[kStem] = IndexOf(kStems, start.stem);
  point[kGrowth] = IndexOf(kGrowths, 1);
  point[kRefresh] = IndexOf(kRefreshes, start.refresh);
  return point;
}

SettingDimension Ordered(const auto& values) { return {static_cast<int>(values.size()), true}; }

}  // namespace

SearchSpace CacheSettingSpace() {
  SearchSpace space;
  space.dimensions.resize(kCount);
  space.dimensions[kWay] = {static_cast<int>(kWays.size()), false};
  space.dimensions[kChange] = Ordered(kChanges);
  space.dimensions[kThreshold] = Ordered(kThresholds);
  space.dimensions[kStem] = Ordered(kStems);
  space.dimensions[kGrowth] = Ordered(kGrowths);
  space.dimensions[kRefresh] = Ordered(kRefreshes);
  space.canonical = Canonical;
  for (const Start& start : kStarts) space.starts.push_back(Canonical(PointOf(start)));
  return space;
}

RobotConfig WithCacheSettings(RobotConfig base, const SettingPoint& point) {
  const Way way = At(kWays, point, kWay);
  base.mode = RobotConfig::Mode::kCache;
  base.track = 1;
  base.cache.policy = way.policy;
  base.cache.geometry = way.geometry;
  base.cache.change = At(kChanges, point, kChange);
  base.cache.change_scales.clear();
  base.cache.stem = At(kStems, point, kStem);
  base.cache.growth = At(kGrowths, point, kGrowth);
  base.cache.refresh = At(kRefreshes, point, kRefresh);
  base.tracker.kind = way.tracker;
  base.tracker.change.threshold = At(kThresholds, point, kThreshold);
  return base;
}

RobotConfig WithExactPolicy(RobotConfig base) {
  base.mode = RobotConfig::Mode::kCache;
  base.track = 1;
  base.cache.policy = Policy::kExact;
  base.cache.geometry = Geometry::kNone;
  base.cache.change_scales.clear();
  return base;
}

SearchSpace ScaleSpace(int resolutions) {
  SearchSpace space;
  space.dimensions.assign(static_cast<size_t>(resolutions), Ordered(kScales));
  space.starts.emplace_back(resolutions, kScaleOfOne);
  space.canonical = [](SettingPoint point) { return point; };
  return space;
}

RobotConfig WithScales(RobotConfig base, const SettingPoint& point) {
  base.cache.change_scales.clear();
  const bool is_even = std::ranges::all_of(point, [](int index) { return index == kScaleOfOne; });
  for (size_t i = 0; i < point.size() && !is_even; ++i) {
    base.cache.change_scales.push_back(At(kScales, point, i));
  }
  return base;
}

std::string DescribeCacheSettings(const RobotConfig& config) {
  const CacheConfig& cache = config.cache;
  std::string text = NameOf(cache.policy);
  if (cache.policy == Policy::kExact) return text;
  text += cache.geometry != Geometry::kNone
              ? fmt::format(", {} by {}", NameOf(cache.geometry), NameOf(config.tracker.kind))
              : ", no geometry";
  text += fmt::format(", stem {}", cache.stem);
  if (cache.stem == 0) text += fmt::format(", threshold {:g}", config.tracker.change.threshold);
  if (cache.policy == Policy::kChange || cache.stem > 0)
    text += fmt::format(", change {:g}", cache.change);
  if (!cache.change_scales.empty()) {
    text += fmt::format(" x {:g}", fmt::join(cache.change_scales, "/"));
  }
  if (cache.policy == Policy::kFixed) text += fmt::format(", growth {}", cache.growth);
  text += cache.refresh > 0 ? fmt::format(", refresh {}", cache.refresh) : ", no refresh";
  return text;
}

std::string CacheSettingsHeader() {
  return "policy,geometry,tracker,stem,threshold,change,change_scales,growth,refresh";
}

std::string CacheSettingsRow(const RobotConfig& config) {
  const CacheConfig& cache = config.cache;
  return fmt::format("{},{},{},{},{:g},{:g},{:g},{},{}", NameOf(cache.policy),
                     NameOf(cache.geometry),
                     cache.geometry != Geometry::kNone ? NameOf(config.tracker.kind) : "none",
                     cache.stem, config.tracker.change.threshold, cache.change,
                     fmt::join(cache.change_scales, "/"), cache.growth, cache.refresh);
}

}  // namespace cacheinf
