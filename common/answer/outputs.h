#ifndef CACHEINF_COMMON_ANSWER_OUTPUTS_H_
#define CACHEINF_COMMON_ANSWER_OUTPUTS_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/exec/model_state.h"
#include "common/model/picture.h"

namespace cacheinf {

// Runs the network on what the frame becomes. REQUIRES: `fit` is of this frame and network.
void RunFrame(const Picture& frame, const PictureFit& fit, ModelState& state);

// The number of elements of an output.
size_t OutputCount(const Graph& graph, size_t output);

// Copies an output out in the order of its dimensions (a map: batch, channels, height, width).
void ReadOutput(const ModelState& state, size_t output, float* values);

// Copies all outputs out.
void ReadOutputs(const ModelState& state, std::vector<std::vector<float>>& values);

// Writes every output of every frame as FOLDER/000000.NAME.npy. "_" in NAME replaces what a file's
// name cannot hold.
class OutputDump {
 public:
  // Makes the folder. Throws InputError if that fails.
  OutputDump(std::filesystem::path folder, const Graph& graph);

  void Write(int64_t frame, const ModelState& state);  // throws InputError

 private:
  std::filesystem::path folder_;
  std::vector<std::string> names_;  // of the outputs, in file names, all different
  std::vector<float> values_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_ANSWER_OUTPUTS_H_
