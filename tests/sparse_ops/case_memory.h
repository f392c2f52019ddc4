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

  // Adds NaN, infinities, both zeros and a denormal to the random numbers.
  void UseSpecialNumbers() { special_ = true; }

  // Lays out maps and tensors without gaps from now on.
  void Pack() { options_.is_packed = true; }

  float* Floats(int64_t count);
  int64_t* Indices(std::vector<int64_t> indices);
  int* Integers(std::vector<int> integers);
  NonMaxSuppressionArgs::Candidate* Candidates(int64_t count);
  const DetectionHead* Heads(std::vector<DetectionHead> heads);

  // Dims are batch, channels, height, width.
  TensorView Map(const Dims& dims);
  TensorView Tensor(const Dims& dims);  // with gaps after each last dimension

  // The same for the output, which is filled with a mark.
  TensorView OutputMap(const Dims& dims);
  TensorView OutputTensor(const Dims& dims);

  // A map if there are four dims, else a tensor.
  TensorView Input(const Dims& dims) { return dims.size() == 4 ? Map(dims) : Tensor(dims); }
  TensorView Output(const Dims& dims) {
    return dims.size() == 4 ? OutputMap(dims) : OutputTensor(dims);
  }

  // An output map of random numbers, which the call also reads.
  TensorView InPlaceMap(const Dims& dims);

  // Each pixel with a chance of 1 in `one_in`; none if that is 0.
  MaskView Pixels(int height, int width, int one_in);

  // For pixels that a warp finds out of view; some are set beforehand.
  MaskView OutOfView(int height, int width);

  // What a call writes.
  std::vector<float> output;
  Mask out_of_view;

  // A local operator's output, of which a call computes any pixels. Rank 0: a call always computes
  // everything.
  TensorView map;
  bool takes_change_test = true;  // if `map` is the output
  // The call, if its bits are not the reference's.
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
