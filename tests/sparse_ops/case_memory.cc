#include "tests/sparse_ops/case_memory.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace cacheinf {
namespace {

// In floats.
struct Gaps {
  int64_t pixel = 3;
  int64_t row = 5;
  int64_t image = 7;
};

Gaps GapsOf(const CaseOptions& options) { return options.is_packed ? Gaps{0, 0, 0} : Gaps{}; }

TensorView WithDims(const Dims& dims) {
  TensorView view;
  view.rank = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), view.dims.begin());
  return view;
}

// Returns the number of floats from the first to past the last.
int64_t LayOutAsMap(TensorView& view, const Gaps& gaps) {
  const int64_t channels = view.dims[1];
  view.strides[1] = 1;
  view.strides[3] = channels + gaps.pixel;
  view.strides[2] = view.dims[3] * view.strides[3] + gaps.row;
  view.strides[0] = view.dims[2] * view.strides[2] + gaps.image;
  return view.dims[0] * view.strides[0];
}

int64_t LayOutAsTensor(TensorView& view, const Gaps& gaps) {
  int64_t stride = 1;
  for (int i = view.rank - 1; i >= 0; --i) {
    view.strides[i] = stride;
    stride = stride * view.dims[i] + (i == view.rank - 1 ? gaps.pixel : 0);
  }
  return stride;
}

}  // namespace

float CaseMemory::Number() {
  if (special_ && random_() % 4 == 0) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const float special[] = {
        0.0f,   -0.0f,   kInfinity, -kInfinity, 1e-40f, std::numeric_limits<float>::quiet_NaN(),
        100.0f, -100.0f, 0.5f,      -1.5f};
    return special[random_() % std::size(special)];
  }
  return std::uniform_real_distribution<float>(-2.0f, 2.0f)(random_);
}

float* CaseMemory::Floats(int64_t count) {
  std::vector<float>& floats = floats_.emplace_back(static_cast<size_t>(count));
  std::generate(floats.begin(), floats.end(), [this] { return Number(); });
  return floats.data();
}

int64_t* CaseMemory::Indices(std::vector<int64_t> indices) {
  return indices_.emplace_back(std::move(indices)).data();
}

int* CaseMemory::Integers(std::vector<int> integers) {
  return integers_.emplace_back(std::move(integers)).data();
}

NonMaxSuppressionArgs::Candidate* CaseMemory::Candidates(int64_t count) {
  return candidates_.emplace_back(static_cast<size_t>(count)).data();
}

const DetectionHead* CaseMemory::Heads(std::vector<DetectionHead> heads) {
  return heads_.emplace_back(std::move(heads)).data();
}

TensorView CaseMemory::Map(const Dims& dims) {
  TensorView view = WithDims(dims);
  const int64_t count = LayOutAsMap(view, GapsOf(options_));
  view.data = Floats(count);
  if (options_.is_perturbed) {
    constexpr int kChanged = 5;
    for (int i = 0; i < kChanged; ++i) view.data[count * i / kChanged] += 0.5f;
  }
  return view;
}

TensorView CaseMemory::Tensor(const Dims& dims) {
  TensorView view = WithDims(dims);
  view.data = Floats(LayOutAsTensor(view, GapsOf(options_)));
  return view;
}

TensorView CaseMemory::OutputMap(const Dims& dims) {
  TensorView view = WithDims(dims);
  output.assign(static_cast<size_t>(LayOutAsMap(view, GapsOf(options_))), kMark);
  view.data = output.data();
  return view;
}

TensorView CaseMemory::OutputTensor(const Dims& dims) {
  TensorView view = WithDims(dims);
  output.assign(static_cast<size_t>(LayOutAsTensor(view, GapsOf(options_))), kMark);
  view.data = output.data();
  return view;
}

TensorView CaseMemory::InPlaceMap(const Dims& dims) {
  takes_change_test = false;
  const TensorView view = OutputMap(dims);
  std::generate(output.begin(), output.end(), [this] { return Number(); });
  return view;
}

MaskView CaseMemory::Pixels(int height, int width, int one_in) {
  return masks_.emplace_back(DrawMask(height, width, one_in));
}

MaskView CaseMemory::OutOfView(int height, int width) {
  constexpr int kOneIn = 9;
  out_of_view = DrawMask(height, width, kOneIn);
  return out_of_view;
}

Mask CaseMemory::DrawMask(int height, int width, int one_in) {
  Mask mask(height, width);
  if (one_in == 0) return mask;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      if (random_() % static_cast<unsigned>(one_in) == 0) mask.view().Set(y, x);
    }
  }
  return mask;
}

}  // namespace cacheinf
