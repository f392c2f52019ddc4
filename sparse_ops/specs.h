#ifndef CACHEINF_SPARSE_OPS_SPECS_H_
#define CACHEINF_SPARSE_OPS_SPECS_H_

#include <cstdint>

// What operators compute, in plain numbers: all that a kernel needs from an operator's description.
// The model graph (common/model/graph.h) embeds these same structs.

namespace cacheinf {

// A function of one number, applied alone or in the epilogue of another operator. Its bits are the
// same on every backend (sparse_ops/function.h), never the C library's.
struct Function {
  enum class Kind : uint8_t {
    kIdentity,
    kRelu,         // max(x, 0)
    kLeakyRelu,    // x < 0 ? alpha x : x
    kPRelu,        // as kLeakyRelu, with one slope per channel from an operand
    kElu,          // x < 0 ? alpha (e^x - 1) : x
    kClip,         // min(max(x, alpha), beta); relu6 is clip to [0, 6]
    kSigmoid,      // 1 / (1 + e^-x)
    kHardSigmoid,  // min(max(alpha x + beta, 0), 1)
    kSilu,         // x sigmoid(x)
    kHardSwish,    // x min(max(x / 6 + 1/2, 0), 1)
    kGelu,         // x (1 + erf(x / sqrt 2)) / 2
    kGeluTanh,     // x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2
    kMish,         // x tanh(ln(1 + e^x))
    kTanh,
    kSoftplus,  // ln(1 + e^x)
    kExp,
    kLog,
    kErf,
    kSqrt,
    kReciprocal,
    kAbs,
    kNegate,
    kFloor,
    kCeil,
    kRound,  // to nearest, ties to even
    kSin,
    kCos,
    kTruncate,  // toward zero
    kIsZero,    // x = 0 ? 1 : 0
  };
  static constexpr int kKinds = static_cast<int>(Kind::kIsZero) + 1;

  Kind kind = Kind::kIdentity;
  float alpha = 0.0f;
  float beta = 0.0f;

  friend bool operator==(const Function& a, const Function& b) {
    return a.kind == b.kind && a.alpha == b.alpha && a.beta == b.beta;
  }
};

// What an 8-bit number q stands for: scale (q - zero_point).
struct Steps {
  float scale = 1.0f;  // finite, above 0
  int zero_point = 0;  // in [low(), high()]
  bool is_signed = false;

  constexpr int low() const { return is_signed ? -128 : 0; }
  constexpr int high() const { return is_signed ? 127 : 255; }
  constexpr bool Includes(int number) const { return number >= low() && number <= high(); }

  friend bool operator==(const Steps& a, const Steps& b) {
    return a.scale == b.scale && a.zero_point == b.zero_point && a.is_signed == b.is_signed;
  }
};

// One axis of a sliding window. The padding may be negative (cropping).
struct WindowAxis {
  int kernel = 1;
  int stride = 1;
  int pad_begin = 0;
  int pad_end = 0;
  int dilation = 1;
};

// Weights are out × (in / groups) × kernel rows × kernel columns; for a transposed convolution
// in × (out / groups) × kernel rows × kernel columns, as the model files have them.
struct ConvSpec {
  WindowAxis rows;
  WindowAxis columns;
  int groups = 1;
  bool transposed = false;
  int output_padding_rows = 0;  // transposed only
  int output_padding_columns = 0;
};

struct PoolSpec {
  enum class Kind : uint8_t { kMax, kAverage };
  Kind kind = Kind::kMax;
  WindowAxis rows;
  WindowAxis columns;
  bool ceil_mode = false;
  bool count_padding = false;  // average: divide by the whole window, padding included
  int divisor = 0;             // average: if not 0, divide by this instead
};

struct ResizeSpec {
  enum class Kind : uint8_t { kNearest, kLinear, kCubic };
  // Names as in ONNX; PyTorch's are kHalfPixel, kAlignCorners and, for nearest, kAsymmetric +
  // kFloor.
  enum class Coordinates : uint8_t {
    kHalfPixel,
    kPytorchHalfPixel,
    kAlignCorners,
    kAsymmetric,
    kHalfPixelSymmetric,
  };
  enum class Rounding : uint8_t { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil };
  Kind kind = Kind::kNearest;
  Coordinates coordinates = Coordinates::kHalfPixel;
  Rounding rounding = Rounding::kFloor;  // nearest only
  float cubic_a = -0.75f;                // cubic only
  int out_height = 0;
  int out_width = 0;
  // Output size over input size as the model states it; 0: from the sizes themselves.
  float scale_rows = 0.0f;
  float scale_columns = 0.0f;
};

enum class BinaryKind : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kPower,
  kMinimum,
  kMaximum,
  // Truth values are 1 and 0. Nothing compares true with NaN.
  kEqual,
  kLess,
  kLessOrEqual,
  kWhere,     // a = 0 ? 0 : b
  kQuotient,  // a / b, truncated
  kModulo,    // a - b floor(a / b)
};
inline constexpr int kBinaryKinds = static_cast<int>(BinaryKind::kModulo) + 1;

enum class PadMode : uint8_t { kConstant, kReflect, kEdge };

enum class ReduceKind : uint8_t { kMean, kSum, kMax, kMin };

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_SPECS_H_
