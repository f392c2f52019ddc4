#include "sparse_ops/function.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace cacheinf {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kDenormal = std::numeric_limits<float>::denorm_min();

using Kind = Function::Kind;

float FromBits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

uint32_t BitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

// Distance in units in the last place of the float nearest to `expected`.
double UlpError(float actual, long double expected) {
  const auto nearest = static_cast<float>(expected);
  if (std::isinf(nearest) || std::isinf(actual)) {
    return nearest == actual ? 0 : std::fabs(nearest - actual) < 1e32f ? 1 : 1e30;
  }
  const int exponent = std::max(std::ilogb(nearest == 0 ? kDenormal : nearest), -126);
  const long double ulp = std::ldexp(1.0L, exponent - 23);
  return static_cast<double>(std::fabs(static_cast<long double>(actual) - expected) / ulp);
}

// What a test of one function needs: the truth, where to look, and how far off it may be.
struct Claim {
  std::string name;
  Function function;
  long double (*truth)(long double);
  float low;
  float high;
  double ulps;
  double absolute = 0;  // an error below this is accepted as well
};

long double SigmoidTruth(long double x) { return 1 / (1 + std::exp(-x)); }
long double SiluTruth(long double x) { return x / (1 + std::exp(-x)); }
long double SoftplusTruth(long double x) {
  return std::max(x, 0.0L) + std::log1p(std::exp(-std::fabs(x)));
}
long double MishTruth(long double x) { return x * std::tanh(SoftplusTruth(x)); }
long double GeluTruth(long double x) { return x * std::erfc(-x * 0.70710678118654752440L) / 2; }
long double GeluTanhTruth(long double x) {
  const long double inner = std::sqrt(2 / 3.14159265358979323846L) * (x + 0.044715L * x * x * x);
  return x / (1 + std::exp(-2 * inner));
}
long double EluTruth(long double x) { return x < 0 ? std::expm1(x) : x; }
long double HardSwishTruth(long double x) {
  return x * std::min(std::max(x / 6 + 0.5L, 0.0L), 1.0L);
}

std::vector<Claim> Claims() {
  const auto f = [](Kind kind, float alpha = 0, float beta = 0) {
    return Function{kind, alpha, beta};
  };
  return {
      {"exp", f(Kind::kExp), [](long double x) { return std::exp(x); }, -200, 200, 1.1},
      {"log", f(Kind::kLog), [](long double x) { return std::log(x); }, 0, kInfinity, 1},
      {"tanh", f(Kind::kTanh), [](long double x) { return std::tanh(x); }, -100, 100, 2.6},
      {"sigmoid", f(Kind::kSigmoid), SigmoidTruth, -200, 200, 2.5, 2e-38},
      {"erf", f(Kind::kErf), [](long double x) { return std::erf(x); }, -100, 100, 1.5},
      {"softplus", f(Kind::kSoftplus), SoftplusTruth, -200, 1e30f, 2},
      {"sin", f(Kind::kSin), [](long double x) { return std::sin(x); }, -0x1p20f, 0x1p20f, 1.6},
      {"cos", f(Kind::kCos), [](long double x) { return std::cos(x); }, -0x1p20f, 0x1p20f, 1.6},
      {"silu", f(Kind::kSilu), SiluTruth, -80, 1e30f, 3.5},
      {"mish", f(Kind::kMish), MishTruth, -80, 1e30f, 5},
      {"gelu", f(Kind::kGelu), GeluTruth, -100, 1e30f, 4, 3e-7},
      {"gelu_tanh", f(Kind::kGeluTanh), GeluTanhTruth, -100, 1e12f, 6, 6e-7},
      {"elu", f(Kind::kElu, 1.0f), EluTruth, -1e30f, 1e30f, 2},
      {"hard_swish", f(Kind::kHardSwish), HardSwishTruth, -1e30f, 1e30f, 3, 2e-7},
  };
}

// Checks a claim at one float after another, and keeps the worst.
class ClaimCheck {
 public:
  explicit ClaimCheck(const Claim& claim) : claim_(claim) {}

