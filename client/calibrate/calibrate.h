#ifndef CACHEINF_CLIENT_CALIBRATE_CALIBRATE_H_
#define CACHEINF_CLIENT_CALIBRATE_CALIBRATE_H_

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>

#include "common/base/clock.h"
#include "common/base/words.h"
#include "common/config/robot_config.h"

namespace cacheinf {

struct CalibrationOptions {
  enum class By : uint8_t { kWork, kTime };

  double agreement = 0.99;  // to reach, with dense answers (AgreementMeasure)
  By by = By::kWork;        // what to minimise
  int64_t skip = 0;         // frames of the clip to skip
  int64_t frames = 64;      // frames to use after those, as far as memory allows (clip_reader.h)
  double budget_s = 120;    // for dense answers and trials
  int64_t trials = 0;       // above 0: ends after that many, however long they take

  std::filesystem::path config_file;  // the file the configuration came from, if any

  // Results. `out`: a robot's configuration; empty: MODEL.calibrated.json beside config_file, else
  // beside the model. `frontier`: the frontier as CSV; empty: not written.
  std::filesystem::path out;
  std::filesystem::path frontier;
};

constexpr Words<2> WordsOf(CalibrationOptions::By) { return {"work", "time"}; }

struct CalibrationResult {
  bool is_reached = false;  // the target, by mode cache for less than a dense run
  int64_t trials = 0;
  std::string text;  // for people
};

// Finds the settings of mode `cache` that reach the agreement on the clip at the least work (or
// time), and writes a configuration with them that `run` takes without a warning. The first two
// thirds of the frames choose; the report adds the last third, and compares with dense runs and
// with moving their answers. For a slow network it takes fewer frames, so that a budget of seconds
// is enough for ten trials, or as many as twelve frames allow. Skips settings that a robot refuses
// because their maps do not fit cache.budget_mb. If nothing reaches the target, writes mode
// `dense`, with the cache settings that agree most. Shows progress on stderr; `stop` ends the
// search with the best so far.
//
// Throws InputError if an input cannot be used, no settings can, or a result cannot be written.
CalibrationResult Calibrate(const RobotConfig& config, const std::string& clip,
                            const CalibrationOptions& options, const Clock& clock,
                            const std::atomic<bool>& stop);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_CALIBRATE_CALIBRATE_H_
