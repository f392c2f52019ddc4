#ifndef CACHEINF_COMMON_MODEL_PASSES_REWRITER_H_
#define CACHEINF_COMMON_MODEL_PASSES_REWRITER_H_

#include <optional>
#include <string>
#include <vector>

#include "common/model/graph/graph.h"

namespace cacheinf {

// A graph while a pass rewrites it. A pass replaces the *last* operator of the pattern that it
// found, in place: what the pattern reads is computed earlier, so the order stays topological. An
// operator that loses its last reader dies at once.
//
// Adding a constant or an operator invalidates references to operators, values and shapes.
class Rewriter {
 public:
  explicit Rewriter(Graph& graph);

  // Drops what is dead and renumbers. Returns whether anything changed. Call nothing after it.
  bool Finish();

  // The number of operators at the start: those to look at. Ids stay the same until Finish.
  OpId operator_count() const { return original_count_; }
  bool is_alive(OpId id) const { return is_alive_[id]; }
  const Operator& op(OpId id) const { return graph_.operators[id]; }
  const Value& value(ValueId id) const { return graph_.value(id); }
  const Shape& shape(ValueId id) const { return graph_.value(id).shape; }
  const Tensor& constant(ValueId id) const { return graph_.value(id).constant; }

  // The operator that computes a value; null for inputs and constants.
  const Operator* Producer(ValueId id) const;

  // The attributes of the operator that computes a value, if it is a T.
  template <typename T>
  const T* ProducedBy(ValueId id) const {
    const Operator* producer = Producer(id);
    return producer != nullptr ? producer->As<T>() : nullptr;
  }

  // Whether exactly one operator reads the value, once, and it is not a graph output.
  bool IsReadOnce(ValueId id) const;
  bool IsOutput(ValueId id) const { return output_count_[id] > 0; }

  // The element of a constant that has only one.
  std::optional<float> Scalar(ValueId id) const;

  ValueId AddConstant(std::string name, Shape shape, std::vector<float> values);

  // Adds the same numbers under another shape; shares the storage.
  ValueId AddReshaped(const Tensor& tensor, std::string name, Shape shape);

  // Adds an operator with one output just before operator `at`.
  ValueId InsertBefore(OpId at, std::string name, Attributes attributes,
                       std::vector<ValueId> inputs);

  // Gives operator `at` another meaning. Its output values stay, with their names. REQUIRES: their
  // shapes and types are still right.
  void Replace(OpId at, Attributes attributes, std::vector<ValueId> inputs);
  void Replace(OpId at, std::string name, Attributes attributes, std::vector<ValueId> inputs);

  // Makes the single output of `at` a constant.
  void ReplaceByConstant(OpId at, Tensor tensor);

  // Drops operator `at`, which has one output, and reads `by` instead. Changes nothing and returns
  // false if that would rename a graph output, or if shape or type differ.
  bool ReplaceByValue(OpId at, ValueId by);

 private:
  void AddReads(OpId at);
  void RemoveReads(OpId at);
  bool IsUnused(const Operator& op) const;
  void Kill(OpId at);
  void ReleaseUnused(std::vector<ValueId> candidates);
  void Redirect(ValueId from, ValueId to);
  ValueId NewValue(Value value);

  Graph& graph_;
  OpId original_count_ = 0;
  std::vector<bool> is_alive_;
  std::vector<OpId> position_;  // of added operators: just before this one
  std::vector<std::vector<OpId>> readers_;
  std::vector<int> output_count_;
  bool changed_ = false;
};

// Calls rewrite(rewriter, id) for every operator of the start that is still alive. Returns whether
// anything changed.
bool RewriteEach(Graph& graph, const auto& rewrite) {
  Rewriter rewriter(graph);
  for (OpId id = 0; id < rewriter.operator_count(); ++id) {
    if (rewriter.is_alive(id)) rewrite(rewriter, id);
  }
  return rewriter.Finish();
}

// The most channels for which a pass writes out numbers that the model does not hold, so that a
// broken model cannot ask for unlimited memory.
inline constexpr int64_t kMaxWrittenOut = 1 << 14;

// The values of a constant over dimensions [first_axis, first_axis + axis_count) of `shape`, if
// broadcasting it against `shape` gives `shape` and it varies over no other dimension. Returns at
// most kMaxWrittenOut, or as many as the constant has.
std::optional<std::vector<float>> SpreadOver(const Tensor& constant, const Shape& shape,
                                             int first_axis, int axis_count);

inline bool IsIdentity(const Function& function) {
  return function.kind == Function::Kind::kIdentity;
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_PASSES_REWRITER_H_