  void At(float x) {
    if (!(x >= claim_.low && x <= claim_.high)) return;
    const float actual = Apply(claim_.function, x);
    const long double expected = claim_.truth(x);
    if (std::fabs(actual - expected) <= claim_.absolute) return;
    const double error = UlpError(actual, expected);
    if (std::isnan(worst_) || error <= worst_) return;
    worst_ = error;
    worst_at_ = x;
  }

  void Expect() const {
    EXPECT_LE(worst_, claim_.ulps)
        << claim_.name << " at " << worst_at_ << " gives " << Apply(claim_.function, worst_at_);
  }

  double worst_ulps() const { return worst_; }

 private:
  const Claim& claim_;
  double worst_ = 0;
  float worst_at_ = 0;
};

// Every float whose bits are a multiple of an odd number: all exponents, both signs, denormals.
TEST(FunctionTest, StaysWithinItsStatedErrorOfTheLongDoubleLibrary) {
  for (const Claim& claim : Claims()) {
    ClaimCheck check(claim);
    for (uint64_t i = 0; i < (uint64_t{1} << 32); i += 4001) {
      check.At(FromBits(static_cast<uint32_t>(i)));
    }
    RecordProperty(claim.name + "_ulp", std::to_string(check.worst_ulps()));
    check.Expect();
  }
}

// Equally spaced floats where a network's numbers are; all of them would take too long.
TEST(FunctionTest, StaysWithinItsStatedErrorOnADenseGridAroundZero) {
  for (const Claim& claim : Claims()) {
    ClaimCheck check(claim);
    for (int i = -600000; i <= 600000; ++i) check.At(static_cast<float>(i) * (1.0f / 30011));
    check.Expect();
  }
}

TEST(FunctionTest, PowerStaysWithinFourUlpsOfTheLongDoubleLibrary) {
  const unsigned seed = 20240611;
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> exponent(-126, 127);
  std::uniform_real_distribution<float> log_result(-80, 80);
  double worst = 0;
  float worst_a = 0;
  float worst_b = 0;
  for (int i = 0; i < 1000000; ++i) {
    const float a = i % 2 == 0 ? std::exp2(exponent(random)) : std::exp2(exponent(random) / 64);
    const float b = log_result(random) / std::log(a);
    if (!std::isfinite(b)) continue;
    const double error =
        UlpError(Combine(BinaryKind::kPower, a, b), std::pow(static_cast<long double>(a), b));
    if (!(error <= worst)) {
      worst = error;
      worst_a = a;
      worst_b = b;
    }
  }
  EXPECT_LE(worst, 4) << worst_a << " to the power " << worst_b << ", seed " << seed;
}

TEST(FunctionTest, PowerTreatsSignsZerosAndInfinitiesAsIeee) {
  const float values[] = {0.0f,  -0.0f, 1.0f,  -1.0f, 2.0f,      -2.0f,      0.5f,  -0.5f, 3.0f,
                          -3.0f, 2.5f,  -2.5f, 7.0f,  kInfinity, -kInfinity, 1e30f, -1e30f};
  for (const float a : values) {
    for (const float b : values) {
      // A root of infinity or zero is sqrt's.
      if (b == 0.5f || b == -0.5f) continue;
      const float actual = Combine(BinaryKind::kPower, a, b);
      const float expected = std::pow(a, b);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(actual)) << a << " to the power " << b << " gives " << actual;
      } else {
        EXPECT_LE(UlpError(actual, expected), 2) << a << " to the power " << b;
        EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << a << " to the power " << b;
      }
    }
    EXPECT_EQ(Combine(BinaryKind::kPower, a, 2.0f), a * a);
  }
  EXPECT_EQ(Combine(BinaryKind::kPower, kNaN, 0.0f), 1.0f);
  EXPECT_EQ(Combine(BinaryKind::kPower, 1.0f, kNaN), 1.0f);
  EXPECT_TRUE(std::isnan(Combine(BinaryKind::kPower, kNaN, 1.5f)));
  EXPECT_TRUE(std::isnan(Combine(BinaryKind::kPower, 1.5f, kNaN)));
}

