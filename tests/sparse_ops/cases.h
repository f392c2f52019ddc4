#ifndef CACHEINF_TESTS_SPARSE_OPS_CASES_H_
#define CACHEINF_TESTS_SPARSE_OPS_CASES_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sparse_ops/ops.h"

// One table of operator cases for every family of kernels: the same calls check a family bit for
// bit against the reference and time it.

namespace cacheinf {

// A family of kernels as a table. An empty entry: the family has no such operator.
struct OperatorFamily {
  std::string name;
  std::function<void(const ConvArgs&, Range)> conv;
  std::function<void(const PoolArgs&, Range)> pool;
  std::function<void(const AdaptivePoolArgs&, Range)> adaptive_pool;
  std::function<void(const ResizeArgs&, Range)> resize;
  std::function<void(const BlockArgs&, Range)> depth_to_space;
  std::function<void(const BlockArgs&, Range)> space_to_depth;
  std::function<void(const ActivationArgs&)> activation;
  std::function<void(const ScaleShiftArgs&)> scale_shift;
  std::function<void(const BinaryArgs&)> binary;
  std::function<void(const CopyArgs&)> copy;
  std::function<void(const GatherArgs&)> gather;
  std::function<void(const PadArgs&)> pad;
  std::function<void(const LinearArgs&)> linear;
  std::function<void(const MatMulArgs&)> mat_mul;
  std::function<void(const LayerNormArgs&)> layer_norm;
  std::function<void(const GroupNormArgs&)> group_norm;
  std::function<void(const SoftmaxArgs&)> softmax;
  std::function<void(const ArgMaxArgs&)> arg_max;
  std::function<void(const ReduceArgs&)> reduce;
  std::function<void(const DecodeBoxesArgs&)> decode_boxes;
  std::function<void(const NonMaxSuppressionArgs&)> non_max_suppression;
};

OperatorFamily ReferenceFamily();

class CaseMemory;

// A case made ready for one family: operands from the case's seed, an output full of a mark.
struct PreparedCase {
  std::shared_ptr<CaseMemory> memory;
  std::function<void(Range rows)> run;  // empty if the family has no such operator

  // Everything that `run` may write, and the gaps around it that it must not.
  const std::vector<float>& output() const;
};

struct OperatorCase {
  std::string name;
  int rows = 1;  // of the output; 1 where the operator is not cut into rows
  std::function<PreparedCase(const OperatorFamily&)> prepare;
};

const std::vector<OperatorCase>& OperatorCases();

// Equal bits, all NaNs being equal. Returns an empty string, or says where they differ.
std::string Difference(const std::vector<float>& actual, const std::vector<float>& expected);

// Expects of every case that the family gives the reference's bits, at once and in random cuts
// into rows in random order, and that each cut writes nothing outside its rows.
void ExpectReferenceBits(const OperatorFamily& family, unsigned seed);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SPARSE_OPS_CASES_H_
