#include <algorithm>
#include <optional>
#include <vector>

#include "common/model/passes/passes.h"
#include "common/model/passes/rewriter.h"

namespace cacheinf::pass {
namespace {

// x and a number, the operands of a binary operator.
struct WithNumber {
  ValueId x = kNone;
  float number = 0.0f;
};

const op::Binary* PlainBinary(const Rewriter& rewriter, ValueId id, BinaryKind kind) {
  const auto* binary = rewriter.ProducedBy<op::Binary>(id);
  const bool fits = binary != nullptr && binary->kind == kind && IsIdentity(binary->activation);
  return fits ? binary : nullptr;
}

std::optional<WithNumber> MatchNumber(const Rewriter& rewriter, ValueId id, BinaryKind kind) {
  if (PlainBinary(rewriter, id, kind) == nullptr) return std::nullopt;
  const std::vector<ValueId>& inputs = rewriter.Producer(id)->inputs;
  if (const auto number = rewriter.Scalar(inputs[1])) return WithNumber{inputs[0], *number};
  const bool commutes = kind == BinaryKind::kAdd || kind == BinaryKind::kMultiply;
  if (!commutes) return std::nullopt;
  if (const auto number = rewriter.Scalar(inputs[0])) return WithNumber{inputs[1], *number};
  return std::nullopt;
}

// The x in function(x).
std::optional<ValueId> MatchFunction(const Rewriter& rewriter, ValueId id, Function::Kind kind) {
  const auto* activation = rewriter.ProducedBy<op::Activation>(id);
  if (activation == nullptr || activation->function.kind != kind) return std::nullopt;
  return rewriter.Producer(id)->inputs[0];
}

// The x in the mean of x over `axes`, kept as dimensions of one.
struct Mean {
  ValueId x = kNone;
  std::vector<int> axes;  // ascending
};

std::optional<Mean> MatchMean(const Rewriter& rewriter, ValueId id) {
  const auto* reduce = rewriter.ProducedBy<op::Reduce>(id);
  if (reduce == nullptr || reduce->kind != ReduceKind::kMean || !reduce->keep_dimensions) {
    return std::nullopt;
  }
  Mean mean{rewriter.Producer(id)->inputs[0], reduce->axes};
  std::ranges::sort(mean.axes);
  return mean;
}

// x - mean(x)
std::optional<Mean> MatchCentred(const Rewriter& rewriter, ValueId id) {
  if (PlainBinary(rewriter, id, BinaryKind::kSubtract) == nullptr) return std::nullopt;
  const std::vector<ValueId>& inputs = rewriter.Producer(id)->inputs;
  auto mean = MatchMean(rewriter, inputs[1]);
  if (!mean || mean->x != inputs[0]) return std::nullopt;
  return mean;
}

// x in x^2
std::optional<ValueId> MatchSquare(const Rewriter& rewriter, ValueId id) {
  if (const auto power = MatchNumber(rewriter, id, BinaryKind::kPower)) {
    if (power->number == 2.0f) return power->x;
  }
  if (PlainBinary(rewriter, id, BinaryKind::kMultiply) != nullptr) {
    const std::vector<ValueId>& inputs = rewriter.Producer(id)->inputs;
    if (inputs[0] == inputs[1]) return inputs[0];
  }
  return std::nullopt;
}

std::optional<ValueId> MatchRoot(const Rewriter& rewriter, ValueId id) {
  if (const auto power = MatchNumber(rewriter, id, BinaryKind::kPower)) {
    if (power->number == 0.5f) return power->x;
  }
  return MatchFunction(rewriter, id, Function::Kind::kSqrt);
}

// x in x^(-1/2)
std::optional<ValueId> MatchInverseRoot(const Rewriter& rewriter, ValueId id) {
  if (const auto power = MatchNumber(rewriter, id, BinaryKind::kPower)) {
    if (power->number == -0.5f) return power->x;
  }
  const auto root = MatchFunction(rewriter, id, Function::Kind::kReciprocal);
  return root ? MatchRoot(rewriter, *root) : std::nullopt;
}

struct Norm {
  Mean mean;
  float epsilon = 0.0f;
};

// (x - mean(x)) over the root of (mean((x - mean(x))^2) + epsilon), given both parts.
std::optional<Norm> MatchNorm(const Rewriter& rewriter, ValueId centred, ValueId variance) {
  const auto mean = MatchCentred(rewriter, centred);
  const auto sum = MatchNumber(rewriter, variance, BinaryKind::kAdd);
  if (!mean || !sum || sum->number < 0.0f) return std::nullopt;
  const auto mean_square = MatchMean(rewriter, sum->x);
  if (!mean_square || mean_square->axes != mean->axes) return std::nullopt;
  const auto deviation = MatchSquare(rewriter, mean_square->x);
  if (!deviation) return std::nullopt;
  const auto mean_again = MatchCentred(rewriter, *deviation);
  if (!mean_again || mean_again->x != mean->x || mean_again->axes != mean->axes) {
    return std::nullopt;
  }
  return Norm{*mean, sum->number};
}

std::optional<Norm> MatchNorm(const Rewriter& rewriter, const Operator& op) {
  const auto* binary = op.As<op::Binary>();
  if (binary == nullptr || !IsIdentity(binary->activation)) return std::nullopt;
  const ValueId a = op.inputs[0];
  const ValueId b = op.inputs[1];
  if (binary->kind == BinaryKind::kDivide) {
    const auto variance = MatchRoot(rewriter, b);
    return variance ? MatchNorm(rewriter, a, *variance) : std::nullopt;
  }
  if (binary->kind != BinaryKind::kMultiply) return std::nullopt;
  if (const auto variance = MatchInverseRoot(rewriter, b)) return MatchNorm(rewriter, a, *variance);
  if (const auto variance = MatchInverseRoot(rewriter, a)) return MatchNorm(rewriter, b, *variance);
  return std::nullopt;
}

void ReplaceByNorm(Rewriter& rewriter, OpId id, const Norm& norm) {
  const std::vector<int>& axes = norm.mean.axes;
  const auto count = static_cast<int>(axes.size());
  if (axes.back() - axes.front() + 1 != count) return;
  const Shape& shape = rewriter.shape(norm.mean.x);
  if (shape.size() == 4 && axes == std::vector<int>{2, 3}) {
    op::GroupNorm instance_norm;
    instance_norm.groups = static_cast<int>(shape[1]);
    instance_norm.epsilon = norm.epsilon;
    rewriter.Replace(id, instance_norm, {norm.mean.x});
    return;
  }
  op::LayerNorm layer_norm;
  layer_norm.first_axis = axes.front();
  layer_norm.axis_count = count;
  layer_norm.epsilon = norm.epsilon;
  rewriter.Replace(id, layer_norm, {norm.mean.x});
}

// A group norm as written for opsets without one: two reshapes around an instance norm make the
// groups its channels.
bool RecogniseGroupNorm(Rewriter& rewriter, OpId id) {
  const Operator& after = rewriter.op(id);
  if (after.As<op::Reshape>() == nullptr) return false;
  const auto* norm = rewriter.ProducedBy<op::GroupNorm>(after.inputs[0]);
  if (norm == nullptr) return false;
  const Operator& instance_norm = *rewriter.Producer(after.inputs[0]);
  const Operator* before = rewriter.Producer(instance_norm.inputs[0]);
  if (before == nullptr || before->As<op::Reshape>() == nullptr) return false;
  const ValueId x = before->inputs[0];
  const Shape& shape = rewriter.shape(x);
  const Shape& grouped = rewriter.shape(instance_norm.inputs[0]);
  const bool fits = shape.size() >= 3 && shape == rewriter.shape(after.outputs[0]) &&
                    grouped[0] == shape[0] && norm->groups == grouped[1] &&
                    shape[1] % grouped[1] == 0 && shape[1] <= kMaxWrittenOut;
  if (!fits) return false;
  op::GroupNorm group_norm = *norm;
  std::vector<ValueId> inputs = {x};
  if (norm->has_affine) {
    const auto repeat = static_cast<size_t>(shape[1] / grouped[1]);
    for (ValueId operand : {instance_norm.inputs[1], instance_norm.inputs[2]}) {
      const Tensor one_a_group = rewriter.constant(operand);
      std::vector<float> one_a_channel;
      for (int64_t group = 0; group < one_a_group.count(); ++group) {
        one_a_channel.insert(one_a_channel.end(), repeat, one_a_group.data()[group]);
      }
      const auto channels = static_cast<int64_t>(one_a_channel.size());
      const std::string name = rewriter.value(operand).name;
      inputs.push_back(rewriter.AddConstant(name, {channels}, std::move(one_a_channel)));
    }
  }
  rewriter.Replace(id, group_norm, std::move(inputs));
  return true;
}

}  // namespace

bool RecogniseNorms(Graph& graph) {
  return RewriteEach(graph, [](Rewriter& rewriter, OpId id) {
    if (const auto norm = MatchNorm(rewriter, rewriter.op(id))) {
      ReplaceByNorm(rewriter, id, *norm);
    } else {
      RecogniseGroupNorm(rewriter, id);
    }
  });
}

}  // namespace cacheinf::pass
