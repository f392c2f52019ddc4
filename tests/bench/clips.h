#ifndef CACHEINF_TESTS_BENCH_CLIPS_H_
#define CACHEINF_TESTS_BENCH_CLIPS_H_

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "common/answer/agreement.h"
#include "common/config/robot_config.h"
#include "common/source/frame_source.h"
#include "tests/bench/bench.h"

// Videos, and the models that see them.

namespace cacheinf {

// Those of the options, or the demo's and the shared ones.
std::vector<std::filesystem::path> ClipModels(const BenchOptions& options);

// Where scripts/export_models leaves networks.
std::filesystem::path ExportedModels();

// Those of the options, or recorded ones, or else generated ones, as sources are named.
std::vector<std::string> Clips(const BenchOptions& options);

// What a table calls the clip.
std::string ClipName(const std::string& clip);

// The configuration that is made for the model, where there is one.
RobotConfig ConfigFor(const std::filesystem::path& model, const BenchOptions& options);

// The first ones.
std::vector<Frame> ReadFrames(const std::string& clip, int count);

// What says most about the answers' kind, and its name.
std::pair<std::string, double> MeasureOf(const Agreement& agreement);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_CLIPS_H_