TEST(FunctionTest, EveryFunctionPassesNaNOn) {
  for (int kind = 0; kind < static_cast<int>(Kind::kIsZero); ++kind) {
    const Function function{static_cast<Kind>(kind), 0.25f, 0.5f};
    EXPECT_TRUE(std::isnan(Apply(function, kNaN))) << "kind " << kind;
    EXPECT_TRUE(std::isnan(Apply(function, -kNaN))) << "kind " << kind;
  }
}

TEST(FunctionTest, MaximumAndMinimumPassNaNOnAndKeepTheFirstZero) {
  for (const BinaryKind kind : {BinaryKind::kMaximum, BinaryKind::kMinimum}) {
    EXPECT_TRUE(std::isnan(Combine(kind, kNaN, 1.0f)));
    EXPECT_TRUE(std::isnan(Combine(kind, 1.0f, kNaN)));
    EXPECT_EQ(BitsOf(Combine(kind, -0.0f, 0.0f)), BitsOf(-0.0f));
    EXPECT_EQ(BitsOf(Combine(kind, 0.0f, -0.0f)), BitsOf(0.0f));
  }
  EXPECT_EQ(Combine(BinaryKind::kMaximum, 1.0f, 2.0f), 2.0f);
  EXPECT_EQ(Combine(BinaryKind::kMinimum, 1.0f, 2.0f), 1.0f);
}

TEST(FunctionTest, ComparisonsAreNotTrueOfNaN) {
  struct Row {
    BinaryKind kind;
    bool below, same, above;
  };
  constexpr Row kRows[] = {{BinaryKind::kEqual, false, true, false},
                           {BinaryKind::kLess, true, false, false},
                           {BinaryKind::kLessOrEqual, true, true, false}};
  for (const auto& [kind, below, same, above] : kRows) {
    EXPECT_EQ(Combine(kind, 1.0f, 2.0f), below ? 1.0f : 0.0f);
    EXPECT_EQ(Combine(kind, -0.0f, 0.0f), same ? 1.0f : 0.0f);
    EXPECT_EQ(Combine(kind, 2.0f, 1.0f), above ? 1.0f : 0.0f);
    EXPECT_EQ(Combine(kind, kNaN, 1.0f), 0.0f);
    EXPECT_EQ(Combine(kind, kNaN, kNaN), 0.0f);
  }
  EXPECT_EQ(Combine(BinaryKind::kWhere, 0.0f, kInfinity), 0.0f);
  EXPECT_EQ(Combine(BinaryKind::kWhere, 1.0f, -kInfinity), -kInfinity);
}

TEST(FunctionTest, DividesIntegersExactly) {
  std::mt19937 random(20260711);
  for (int i = 0; i < 100000; ++i) {
    const int most = i % 2 == 0 ? 1 << 24 : 1 << (i % 24 + 1);
    std::uniform_int_distribution<int> any(-most, most);
    int b = any(random);
    if (b == 0) b = 1;
    // Often just below, at and just above a multiple.
    const int a = i % 3 == 0 ? any(random) : any(random) / b * b + i % 3 - 1;
    const auto of = [&](BinaryKind kind) {
      return Combine(kind, static_cast<float>(a), static_cast<float>(b));
    };
    if (std::abs(a) > 1 << 24) continue;
    const int quotient = a / b;
    ASSERT_EQ(of(BinaryKind::kQuotient), static_cast<float>(quotient)) << a << " / " << b;
    const int rest = a % b;
    const bool differs = rest != 0 && (rest < 0) != (b < 0);
    ASSERT_EQ(of(BinaryKind::kModulo), static_cast<float>(differs ? rest + b : rest))
        << a << " mod " << b;
  }
}

