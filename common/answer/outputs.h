#ifndef CACHEINF_COMMON_ANSWER_OUTPUTS_H_
#define CACHEINF_COMMON_ANSWER_OUTPUTS_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "common/model/graph/graph.h"
#include "common/model/picture.h"

namespace cacheinf {

class ModelState;

// The numbers of a graph's outputs, each in the order of its dimensions (a map: batch, channels,
// height, width).
using OutputNumbers = std::vector<std::vector<float>>;

// A frame's outputs, wherever they were computed: refers to a state here that holds them, or shares
// the numbers that a server sent. Valid until the next frame of that state or server.
class FrameOutputs {
 public:
  FrameOutputs(const ModelState& state);
  FrameOutputs(const Graph& graph, std::shared_ptr<const OutputNumbers> numbers);

  const Graph& graph() const { return *graph_; }

  // Copies an output's numbers out.
  void Read(size_t output, float* values) const;

 private:
  const Graph* graph_;
  const ModelState* state_ = nullptr;
  std::shared_ptr<const OutputNumbers> numbers_;  // if there is no state
};

// Runs the network on the picture or tensor that the frame becomes. REQUIRES: `fit` is of this
// frame and network.
void RunFrame(const Picture& frame, const PictureFit& fit, ModelState& state);

// The number of elements of an output.
size_t OutputCount(const Graph& graph, size_t output);

// Copies all outputs out.
void ReadOutputs(const FrameOutputs& outputs, OutputNumbers& numbers);

// Writes every output of every frame as FOLDER/000000.NAME.npy. "_" in NAME replaces what a file's
// name cannot hold.
class OutputDump {
 public:
  // Makes the folder. Throws InputError if that fails.
  OutputDump(std::filesystem::path folder, const Graph& graph);

  // Writes all of a frame's outputs, or throws InputError and leaves none.
  void Write(int64_t frame, const FrameOutputs& outputs);

  std::string folder() const { return folder_.string(); }

 private:
  std::filesystem::path PathOf(int64_t frame, size_t output) const;
  void Write(const std::filesystem::path& path, size_t output, const FrameOutputs& outputs);

  std::filesystem::path folder_;
  std::vector<std::string> names_;  // of the outputs, in file names, all different
  std::vector<float> values_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_ANSWER_OUTPUTS_H_
