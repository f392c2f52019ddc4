#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "common/model/passes/passes.h"
#include "common/model/passes/rewriter.h"

// Exporters write an activation such as GELU as additions, products and one transcendental
// function, in every order that algebra allows. So no order is matched here: a subgraph is read as
// p(x) + q(x) f(u(x)) with polynomials p, q, u, and the polynomials are compared.

namespace cacheinf::pass {
namespace {

constexpr int kMaxDegree = 3;
constexpr int kMaxDepth = 7;  // of a written-out activation, in operators
constexpr size_t kMaxCandidates = 32;

// Coefficients of 1, x, x^2, x^3.
using Polynomial = std::array<double, kMaxDegree + 1>;

bool IsZero(const Polynomial& p) {
  return std::ranges::all_of(p, [](double c) { return c == 0.0; });
}

bool IsConstant(const Polynomial& p) { return IsZero({0.0, p[1], p[2], p[3]}); }

bool Equals(const Polynomial& a, const Polynomial& b) {
  for (int i = 0; i <= kMaxDegree; ++i) {
    if (std::abs(a[i] - b[i]) > 1e-5 * std::abs(b[i])) return false;
  }
  return true;
}

Polynomial Sum(const Polynomial& a, const Polynomial& b, double factor_of_b) {
  Polynomial sum = a;
  for (int i = 0; i <= kMaxDegree; ++i) sum[i] += factor_of_b * b[i];
  return sum;
}

std::optional<Polynomial> Product(const Polynomial& a, const Polynomial& b) {
  Polynomial product = {};
  for (int i = 0; i <= kMaxDegree; ++i) {
    for (int j = 0; j <= kMaxDegree; ++j) {
      const double term = a[i] * b[j];
      if (term == 0.0) continue;
      if (i + j > kMaxDegree) return std::nullopt;
      product[i + j] += term;
    }
  }
  return product;
}

// plain + factor f
struct Expression {
  Polynomial plain = {};
  Polynomial factor = {};
};

std::optional<Expression> Product(const Expression& a, const Expression& b) {
  if (!IsZero(a.factor) && !IsZero(b.factor)) return std::nullopt;
  const auto plain = Product(a.plain, b.plain);
  const auto left = Product(a.plain, b.factor);
  const auto right = Product(a.factor, b.plain);
  if (!plain || !left || !right) return std::nullopt;
  return Expression{*plain, Sum(*left, *right, 1.0)};
}

// Reads values as expressions in `x` and `f`; f may be kNone.
class Reader {
 public:
  Reader(const Rewriter& rewriter, ValueId x, ValueId f) : rewriter_(rewriter), x_(x), f_(f) {}

  std::optional<Expression> Read(ValueId id, int depth = 0) const {
    if (id == x_) return Expression{{0.0, 1.0}, {}};
    if (id == f_) return Expression{{}, {1.0}};
    if (const auto scalar = rewriter_.Scalar(id)) return Expression{{*scalar}, {}};
    const Operator* op = rewriter_.Producer(id);
    if (depth == kMaxDepth || op == nullptr || rewriter_.shape(id) != rewriter_.shape(x_)) {
      return std::nullopt;
    }
    if (const auto* activation = op->As<op::Activation>()) {
      if (activation->function.kind != Function::Kind::kNegate) return std::nullopt;
      const auto negated = Read(op->inputs[0], depth + 1);
      if (!negated) return std::nullopt;
      return Expression{Sum({}, negated->plain, -1.0), Sum({}, negated->factor, -1.0)};
    }
    const auto* binary = op->As<op::Binary>();
    if (binary == nullptr || !IsIdentity(binary->activation)) return std::nullopt;
    const auto a = Read(op->inputs[0], depth + 1);
    if (!a) return std::nullopt;
    const auto b = Read(op->inputs[1], depth + 1);
    if (!b) return std::nullopt;
    return Combine(binary->kind, *a, *b);
  }