TEST(FunctionTest, TakesTheEndsOfTheNumberLineToTheirLimits) {
  struct Limit {
    Kind kind;
    float x;
    float expected;
  };
  const Limit limits[] = {
      {Kind::kExp, kInfinity, kInfinity},
      {Kind::kExp, -kInfinity, 0.0f},
      {Kind::kExp, 88.8f, kInfinity},
      {Kind::kExp, -104.0f, 0.0f},
      {Kind::kExp, -103.2f, kDenormal},
      {Kind::kExp, 0.0f, 1.0f},
      {Kind::kLog, kInfinity, kInfinity},
      {Kind::kLog, 0.0f, -kInfinity},
      {Kind::kLog, -0.0f, -kInfinity},
      {Kind::kLog, 1.0f, 0.0f},
      {Kind::kTanh, kInfinity, 1.0f},
      {Kind::kTanh, -kInfinity, -1.0f},
      {Kind::kTanh, -0.0f, -0.0f},
      {Kind::kTanh, kDenormal, kDenormal},
      {Kind::kSigmoid, kInfinity, 1.0f},
      {Kind::kSigmoid, -kInfinity, 0.0f},
      {Kind::kSigmoid, 0.0f, 0.5f},
      {Kind::kErf, kInfinity, 1.0f},
      {Kind::kErf, -kInfinity, -1.0f},
      {Kind::kErf, -0.0f, -0.0f},
      {Kind::kSoftplus, kInfinity, kInfinity},
      {Kind::kSoftplus, -kInfinity, 0.0f},
      {Kind::kRelu, -1.0f, 0.0f},
      {Kind::kRelu, -0.0f, -0.0f},
      {Kind::kRelu, kInfinity, kInfinity},
      {Kind::kGelu, kInfinity, kInfinity},
      {Kind::kMish, kInfinity, kInfinity},
      {Kind::kSilu, kInfinity, kInfinity},
      {Kind::kRound, 2.5f, 2.0f},
      {Kind::kRound, -3.5f, -4.0f},
      {Kind::kSin, 0.0f, 0.0f},
      {Kind::kTruncate, -2.7f, -2.0f},
      {Kind::kTruncate, 2.7f, 2.0f},
      {Kind::kTruncate, -0.3f, -0.0f},
      {Kind::kTruncate, kInfinity, kInfinity},
      {Kind::kIsZero, -0.0f, 1.0f},
      {Kind::kIsZero, kDenormal, 0.0f},
      {Kind::kIsZero, kNaN, 0.0f},
      {Kind::kCos, 0.0f, 1.0f},
      {Kind::kReciprocal, -0.0f, -kInfinity},
  };
  for (const Limit& limit : limits) {
    EXPECT_EQ(BitsOf(Apply({limit.kind, 0, 0}, limit.x)), BitsOf(limit.expected))
        << "kind " << static_cast<int>(limit.kind) << " of " << limit.x << " gives "
        << Apply({limit.kind, 0, 0}, limit.x);
  }
  EXPECT_TRUE(std::isnan(Apply({Kind::kLog, 0, 0}, -1.0f)));
  EXPECT_TRUE(std::isnan(Apply({Kind::kSqrt, 0, 0}, -1.0f)));
  EXPECT_TRUE(std::isnan(Apply({Kind::kSin, 0, 0}, kInfinity)));
  EXPECT_TRUE(std::isnan(Apply({Kind::kCos, 0, 0}, 2e6f)));
}

TEST(FunctionTest, ParametersMeanWhatTheirNamesSay) {
  EXPECT_EQ(Apply({Kind::kLeakyRelu, 0.5f, 0}, -3.0f), -1.5f);
  EXPECT_EQ(Apply({Kind::kLeakyRelu, 0.5f, 0}, 3.0f), 3.0f);
  EXPECT_EQ(Apply({Kind::kPRelu, 2.0f, 0}, -3.0f), -6.0f);
  EXPECT_EQ(Apply({Kind::kClip, 0.0f, 6.0f}, 7.0f), 6.0f);
  EXPECT_EQ(Apply({Kind::kClip, 0.0f, 6.0f}, -7.0f), 0.0f);
  EXPECT_EQ(Apply({Kind::kHardSigmoid, 0.25f, 0.5f}, 1.0f), 0.75f);
  EXPECT_EQ(Apply({Kind::kHardSigmoid, 0.25f, 0.5f}, 9.0f), 1.0f);
  EXPECT_EQ(Apply({Kind::kHardSwish, 0, 0}, 6.0f), 6.0f);
  EXPECT_EQ(Apply({Kind::kElu, 2.0f, 0}, -kInfinity), -2.0f);
}

}  // namespace
}  // namespace cacheinf
