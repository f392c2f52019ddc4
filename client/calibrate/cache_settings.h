#ifndef CACHEINF_CLIENT_CALIBRATE_CACHE_SETTINGS_H_
#define CACHEINF_CLIENT_CALIBRATE_CACHE_SETTINGS_H_

#include <string>

#include "client/calibrate/setting_search.h"
#include "common/config/robot_config.h"

// What calibration may choose for mode `cache`, as points of a search space.

namespace cacheinf {

// Of the policies `change` and `fixed`: geometry with its tracker, stem, what counts as a change,
// growth and refresh.
SearchSpace CacheSettingSpace();

// `base` in mode cache with the settings of a point of that space.
RobotConfig WithCacheSettings(RobotConfig base, const SettingPoint& point);

// The safest settings, outside of that space: all that agrees less than fully would step there.
RobotConfig WithExactPolicy(RobotConfig base);

// Factors of cache.change_scales, one per resolution, each half as fine as the one before. The only
// start is 1 everywhere.
SearchSpace ScaleSpace(int resolutions);

RobotConfig WithScales(RobotConfig base, const SettingPoint& point);

// "change, canvas by homography, stem 1, change .2, refresh 8".
std::string DescribeCacheSettings(const RobotConfig& config);

// The same as columns of a CSV file.
std::string CacheSettingsHeader();
std::string CacheSettingsRow(const RobotConfig& config);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_CALIBRATE_CACHE_SETTINGS_H_
