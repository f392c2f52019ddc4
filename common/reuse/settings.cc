#include "common/reuse/settings.h"

namespace cacheinf {
namespace {

using Lossy = ReuseSettings::Lossy;
using Change = ReuseSettings::Change;
using Fixed = ReuseSettings::Fixed;
using TestedStem = ReuseSettings::TestedStem;

std::variant<Change, Fixed> ResolvePolicy(const CacheSettings& settings) {
  const CacheConfig& cache = settings.cache;
  const FeatureTest test = {cache.change, cache.change_scales};
  if (cache.policy == CacheConfig::Policy::kChange) {
    Change change = {settings.change, test};
    if (cache.stem > 0) change.begin = Stem{cache.stem};
    return change;
  }
  Fixed fixed = {settings.change, cache.growth};
  if (cache.stem > 0) fixed.begin = TestedStem{{cache.stem}, test};
  return fixed;
}

std::variant<ReuseSettings::InPlace, ReuseSettings::OnCanvas, ReuseSettings::ByWarp>
ResolveGeometry(const CacheConfig& cache) {
  switch (cache.geometry) {
    case CacheConfig::Geometry::kCanvas:
      return ReuseSettings::OnCanvas{};
    case CacheConfig::Geometry::kWarp:
      return ReuseSettings::ByWarp{};
    case CacheConfig::Geometry::kNone:
      break;
  }
  return ReuseSettings::InPlace{cache.relight};
}

// Null if the network decides what a change is.
const ChangeConfig* PictureTest(const ReuseSettings& settings) {
  const auto* const lossy = std::get_if<Lossy>(&settings.way);
  if (lossy == nullptr) return nullptr;
  return std::visit([](const auto& policy) { return std::get_if<ChangeConfig>(&policy.begin); },
                    lossy->policy);
}

// Null if no map is tested.
const FeatureTest* TestOfMaps(const ReuseSettings& settings) {
  const auto* const lossy = std::get_if<Lossy>(&settings.way);
  if (lossy == nullptr) return nullptr;
  if (const auto* change = std::get_if<Change>(&lossy->policy)) return &change->test;
  const auto* const stem = std::get_if<TestedStem>(&std::get<Fixed>(lossy->policy).begin);
  return stem == nullptr ? nullptr : &stem->test;
}

int DepthOf(const std::variant<ChangeConfig, Stem>& begin) {
  const auto* const stem = std::get_if<Stem>(&begin);
  return stem == nullptr ? 0 : stem->depth;
}

int DepthOf(const std::variant<ChangeConfig, TestedStem>& begin) {
  const auto* const tested = std::get_if<TestedStem>(&begin);
  return tested == nullptr ? 0 : tested->stem.depth;
}

}  // namespace

bool ReuseSettings::relights() const {
  const auto* const lossy = std::get_if<Lossy>(&way);
  const auto* const in_place = lossy == nullptr ? nullptr : std::get_if<InPlace>(&lossy->geometry);
  return in_place != nullptr && in_place->relight;
}

int ReuseSettings::refresh() const {
  const auto* const lossy = std::get_if<Lossy>(&way);
  return lossy == nullptr ? 0 : lossy->refresh;
}

ChangeConfig ReuseSettings::picture_test() const {
  if (const ChangeConfig* const test = PictureTest(*this)) return *test;
  ChangeConfig every_byte;
  every_byte.threshold = 0.0;
  every_byte.block = 1;
  return every_byte;
}

ChangePolicy ReuseSettings::change_policy() const {
  ChangePolicy policy;
  if (is_exact()) return policy;
  if (const FeatureTest* const test = TestOfMaps(*this)) {
    policy.threshold = static_cast<float>(test->change);
  }
  const Lossy& lossy = std::get<Lossy>(way);
  policy.stem_depth =
      std::visit([](const auto& kind) { return DepthOf(kind.begin); }, lossy.policy);
  policy.kind = ChangePolicy::Kind::kChange;
  if (const auto* const fixed = std::get_if<Fixed>(&lossy.policy)) {
    policy.kind = ChangePolicy::Kind::kFixed;
    policy.growth = fixed->growth;
  }
  return policy;
}

std::vector<double> ReuseSettings::change_scales() const {
  const FeatureTest* const test = TestOfMaps(*this);
  return test == nullptr ? std::vector<double>() : test->scales;
}

ReuseSettings Resolve(const CacheSettings& settings) {
  ReuseSettings resolved;
  resolved.flush = settings.cache.flush;
  resolved.most_work = settings.cache.most_work;
  if (settings.cache.policy == CacheConfig::Policy::kExact) return resolved;
  resolved.way =
      Lossy{ResolvePolicy(settings), ResolveGeometry(settings.cache), settings.cache.refresh};
  return resolved;
}

std::vector<std::string> UnusedSettings(const RobotConfig& config) {
  std::vector<std::string> unused;
  if (config.mode != RobotConfig::Mode::kCache) return unused;
  const TrackerConfig usual;
  const ReuseSettings resolved = Resolve({config.cache, config.tracker.change});
  const auto* const lossy = std::get_if<Lossy>(&resolved.way);
  const bool follows =
      lossy != nullptr && !std::holds_alternative<ReuseSettings::InPlace>(lossy->geometry);
  if (!follows && config.cache.geometry != CacheConfig::Geometry::kNone) {
    unused.emplace_back(
        "cache.geometry is not used: policy exact computes every frame where it is");
  }
  if (!follows && config.tracker.kind != usual.kind) {
    unused.emplace_back(
        "cache.tracker is not used: nothing follows the camera with cache.geometry none or policy "
        "exact");
  }
  if (PictureTest(resolved) == nullptr &&
      config.tracker.change.threshold != usual.change.threshold) {
    unused.emplace_back(
        "cache.threshold is not used: with policy exact or cache.stem above 0 the network is given "
        "every byte that changes, and decides itself what a change is");
  }
  return unused;
}

}  // namespace cacheinf
