#include "sparse_ops/function.h"

#include <cstddef>
#include <utility>

namespace cacheinf {
namespace {

template <int kind>
float Value(const Function& function, float x) {
  return scalar::Evaluate<static_cast<Function::Kind>(kind)>(scalar::Ops(), x, function.alpha,
                                                             function.beta);
}

template <int kind>
float CombineBy(float a, float b) {
  return scalar::Combine<static_cast<BinaryKind>(kind)>(scalar::Ops(), a, b);
}

// One entry per kind.
template <int... kinds>
float ApplyOneOf(const Function& function, float x, std::integer_sequence<int, kinds...>) {
  static constexpr float (*kValues[])(const Function&, float) = {Value<kinds>...};
  return kValues[static_cast<size_t>(function.kind)](function, x);
}

template <int... kinds>
float CombineByOneOf(BinaryKind kind, float a, float b, std::integer_sequence<int, kinds...>) {
  static constexpr float (*kCombined[])(float, float) = {CombineBy<kinds>...};
  return kCombined[static_cast<size_t>(kind)](a, b);
}

}  // namespace

float Apply(const Function& function, float x) {
  return ApplyOneOf(function, x, std::make_integer_sequence<int, Function::kKinds>());
}

float Combine(BinaryKind kind, float a, float b) {
  return CombineByOneOf(kind, a, b, std::make_integer_sequence<int, kBinaryKinds>());
}

float Exp(float x) { return scalar::Exp(scalar::Ops(), x); }

float Log(float x) { return scalar::Log(scalar::Ops(), x); }

}  // namespace cacheinf
