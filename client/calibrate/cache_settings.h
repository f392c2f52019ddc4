#ifndef CACHEINF_CLIENT_CALIBRATE_CACHE_SETTINGS_H_
#define CACHEINF_CLIENT_CALIBRATE_CACHE_SETTINGS_H_

#include <string>

#include "client/calibrate/setting_search.h"
#include "common/config/robot_config.h"

// Settings that calibration may choose for mode `cache`, as points of a search space.

namespace cacheinf {

// Space of the policies `change` and `fixed`: geometry and tracker, stem, what counts as a change,
// growth and refresh.
SearchSpace CacheSettingSpace();

// Returns `base` in mode cache with the settings of a point of that space.
RobotConfig WithCacheSettings(RobotConfig base, const SettingPoint& point);

// The safest settings. They are outside that space, or every search would step to them.
RobotConfig WithExactPolicy(RobotConfig base);

// Space of the factors cache.change_scales, one per resolution, where each resolution is half as
// fine as the one before. Its only start is 1 everywhere.
SearchSpace ScaleSpace(int resolutions);

RobotConfig WithScales(RobotConfig base, const SettingPoint& point);

// "change, canvas by homography, stem 1, change .2, refresh 8".
std::string DescribeCacheSettings(const RobotConfig& config);

// The same as columns and a row of a CSV file.
std::string CacheSettingsHeader();
std::string CacheSettingsRow(const RobotConfig& config);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_CALIBRATE_CACHE_SETTINGS_H_
