#ifndef CACHEINF_COMMON_MODEL_GRAPH_EIGHT_BIT_SHAPES_H_
#define CACHEINF_COMMON_MODEL_GRAPH_EIGHT_BIT_SHAPES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/model/graph/graph.h"
#include "common/model/graph/shape_rules.h"

namespace cacheinf {

// The rules of operators on 8-bit maps, and of those that make them or imitate their numbers.
class EightBitShapes : public ShapeRules {
 public:
  using ShapeRules::ShapeRules;

  std::vector<InferredOutput> Outputs(const op::FakeQuantise& quantise) const;
  std::vector<InferredOutput> Outputs(const op::Quantise& quantise) const;
  std::vector<InferredOutput> Outputs(const op::Dequantise& dequantise) const;
  std::vector<InferredOutput> Outputs(const op::QuantConv& conv) const;
  std::vector<InferredOutput> Outputs(const op::Table& table) const;
  std::vector<InferredOutput> Outputs(const op::QuantBinary& binary) const;
  std::vector<InferredOutput> Outputs(const op::QuantPool& pool) const;
  std::vector<InferredOutput> Outputs(const op::QuantLinear& linear) const;

 protected:
  // Refuses an 8-bit map that goes into an operator on floats.
  void CheckTypes() const;

  bool IsEightBit(size_t index) const { return ValueOf(index).is_eight_bit(); }
  static std::vector<InferredOutput> EightBit(Shape words, int channels, const Steps& steps);

  // The channels of these operators' outputs. REQUIRES: the first input is an 8-bit map.
  int ConcatChannels(const op::Concat& concat) const;
  int SlicedChannels(const op::Slice& slice) const;

 private:
  const Value& EightBitMap(size_t index) const;
  // For an operator with this many outputs.
  void CheckChannels(const auto& attributes, int64_t outputs) const;
  void CheckRounding(const op::QuantConv& conv) const;
  void CheckTable(const std::vector<int>& entries, const Steps& steps) const;
  void NeedResidual(const Value& residual, const Shape& out) const;
  void CheckSteps(const Steps& steps) const;
  // `shape` counts channels.
  std::vector<InferredOutput> EightBitOf(Shape shape, int64_t channels, const Steps& steps) const;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_GRAPH_EIGHT_BIT_SHAPES_H_
