#ifndef CACHEINF_TESTS_SPARSE_OPS_CASE_MEMORY_H_
#define CACHEINF_TESTS_SPARSE_OPS_CASE_MEMORY_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <vector>

#include "sparse_ops/mask/mask.h"
#include "sparse_ops/ops.h"
#include "tests/sparse_ops/cases.h"

namespace cacheinf {

using Dims = std::vector<int64_t>;

// Owns the operands and the output of one case. Unless they are packed, maps have gaps between
// pixels, rows and images, so that a kernel that mistakes a size for a stride fails.
class CaseMemory {
 public:
  static constexpr float kMark = -12345.5f;

  CaseMemory(unsigned seed, CaseOptions options) : options_(options), random_(seed) {}

  const CaseOptions& options() const { return options_; }

  // Among the random numbers then are NaN, infinities, both zeros and a denormal.
  void UseSpecialNumbers() { special_ = true; }

  // Maps and tensors lie without gaps from now on.
  void Pack() { options_.is_packed = true; }

  float* Floats(int64_t count);
  int64_t* Indices(std::vector<int64_t> indices);
  int* Integers(std::vector<int> integers);
  NonMaxSuppressionArgs::Candidate* Candidates(int64_t count);
  const DetectionHead* Heads(std::vector<DetectionHead> heads);

  // Dims are batch, channels, height, width.
  TensorView Map(const Dims& dims);
  TensorView Tensor(const Dims& dims);  // with gaps after each last dimension

  // The same for the output, which is marked all over.
  TensorView OutputMap(const Dims& dims);
  TensorView OutputTensor(const Dims& dims);

  // Maps if there are four dims, else tensors.
  TensorView Input(const Dims& dims) { return dims.size() == 4 ? Map(dims) : Tensor(dims); }
  TensorView Output(const Dims& dims) {
    return dims.size() == 4 ? OutputMap(dims) : OutputTensor(dims);
  }

  // An output map that holds random numbers, to be read and written over.
  TensorView InPlaceMap(const Dims& dims);

  // One pixel in so many, at random; none for 0.
  MaskView Pixels(int height, int width, int one_in);

  // The same for those that a warp finds out of view, of which some are set before.
  MaskView OutOfView(int height, int width);

  // What a call writes.
  std::vector<float> output;
  Mask out_of_view;

  // The map of which any pixels can be asked for: a local operator's output; of rank 0 if a call
  // does all that there is to do.
  TensorView map;
  bool takes_change_test = true;  // where `map` is the output
  // What is computed with bits that are not the reference's.
  std::optional<ConvArgs> winograd;
  std::optional<ConvArgs> rounded;  // by the family's conv_rounding

 private:
  float Number();
  Mask DrawMask(int height, int width, int one_in);

  CaseOptions options_;
  std::mt19937 random_;
  bool special_ = false;
  std::deque<std::vector<float>> floats_;
  std::deque<std::vector<int64_t>> indices_;
  std::deque<std::vector<int>> integers_;
  std::deque<std::vector<NonMaxSuppressionArgs::Candidate>> candidates_;
  std::deque<std::vector<DetectionHead>> heads_;
  std::deque<Mask> masks_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SPARSE_OPS_CASE_MEMORY_H_
