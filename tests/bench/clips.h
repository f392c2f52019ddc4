#ifndef CACHEINF_TESTS_BENCH_CLIPS_H_
#define CACHEINF_TESTS_BENCH_CLIPS_H_

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/answer/agreement.h"
#include "common/config/robot_config.h"
#include "common/source/frame_source.h"
#include "tests/bench/bench.h"

// Videos, and the models that are shown them.

namespace cacheinf {

// The files of a folder in order; none if there is no such folder.
std::vector<std::filesystem::path> FilesIn(const std::filesystem::path& folder);

// The options' models, or the demo's and the shared ones.
std::vector<std::filesystem::path> ClipModels(const BenchOptions& options);

// Where scripts/export_models leaves networks.
std::filesystem::path ExportedModels();

// The options' clips, or recorded ones, or else generated ones, as names of sources.
std::vector<std::string> Clips(const BenchOptions& options);

// What a table calls the clip.
std::string ClipName(const std::string& clip);

// The configuration made for the model, if there is one.
RobotConfig ConfigFor(const std::filesystem::path& model, const BenchOptions& options);

// The first frames.
std::vector<Frame> ReadFrames(const std::string& clip, int count);

// The measure that says most about this kind of answer, and its name; nothing where no frame had
// anything to compare.
std::pair<std::string, std::optional<double>> MeasureOf(const Agreement& agreement);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_CLIPS_H_
