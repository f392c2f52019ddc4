#include "sparse_ops/function.h"

namespace cacheinf {
namespace {

template <Function::Kind kind>
float Value(const Function& function, float x) {
  return scalar::Evaluate<kind>(scalar::Ops(), x, function.alpha, function.beta);
}

}  // namespace

float Apply(const Function& function, float x) {
  using Kind = Function::Kind;
  switch (function.kind) {
    case Kind::kIdentity:
      return Value<Kind::kIdentity>(function, x);
    case Kind::kRelu:
      return Value<Kind::kRelu>(function, x);
    case Kind::kLeakyRelu:
      return Value<Kind::kLeakyRelu>(function, x);
    case Kind::kPRelu:
      return Value<Kind::kPRelu>(function, x);
    case Kind::kElu:
      return Value<Kind::kElu>(function, x);
    case Kind::kClip:
      return Value<Kind::kClip>(function, x);
    case Kind::kSigmoid:
      return Value<Kind::kSigmoid>(function, x);
    case Kind::kHardSigmoid:
      return Value<Kind::kHardSigmoid>(function, x);
    case Kind::kSilu:
      return Value<Kind::kSilu>(function, x);
    case Kind::kHardSwish:
      return Value<Kind::kHardSwish>(function, x);
    case Kind::kGelu:
      return Value<Kind::kGelu>(function, x);
    case Kind::kGeluTanh:
      return Value<Kind::kGeluTanh>(function, x);
    case Kind::kMish:
      return Value<Kind::kMish>(function, x);
    case Kind::kTanh:
      return Value<Kind::kTanh>(function, x);
    case Kind::kSoftplus:
      return Value<Kind::kSoftplus>(function, x);
    case Kind::kExp:
      return Value<Kind::kExp>(function, x);
    case Kind::kLog:
      return Value<Kind::kLog>(function, x);
    case Kind::kErf:
      return Value<Kind::kErf>(function, x);
    case Kind::kSqrt:
      return Value<Kind::kSqrt>(function, x);
    case Kind::kReciprocal:
      return Value<Kind::kReciprocal>(function, x);
    case Kind::kAbs:
      return Value<Kind::kAbs>(function, x);
    case Kind::kNegate:
      return Value<Kind::kNegate>(function, x);
    case Kind::kFloor:
      return Value<Kind::kFloor>(function, x);
    case Kind::kCeil:
      return Value<Kind::kCeil>(function, x);
    case Kind::kRound:
      return Value<Kind::kRound>(function, x);
    case Kind::kSin:
      return Value<Kind::kSin>(function, x);
    case Kind::kCos:
      return Value<Kind::kCos>(function, x);
  }
  return x;
}

float Combine(BinaryKind kind, float a, float b) {
  constexpr scalar::Ops ops;
  switch (kind) {
    case BinaryKind::kAdd:
      return scalar::Combine<BinaryKind::kAdd>(ops, a, b);
    case BinaryKind::kSubtract:
      return scalar::Combine<BinaryKind::kSubtract>(ops, a, b);
    case BinaryKind::kMultiply:
      return scalar::Combine<BinaryKind::kMultiply>(ops, a, b);
    case BinaryKind::kDivide:
      return scalar::Combine<BinaryKind::kDivide>(ops, a, b);
    case BinaryKind::kPower:
      return scalar::Combine<BinaryKind::kPower>(ops, a, b);
    case BinaryKind::kMinimum:
      return scalar::Combine<BinaryKind::kMinimum>(ops, a, b);
    case BinaryKind::kMaximum:
      return scalar::Combine<BinaryKind::kMaximum>(ops, a, b);
  }
  return a;
}

float Exp(float x) { return scalar::Exp(scalar::Ops(), x); }

float Log(float x) { return scalar::Log(scalar::Ops(), x); }

}  // namespace cacheinf