 private:
  static std::optional<Expression> Combine(BinaryKind kind, const Expression& a,
                                           const Expression& b) {
    const bool b_is_number = IsConstant(b.plain) && IsZero(b.factor);
    switch (kind) {
      case BinaryKind::kAdd:
        return Expression{Sum(a.plain, b.plain, 1.0), Sum(a.factor, b.factor, 1.0)};
      case BinaryKind::kSubtract:
        return Expression{Sum(a.plain, b.plain, -1.0), Sum(a.factor, b.factor, -1.0)};
      case BinaryKind::kMultiply:
        return Product(a, b);
      case BinaryKind::kDivide:
        if (!b_is_number || b.plain[0] == 0.0) return std::nullopt;
        return Product(a, Expression{{1.0 / b.plain[0]}, {}});
      case BinaryKind::kPower: {
        if (!b_is_number || (b.plain[0] != 2.0 && b.plain[0] != 3.0)) return std::nullopt;
        const auto square = Product(a, a);
        return b.plain[0] == 2.0 || !square ? square : Product(*square, a);
      }
      default:
        return std::nullopt;
    }
    return std::nullopt;
  }

  const Rewriter& rewriter_;
  ValueId x_;
  ValueId f_;
};

void AddOnce(std::vector<ValueId>& values, ValueId id) {
  if (values.size() == kMaxCandidates) return;
  if (std::ranges::find(values, id) == values.end()) values.push_back(id);
}

// Collects the results of function operators below `id` that an activation may be written with.
void CollectFunctions(const Rewriter& rewriter, ValueId id, int depth,
                      std::vector<ValueId>& found) {
  const Operator* op = rewriter.Producer(id);
  if (op == nullptr || depth > kMaxDepth) return;
  if (const auto* activation = op->As<op::Activation>()) {
    switch (activation->function.kind) {
      case Function::Kind::kErf:
      case Function::Kind::kTanh:
      case Function::Kind::kSigmoid:
      case Function::Kind::kClip:
      case Function::Kind::kHardSigmoid:
        AddOnce(found, id);
        break;
      case Function::Kind::kNegate:
        CollectFunctions(rewriter, op->inputs[0], depth + 1, found);
        break;
      default:
        break;
    }
  } else if (op->As<op::Binary>() != nullptr) {
    for (ValueId input : op->inputs) CollectFunctions(rewriter, input, depth + 1, found);
  }
}

// Collects candidates for x in an argument u(x): u itself and what it is computed from.
void CollectArguments(const Rewriter& rewriter, ValueId id, int depth,
                      std::vector<ValueId>& found) {
  if (rewriter.value(id).is_constant() || depth > kMaxDepth) return;
  AddOnce(found, id);
  const Operator* op = rewriter.Producer(id);
  if (op == nullptr) return;
  const auto* activation = op->As<op::Activation>();
  const bool is_softplus =
      activation != nullptr && activation->function.kind == Function::Kind::kSoftplus;
  if (op->As<op::Binary>() == nullptr && !is_softplus) return;
  for (ValueId input : op->inputs) CollectArguments(rewriter, input, depth + 1, found);
}

bool IsClose(double a, double b) { return std::abs(a - b) <= 1e-5 * std::abs(b); }

// PyTorch's hard sigmoid, the gate of HardSwish.
bool IsUsualHardSigmoid(const Function& f) {
  return IsClose(f.alpha, 1.0 / 6.0) && IsClose(f.beta, 0.5);
}

std::optional<Function> Make(Function::Kind kind) { return Function{kind, 0.0f, 0.0f}; }

// Names the function plain(x) + factor(x) f(u(x)), if it has a name.
std::optional<Function> Name(const Expression& e, const Function& f, const Polynomial& u) {
  const bool is_plain_free = IsZero(e.plain);
  const Polynomial kX = {0.0, 1.0};
  const Polynomial kHalfX = {0.0, 0.5};
  switch (f.kind) {
    case Function::Kind::kSigmoid:
      if (is_plain_free && Equals(e.factor, kX) && Equals(u, kX)) {
        return Make(Function::Kind::kSilu);
      }
      break;
    case Function::Kind::kErf:
      if (Equals(e.plain, kHalfX) && Equals(e.factor, kHalfX) &&
          Equals(u, {0.0, 1.0 / std::numbers::sqrt2})) {
        return Make(Function::Kind::kGelu);
      }
      break;
    case Function::Kind::kTanh: {
      const double slope = std::sqrt(2.0 / std::numbers::pi);
      if (Equals(e.plain, kHalfX) && Equals(e.factor, kHalfX) &&
          Equals(u, {0.0, slope, 0.0, 0.044715 * slope})) {
        return Make(Function::Kind::kGeluTanh);
      }
      break;
    }
    case Function::Kind::kHardSigmoid:
      if (is_plain_free && Equals(e.factor, kX) && Equals(u, kX) && IsUsualHardSigmoid(f)) {
        return Make(Function::Kind::kHardSwish);
      }
      break;
    case Function::Kind::kClip: {
      // k clip(a x + b, 0, 1/k) is min(max(k a x + k b, 0), 1).
      const double k = IsConstant(e.factor) ? e.factor[0] : e.factor[1];
      if (!is_plain_free || f.alpha != 0.0f || !IsClose(k * f.beta, 1.0)) break;
      if (u[2] != 0.0 || u[3] != 0.0) break;
      if (Equals(e.factor, {k})) {
        return Function{Function::Kind::kHardSigmoid, static_cast<float>(k * u[1]),
                        static_cast<float>(k * u[0])};
      }
      if (Equals(e.factor, {0.0, k}) && IsClose(k * u[1], 1.0 / 6.0) && IsClose(k * u[0], 0.5)) {
        return Make(Function::Kind::kHardSwish);
      }
      break;
    }
    default:
      break;
  }
  return std::nullopt;
}

struct Match {
  Function function;
  ValueId x = kNone;
};

std::optional<Match> MatchActivation(const Rewriter& rewriter, ValueId root) {
  std::vector<ValueId> functions;
  CollectFunctions(rewriter, root, 0, functions);
  // Any linear function may be inside a hard sigmoid: take as much of it as possible.
  std::optional<Match> deepest;
  for (ValueId f : functions) {
    const Operator& function_op = *rewriter.Producer(f);
    const Function function = function_op.As<op::Activation>()->function;
    const ValueId argument = function_op.inputs[0];
    std::vector<ValueId> candidates;
    CollectArguments(rewriter, argument, 0, candidates);
    for (ValueId x : candidates) {
      if (rewriter.shape(x) != rewriter.shape(root)) continue;
      const auto expression = Reader(rewriter, x, f).Read(root);
      if (!expression) continue;
      const auto* softplus = rewriter.ProducedBy<op::Activation>(argument);
      if (function.kind == Function::Kind::kTanh && softplus != nullptr &&
          softplus->function.kind == Function::Kind::kSoftplus &&
          rewriter.Producer(argument)->inputs[0] == x) {
        if (IsZero(expression->plain) && Equals(expression->factor, {0.0, 1.0})) {
          return Match{*Make(Function::Kind::kMish), x};
        }
        continue;
      }
      const auto u = Reader(rewriter, x, kNone).Read(argument);
      if (!u) continue;
      const auto named = Name(*expression, function, u->plain);
      if (!named) continue;
      if (named->kind != Function::Kind::kHardSigmoid || IsUsualHardSigmoid(*named)) {
        return Match{*named, x};
      }
      deepest = Match{*named, x};
    }
  }
  return deepest;
}

// A clip of a linear function may be a hard sigmoid; all others end in a sum or product.
bool MayEndActivation(const Rewriter& rewriter, const Operator& op) {
  if (const auto* binary = op.As<op::Binary>()) return IsIdentity(binary->activation);
  const auto* activation = op.As<op::Activation>();
  return activation != nullptr && activation->function.kind == Function::Kind::kClip &&
         rewriter.ProducedBy<op::Binary>(op.inputs[0]) != nullptr;
}

}  // namespace

bool RecogniseActivations(Graph& graph) {
  return RewriteEach(graph, [](Rewriter& rewriter, OpId id) {
    if (!MayEndActivation(rewriter, rewriter.op(id))) return;
    const auto match = MatchActivation(rewriter, rewriter.op(id).outputs[0]);
    if (!match) return;
    // clip(x, 0, 1) of a sum is not worth calling a hard sigmoid of that sum.
    if (rewriter.op(id).As<op::Activation>() != nullptr && match->x == rewriter.op(id).inputs[0]) {
      return;
    }
    rewriter.Replace(id, op::Activation{match->function}, {match->x});
  });
}

}  // namespace cacheinf::pass
