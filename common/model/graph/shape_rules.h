#ifndef CACHEINF_COMMON_MODEL_GRAPH_SHAPE_RULES_H_
#define CACHEINF_COMMON_MODEL_GRAPH_SHAPE_RULES_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/model/graph/graph.h"

namespace cacheinf {

// Limits for shapes, windows and attributes. They keep all later arithmetic within 64 bits, and
// most of it within 32.
inline constexpr int64_t kMaxDimension = int64_t{1} << 24;
inline constexpr int kMaxWindow = 1 << 16;

template <typename... Parts>
[[noreturn]] void RefuseOperator(const Operator& op, const Parts&... why) {
  throw InputError("operator '", op.name, "' (", KindName(op), "): ", why...);
}

// Refuses the operator if no result of it may have this shape.
void CheckShape(const Operator& op, const Shape& shape);

// Tools for the shape rules of one operator, with its inputs at hand. All throw InputError, which
// names the operator, if something does not fit.
class ShapeRules {
 public:
  ShapeRules(const Graph& graph, const Operator& op) : graph_(graph), op_(op) {}

 protected:
  template <typename... Parts>
  [[noreturn]] void Refuse(const Parts&... why) const {
    RefuseOperator(op_, why...);
  }

  static std::vector<InferredOutput> One(Shape shape, DataType type = DataType::kFloat32) {
    return {{std::move(shape), type}};
  }

  const Value& ValueOf(size_t index) const { return graph_.value(op_.inputs[index]); }
  const Shape& Input(size_t index) const { return ValueOf(index).shape; }

  void NeedInputs(size_t count) const;
  const Shape& OnlyInput() const;
  const Shape& Map(size_t index) const;
  const Shape& OnlyMap() const;
  const Shape& ConstantInput(size_t index, size_t rank) const;
  void NeedShape(size_t index, const Shape& shape, bool constant) const;
  void NeedSlope(size_t index, int64_t channels) const;
  void NeedNoSlope(const Function& function) const;
  void CheckAxis(int axis, const Shape& shape) const;
  void CheckFunction(const Function& function) const;

  // How many rows or columns a window makes of `in`.
  int64_t SlidingOutput(const WindowAxis& axis, int64_t in, bool ceil_mode) const;
  int64_t TransposedOutput(const WindowAxis& axis, int64_t in, int output_padding) const;
  Shape PooledShape(const PoolSpec& spec, const Shape& in) const;

  const Graph& graph_;
  const Operator& op_;

 private:
  void CheckWindow(const WindowAxis& axis) const;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_GRAPH_SHAPE_RULES_H_
