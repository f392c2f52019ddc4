#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "common/model/passes/passes.h"

namespace cacheinf {
namespace {

// Training with weight decay leaves dead filters with weights that shrink towards 1e-40. They slow
// processors down a hundredfold, and add nothing to any sum.
constexpr float kVanishing = 0x1p-100f;
constexpr float kVanishingShare = 0x1p-60f;  // of the largest in the same tensor

bool ZeroVanishingIn(Value& value) {
  const float* begin = value.constant.data();
  const float* end = begin + value.constant.count();
  float largest = 0.0f;
  for (const float* number = begin; number != end; ++number) {
    largest = std::max(largest, std::fabs(*number));
  }
  const float bound = std::min(kVanishing, largest * kVanishingShare);
  const auto vanishes = [&](float number) { return number != 0.0f && std::fabs(number) < bound; };
  if (std::none_of(begin, end, vanishes)) return false;
  std::vector<float> numbers(begin, end);
  std::replace_if(numbers.begin(), numbers.end(), vanishes, 0.0f);
  value.constant = Tensor(value.constant.shape(), std::move(numbers));
  return true;
}

}  // namespace

bool pass::ZeroVanishing(Graph& graph) {
  bool changed = false;
  for (const Operator& op : graph.operators) {
    if (!op.As<op::Conv>() && !op.As<op::Linear>() && !op.As<op::ScaleShift>()) continue;
    for (size_t input = 1; input < op.inputs.size(); ++input) {
      Value& value = graph.values[static_cast<size_t>(op.inputs[input])];
      if (value.is_constant()) changed = ZeroVanishingIn(value) || changed;
    }
  }
  return changed;
}

}  // namespace cacheinf
