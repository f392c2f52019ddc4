#include "common/answer/outputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "common/base/error.h"
#include "common/base/npy.h"
#include "common/exec/model_state.h"
#include "sparse_ops/view_transforms.h"

namespace cacheinf {
namespace {

constexpr size_t kLongestName = 128;

std::string FileName(const std::string& name) {
  std::string safe = name.substr(0, kLongestName);
  for (char& character : safe) {
    const bool is_safe = (character >= 'a' && character <= 'z') ||
                         (character >= 'A' && character <= 'Z') ||
                         (character >= '0' && character <= '9') || character == '-' ||
                         character == '_' || character == '.';
    if (!is_safe) character = '_';
  }
  return safe;
}

}  // namespace

void RunFrame(const Picture& frame, const PictureFit& fit, ModelState& state) {
  const PictureSpec& spec = fit.spec();
  std::vector<uint8_t> pixels(static_cast<size_t>(spec.width) * static_cast<size_t>(spec.height) *
                              static_cast<size_t>(fit.channels()));
  fit.Resize(frame, {0, spec.height}, pixels.data());
  state.SetPicture({pixels.data(), spec.width, spec.height, fit.channels()});
  state.Run();
}

size_t OutputCount(const Graph& graph, size_t output) {
  return static_cast<size_t>(ElementCount(graph.value(graph.outputs[output]).shape));
}

FrameOutputs::FrameOutputs(const ModelState& state) : graph_(&state.graph()), state_(&state) {}

FrameOutputs::FrameOutputs(const Graph& graph, std::shared_ptr<const OutputNumbers> numbers)
    : graph_(&graph), numbers_(std::move(numbers)) {}

void FrameOutputs::Read(size_t output, float* values) const {
  if (state_ == nullptr) {
    std::copy((*numbers_)[output].begin(), (*numbers_)[output].end(), values);
    return;
  }
  const Shape& shape = graph_->value(graph_->outputs[output]).shape;
  const auto rank = static_cast<int>(shape.size());
  state_->GetOutput(output, PackedView(values, shape.data(), rank, rank - 1));
}

void ReadOutputs(const FrameOutputs& outputs, OutputNumbers& numbers) {
  const Graph& graph = outputs.graph();
  numbers.resize(graph.outputs.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i].resize(OutputCount(graph, i));
    outputs.Read(i, numbers[i].data());
  }
}

OutputDump::OutputDump(std::filesystem::path folder, const Graph& graph)
    : folder_(std::move(folder)) {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error)
    throw InputError(fmt::format("{}: cannot be made: {}", folder_.string(), error.message()));
  for (const ValueId output : graph.outputs) {
    const std::string name = FileName(graph.value(output).name);
    std::string unique = name;
    for (int i = 2; std::find(names_.begin(), names_.end(), unique) != names_.end(); ++i) {
      unique = fmt::format("{}_{}", name, i);
    }
    names_.push_back(unique);
  }
}

void OutputDump::Write(int64_t frame, const FrameOutputs& outputs) {
  try {
    for (size_t i = 0; i < names_.size(); ++i) Write(PathOf(frame, i), i, outputs);
  } catch (const InputError&) {
    std::error_code error;
    for (size_t i = 0; i < names_.size(); ++i) std::filesystem::remove(PathOf(frame, i), error);
    throw;
  }
}

std::filesystem::path OutputDump::PathOf(int64_t frame, size_t output) const {
  return folder_ / fmt::format("{:06}.{}.npy", frame, names_[output]);
}

void OutputDump::Write(const std::filesystem::path& path, size_t output,
                       const FrameOutputs& outputs) {
  const Graph& graph = outputs.graph();
  const Value& value = graph.value(graph.outputs[output]);
  values_.resize(OutputCount(graph, output));
  outputs.Read(output, values_.data());
  if (value.type == DataType::kInt64) {
    const std::vector<int64_t> integers(values_.begin(), values_.end());
    WriteNpy(path, value.shape, integers);
  } else {
    WriteNpy(path, value.shape, values_);
  }
}

}  // namespace cacheinf
