#include "common/reuse/settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "common/config/robot_config.h"

namespace cacheinf {
namespace {

using Lossy = ReuseSettings::Lossy;

// How much higher the signal-to-noise ratio is with errors a quarter as large: 20 log10(4).
constexpr double kDecibelsOfAQuarter = 12.041;
constexpr double kMostDecibels = 100.0;  // that can be configured

template <typename Kind>
bool HasGeometry(const ReuseSettings& settings) {
  return settings.lossy && std::holds_alternative<Kind>(settings.lossy->geometry);
}

// Null if the network decides what a change is.
const ChangeConfig* PictureTest(const ReuseSettings& settings) {
  return settings.lossy ? std::get_if<ChangeConfig>(&settings.lossy->begin) : nullptr;
}

const Stem* StemOf(const ReuseSettings& settings) {
  return settings.lossy ? std::get_if<Stem>(&settings.lossy->begin) : nullptr;
}

bool TestsMaps(const ReuseSettings& settings) {
  return settings.lossy && (!settings.lossy->growth || StemOf(settings) != nullptr);
}

// 1 stands for everything in every frame.
int Halved(int frames) { return frames <= 1 ? frames : std::max(2, frames / 2); }

void ShortenExpiry(ReuseSettings& settings) {
  settings.flush = Halved(settings.flush);
  if (!settings.lossy) return;
  const int usual = CacheConfig().refresh;
  int& refresh = settings.lossy->refresh;
  refresh = refresh == 0 ? usual : std::min(Halved(refresh), usual);
}

void MakeSafer(ReuseSettings& settings) {
  if (!settings.lossy) return;
  Lossy& lossy = *settings.lossy;
  if (auto* const change = std::get_if<ChangeConfig>(&lossy.begin)) {
    change->threshold = std::min(change->threshold / 4, ChangeConfig().threshold);
    change->psnr =
        std::clamp(change->psnr + kDecibelsOfAQuarter, ChangeConfig().psnr, kMostDecibels);
  }
  // With a budget the kept maps are settled, and so is where a stem can end.
  if (settings.budget_mb == 0) {
    const Stem* const stem = StemOf(settings);
    lossy.begin = Stem{stem == nullptr ? 1 : stem->depth + 1};
  }
  lossy.test.change = std::min(lossy.test.change / 4, CacheConfig().change);
  if (lossy.growth) ++*lossy.growth;
  if (auto* const in_place = std::get_if<ReuseSettings::InPlace>(&lossy.geometry)) {
    in_place->relight = false;
  }
}

}  // namespace

bool ReuseSettings::relights() const {
  return HasGeometry<InPlace>(*this) && std::get<InPlace>(lossy->geometry).relight;
}

bool ReuseSettings::is_on_canvas() const { return HasGeometry<OnCanvas>(*this); }
bool ReuseSettings::is_by_warp() const { return HasGeometry<ByWarp>(*this); }

ChangeConfig ReuseSettings::picture_test() const {
  if (const ChangeConfig* const test = PictureTest(*this)) return *test;
  ChangeConfig every_byte;
  every_byte.threshold = 0.0;
  every_byte.block = 1;
  return every_byte;
}

ChangePolicy ReuseSettings::change_policy() const {
  ChangePolicy policy;
  if (!lossy) return policy;
  policy.kind = lossy->growth ? ChangePolicy::Kind::kFixed : ChangePolicy::Kind::kChange;
  policy.growth = lossy->growth.value_or(policy.growth);
  if (TestsMaps(*this)) policy.threshold = static_cast<float>(lossy->test.change);
  if (const Stem* const stem = StemOf(*this)) policy.stem_depth = stem->depth;
  return policy;
}

std::vector<double> ReuseSettings::change_scales() const {
  return TestsMaps(*this) ? lossy->test.scales : std::vector<double>();
}

ReuseSettings Resolve(const CacheConfig& cache, const ChangeConfig& change) {
  ReuseSettings resolved;
  resolved.flush = cache.flush;
  resolved.most_work = cache.most_work;
  resolved.budget_mb = cache.budget_mb;
  // A canvas is not a frame, and moved maps are not what a dense run gives.
  if (cache.policy == CacheConfig::Policy::kExact) return resolved;
  Lossy lossy;
  lossy.begin = change;
  if (cache.stem > 0) lossy.begin = Stem{cache.stem};
  lossy.test = {cache.change, cache.change_scales};
  if (cache.policy == CacheConfig::Policy::kFixed) lossy.growth = cache.growth;
  lossy.geometry = ReuseSettings::InPlace{cache.relight};
  if (cache.geometry == CacheConfig::Geometry::kCanvas) lossy.geometry = ReuseSettings::OnCanvas{};
  if (cache.geometry == CacheConfig::Geometry::kWarp) lossy.geometry = ReuseSettings::ByWarp{};
  lossy.refresh = cache.refresh;
  resolved.lossy = std::move(lossy);
  return resolved;
}

std::vector<SafetyLevel> LevelsFor(const ReuseSettings& configured) {
  if (!configured.lossy) return {SafetyLevel::kNormal, SafetyLevel::kDense};
  return {SafetyLevel::kNormal, SafetyLevel::kShorterExpiry, SafetyLevel::kSafer,
          SafetyLevel::kDense};
}

ReuseSettings SettingsAt(SafetyLevel level, const ReuseSettings& configured) {
  ReuseSettings settings = configured;
  if (level >= SafetyLevel::kShorterExpiry) ShortenExpiry(settings);
  if (level == SafetyLevel::kSafer) MakeSafer(settings);
  if (level == SafetyLevel::kDense) settings.flush = 1;
  return settings;
}

namespace {

std::vector<std::string> ResetUnusedOfPlans(RobotConfig& config) {
  std::vector<std::string> unused;
  const RobotConfig usual;
  const bool has_plans = config.mode == RobotConfig::Mode::kCacheinf;
  constexpr const char* kNoPlans = "only mode cacheinf chooses among plans";
  if (!has_plans && config.objective) {
    config.objective.reset();
    unused.push_back(fmt::format("objective is not used: {}", kNoPlans));
  }
  const bool is_by_latency = has_plans && config.EffectiveObjective() == Objective::kLatency;
  if (!is_by_latency && config.agreement != usual.agreement) {
    config.agreement = usual.agreement;
    unused.push_back(
        fmt::format("agreement is not used: {}",
                    has_plans ? "objective on-time weighs it against lateness" : kNoPlans));
  }
  if (has_plans && config.track != usual.track) {
    config.track = usual.track;
    unused.push_back(
        fmt::format("track is not used: mode {} chooses it for every frame", NameOf(config.mode)));
  }
  return unused;
}

// Gives the usual values to settings that have no effect. Returns a sentence for each.
std::vector<std::string> ResetUnused(RobotConfig& config) {
  std::vector<std::string> unused = ResetUnusedOfPlans(config);
  if (config.mode != RobotConfig::Mode::kCache) return unused;
  const CacheConfig usual;
  const TrackerConfig usual_tracker;
  const ReuseSettings resolved = Resolve(config.cache, config.tracker.change);
  const bool is_lossy = resolved.lossy.has_value();
  const auto check = [&](const char* key, auto& setting, const auto& usual_value, bool is_used,
                         const char* why_not) {
    if (is_used || setting == usual_value) return;
    setting = usual_value;
    unused.push_back(fmt::format("cache.{} is not used: {}", key, why_not));
  };
  CacheConfig& cache = config.cache;
  constexpr const char* kNoMap = "no map is tested with policy exact, or with fixed and no stem";
  check("geometry", cache.geometry, usual.geometry, is_lossy,
        "policy exact computes every frame where it is");
  check("refresh", cache.refresh, usual.refresh, is_lossy,
        "with policy exact nothing stored gets old");
  check("stem", cache.stem, usual.stem, is_lossy, "policy exact follows every change to the end");
  check("growth", cache.growth, usual.growth, is_lossy && resolved.lossy->growth,
        "only policy fixed grows what changed");
  check("change", cache.change, usual.change, TestsMaps(resolved), kNoMap);
  check("change_scales", cache.change_scales, usual.change_scales, TestsMaps(resolved), kNoMap);
  check("tracker", config.tracker.kind, usual_tracker.kind, resolved.follows_camera(),
        "nothing follows the camera with cache.geometry none or policy exact");
  check("threshold", config.tracker.change.threshold, usual_tracker.change.threshold,
        PictureTest(resolved) != nullptr,
        "with policy exact or cache.stem above 0 the network gets every byte that changes, and "
        "decides what a change is");
  return unused;
}

}  // namespace

std::vector<std::string> UnusedSettings(RobotConfig config) { return ResetUnused(config); }

RobotConfig WithoutUnusedSettings(RobotConfig config) {
  ResetUnused(config);
  return config;
}

}  // namespace cacheinf
