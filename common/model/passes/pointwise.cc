#include <utility>
#include <variant>
#include <vector>

#include "common/model/passes/passes.h"
#include "common/model/passes/rewriter.h"

namespace cacheinf::pass {
namespace {

const std::vector<int> kToChannelsLast = {0, 2, 3, 1};

// The map behind a value that is its channels-last permutation; kNone if the value is not one.
ValueId MapBehind(const Rewriter& rewriter, ValueId id) {
  const auto* permute = rewriter.ProducedBy<op::Permute>(id);
  if (permute == nullptr || permute->order != kToChannelsLast) return kNone;
  return rewriter.Producer(id)->inputs[0];
}

// Takes operators that the model runs on a map's channels-last permutation, runs them on the map
// itself, and permutes their result instead.
class PermuteSinker {
 public:
  PermuteSinker(Rewriter& rewriter, OpId id) : rewriter_(rewriter), id_(id) {}

  void Run() {
    const Operator op = rewriter_.op(id_);  // a copy: adding operators moves them
    if (op.inputs.empty()) return;
    map_ = MapBehind(rewriter_, op.inputs[0]);
    std::visit([&](const auto& attributes) { Sink(op, attributes); }, op.attributes);
  }

 private:
  template <typename T>
  void Sink(const Operator&, const T&) {}

  void Sink(const Operator& op, const op::Linear& linear) {
    if (map_ == kNone) return;
    op::Conv conv;
    conv.has_bias = linear.has_bias;
    conv.activation = linear.activation;
    std::vector<ValueId> inputs = op.inputs;
    inputs[0] = map_;
    const Tensor weights = rewriter_.constant(op.inputs[1]);
    const std::string name = rewriter_.value(op.inputs[1]).name;
    inputs[1] =
        rewriter_.AddReshaped(weights, name, {weights.shape()[0], weights.shape()[1], 1, 1});
    Finish(op.name, std::move(conv), std::move(inputs));
  }

  void Sink(const Operator& op, const op::LayerNorm& norm) {
    if (map_ == kNone || norm.first_axis != 3) return;
    op::LayerNorm over_channels = norm;
    over_channels.first_axis = 1;
    std::vector<ValueId> inputs = op.inputs;
    inputs[0] = map_;
    Finish(op.name, over_channels, std::move(inputs));
  }

  void Sink(const Operator& op, const op::Activation& activation) {
    if (map_ == kNone || activation.function.kind == Function::Kind::kPRelu) return;
    Finish(op.name, activation, {map_});
  }

  void Sink(const Operator& op, const op::Softmax& softmax) {
    if (map_ == kNone) return;
    op::Softmax sunk = softmax;
    sunk.axis = kToChannelsLast[softmax.axis];
    Finish(op.name, sunk, {map_});
  }

  void Sink(const Operator& op, const op::Binary& binary) {
    const Shape& result = rewriter_.shape(op.outputs[0]);
    bool reads_map = false;
    for (ValueId input : op.inputs) {
      const bool is_map = MapBehind(rewriter_, input) != kNone;
      reads_map = reads_map || (is_map && rewriter_.shape(input) == result);
      if (!is_map && !rewriter_.value(input).is_constant()) return;
    }
    if (!reads_map || result.size() != 4) return;
    std::vector<ValueId> inputs;
    for (ValueId input : op.inputs) {
      const ValueId map = MapBehind(rewriter_, input);
      inputs.push_back(map != kNone ? map : ChannelsFirstConstant(input));
      if (inputs.back() == kNone) return;
    }
    Finish(op.name, binary, std::move(inputs));
  }

  // Returns, for channels-first maps, a constant that broadcasts against channels-last ones; kNone
  // if it is more than one vector of channels.
  ValueId ChannelsFirstConstant(ValueId id) {
    const Tensor tensor = rewriter_.constant(id);
    if (tensor.count() == 1) return id;
    if (tensor.shape().back() != tensor.count()) return kNone;
    return rewriter_.AddReshaped(tensor, rewriter_.value(id).name, {1, tensor.count(), 1, 1});
  }

  void Finish(const std::string& name, Attributes attributes, std::vector<ValueId> inputs) {
    const ValueId result =
        rewriter_.InsertBefore(id_, name, std::move(attributes), std::move(inputs));
    rewriter_.Replace(id_, op::Permute{kToChannelsLast}, {result});
  }

  Rewriter& rewriter_;
  OpId id_;
  ValueId map_ = kNone;
};

}  // namespace

bool MatMulToLinear(Graph& graph) {
  return RewriteEach(graph, [](Rewriter& rewriter, OpId id) {
    if (rewriter.op(id).As<op::MatMul>() == nullptr) return;
    const std::vector<ValueId> operands = rewriter.op(id).inputs;
    const Tensor matrix = rewriter.constant(operands[1]);
    if (matrix.empty() || matrix.shape().size() != 2) return;
    const int64_t rows = matrix.shape()[0];
    const int64_t columns = matrix.shape()[1];
    std::vector<float> transposed(static_cast<size_t>(matrix.count()));
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        transposed[static_cast<size_t>(j * rows + i)] = matrix.data()[i * columns + j];
      }
    }
    const std::string name = rewriter.value(operands[1]).name;
    const ValueId weights = rewriter.AddConstant(name, {columns, rows}, std::move(transposed));
    rewriter.Replace(id, op::Linear{}, {operands[0], weights});
  });
}

bool SinkPermutes(Graph& graph) {
  return RewriteEach(graph, [](Rewriter& rewriter, OpId id) { PermuteSinker(rewriter, id).Run(); });
}

}  // namespace cacheinf::pass
