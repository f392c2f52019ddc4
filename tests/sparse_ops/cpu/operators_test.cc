#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "sparse_ops/cpu/aligned_floats.h"
#include "sparse_ops/cpu/cpu.h"
#include "sparse_ops/cpu/products.h"
#include "sparse_ops/function.h"
#include "sparse_ops/reference/reference.h"
#include "tests/sparse_ops/cpu/targets.h"

// Every operator of cpu.h and products.h against reference::, bit for bit, on random cases, for
// every compiled target that the machine has and several thread counts.

namespace cacheinf {
namespace {

using Dims = std::vector<int64_t>;

// A tensor in memory of its own. Maps (rank 4) lie channels-last, as wide as a wider map's slice.
class TestTensor {
 public:
  TestTensor(const Dims& dims, int gap = 0) {
    view_.rank = static_cast<int>(dims.size());
    std::copy(dims.begin(), dims.end(), view_.dims.begin());
    std::vector<int> order(dims.size());  // from the fastest
    for (size_t i = 0; i < dims.size(); ++i) order[i] = static_cast<int>(dims.size() - 1 - i);
    if (dims.size() == 4) order = {1, 3, 2, 0};
    int64_t stride = 1;
    for (const int axis : order) {
      view_.strides[axis] = stride;
      stride *= dims[axis];
      if (axis == 1 && dims.size() == 4) stride += gap;
    }
    memory_.assign(static_cast<size_t>(stride) + 1, kGuard);
    view_.data = memory_.data();
  }
  TestTensor(TestTensor&&) = default;

  void Fill(const std::function<float()>& number) {
    const ConstTensorView& shape = view_;
    std::array<int64_t, TensorView::kMaxRank> index = {};
    for (int64_t i = 0; i < shape.Count(); ++i) {
      int64_t offset = 0;
      for (int axis = 0; axis < shape.rank; ++axis) offset += index[axis] * shape.strides[axis];
      view_.data[offset] = number();
      for (int axis = shape.rank - 1; axis >= 0 && ++index[axis] == shape.dims[axis]; --axis) {
        index[axis] = 0;
      }
    }
  }

  const TensorView& view() const { return view_; }
  const std::vector<float>& memory() const { return memory_; }

 private:
  static constexpr float kGuard = 12345.0f;
  std::vector<float> memory_;
  TensorView view_;
};

// Equal bits, but any NaN equals any other.
testing::AssertionResult SameBits(const TestTensor& actual, const TestTensor& expected) {
  for (size_t i = 0; i < actual.memory().size(); ++i) {
    const float a = actual.memory()[i];
    const float b = expected.memory()[i];
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a != b || std::signbit(a) != std::signbit(b)) {
      return testing::AssertionFailure() << "at " << i << ": " << a << ", expected " << b;
    }
  }
  return testing::AssertionSuccess();
}

class CpuOperatorsTest : public testing::Test {
 protected:
  void SetUp() override { std::cout << "seed " << kSeed << "\n"; }

  int Between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool Chance(int one_in) { return Between(1, one_in) == 1; }
  float Number() { return std::uniform_real_distribution<float>(-2.0f, 2.0f)(random_); }

  // Mostly ordinary numbers, with zeros of both signs, ties, infinities and NaN among them.
  float OddNumber() {
    constexpr float kOdd[] = {0.0f, -0.0f, 1.0f, -1.0f, HUGE_VALF, -HUGE_VALF, NAN, 1e-40f};
    return Chance(12) ? kOdd[Between(0, 7)] : Number();
  }

  std::vector<float> Numbers(int64_t count) {
    std::vector<float> numbers(static_cast<size_t>(count));
    for (float& number : numbers) number = Number();
    return numbers;
  }

  TestTensor Input(const Dims& dims, bool odd = false) {
    TestTensor tensor(dims, Chance(2) ? Between(0, 5) : 0);
    tensor.Fill([&] { return odd ? OddNumber() : Number(); });
    return tensor;
  }

  Dims MapDims() { return {Between(1, 2), Between(1, 70), Between(1, 9), Between(1, 40)}; }

  // run(output) by the reference and, for each target and thread count, by run(output, pool).
  void Compare(const Dims& output_dims, const std::function<void(const TensorView&)>& reference,
               const std::function<void(const TensorView&, ThreadPool&)>& cpu) {
    const int gap = Between(0, 3);
    const TestTensor expected(output_dims, gap);
    reference(expected.view());
    ForEachCpuTarget([&] {
      for (ThreadPool& pool : pools_) {
        const TestTensor actual(output_dims, gap);
        cpu(actual.view(), pool);
        ASSERT_TRUE(SameBits(actual, expected)) << pool.threads() << " threads";
      }
    });
  }

  // Random slices of `height` rows that make up the whole.
  void ForEachSlice(int height, const std::function<void(Range)>& run) {
    for (int row = 0; row < height;) {
      const int end = Between(row + 1, height);
      run({row, end});
      row = end;
    }
  }

  static constexpr unsigned kSeed = 20260302;
  std::mt19937 random_{kSeed};
  ThreadPool pools_[3] = {ThreadPool(1), ThreadPool(2), ThreadPool(3)};
};

TEST_F(CpuOperatorsTest, EveryFunctionHasTheReferencesBitsOnOddNumbers) {
  for (int kind = 0; kind <= static_cast<int>(Function::Kind::kCos); ++kind) {
    for (int i = 0; i < 4; ++i) {
      const Dims dims = Chance(2) ? MapDims() : Dims{Between(1, 3), Between(1, 40), Between(1, 70)};
      const TestTensor input = Input(dims, /*odd=*/true);
      const std::vector<float> slopes = Numbers(dims[1]);
      ActivationArgs args;
      args.activation.function = {static_cast<Function::Kind>(kind), -0.4f, 0.7f};
      if (args.activation.function.kind == Function::Kind::kPRelu) {
        args.activation.slopes = slopes.data();
        args.activation.one_slope = Chance(2);
      }
      args.input = input.view();
      SCOPED_TRACE("function " + std::to_string(kind));
      Compare(
          dims,
          [&](const TensorView& output) {
            args.output = output;
            reference::Activation(args);
          },
          [&](const TensorView& output, ThreadPool& pool) {
            args.output = output;
            cpu::Activation(args, AllPixels(args.output), pool);
          });
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(CpuOperatorsTest, EveryFunctionAndBinaryHasTheReferencesBitsOnAnyBits) {
  constexpr int64_t kCount = 20'011;
  TestTensor a({kCount});
  TestTensor b({kCount});
  const auto any_bits = [&] {
    const auto bits = static_cast<uint32_t>(random_());
    float number;
    std::memcpy(&number, &bits, sizeof(number));
    return number;
  };
  a.Fill(any_bits);
  b.Fill([&] { return Chance(2) ? any_bits() : static_cast<float>(Between(-4, 4)) / 2; });
  for (int kind = 0; kind <= static_cast<int>(Function::Kind::kCos); ++kind) {
    SCOPED_TRACE("function " + std::to_string(kind));
    ActivationArgs args;
    args.activation.function = {static_cast<Function::Kind>(kind), 0.3f, 0.7f};
    args.input = a.view();
    Compare(
        {kCount},
        [&](const TensorView& output) {
          args.output = output;
          for (int64_t i = 0; i < kCount; ++i) {
            output.data[i] = Apply(args.activation.function, a.view().data[i]);
          }
        },
        [&](const TensorView& output, ThreadPool& pool) {
          args.output = output;
          cpu::Activation(args, AllPixels(args.output), pool);
        });
  }
  for (int kind = 0; kind <= static_cast<int>(BinaryKind::kMaximum); ++kind) {
    SCOPED_TRACE("binary " + std::to_string(kind));
    BinaryArgs args;
    args.kind = static_cast<BinaryKind>(kind);
    args.a = a.view();
    args.b = b.view();
    Compare(
        {kCount},
        [&](const TensorView& output) {
          args.output = output;
          reference::Binary(args);
        },
        [&](const TensorView& output, ThreadPool& pool) {
          args.output = output;
          cpu::Binary(args, AllPixels(args.output), pool);
        });
  }
}

TEST_F(CpuOperatorsTest, BinaryBroadcastsLikeTheReference) {
  for (int i = 0; i < 120; ++i) {
    const Dims dims = Chance(3) ? Dims{Between(1, 3), Between(1, 9), Between(1, 50)} : MapDims();
    Dims dims_a = dims;
    Dims dims_b = dims;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      if (Chance(4)) (Chance(2) ? dims_a : dims_b)[axis] = 1;
    }
    if (Chance(5)) dims_b = {dims_b.back()};  // fewer dimensions
    const TestTensor a = Input(dims_a, /*odd=*/true);
    const TestTensor b = Input(dims_b, /*odd=*/true);
    BinaryArgs args;
    args.kind = static_cast<BinaryKind>(Between(0, 6));
    if (Chance(3)) args.activation.kind = Function::Kind::kRelu;
    args.a = a.view();
    args.b = b.view();
    SCOPED_TRACE("case " + std::to_string(i) + " kind " +
                 std::to_string(static_cast<int>(args.kind)));
    Compare(
        dims,
        [&](const TensorView& output) {
          args.output = output;
          reference::Binary(args);
        },
        [&](const TensorView& output, ThreadPool& pool) {
          args.output = output;
          if (output.rank != 4) return cpu::Binary(args, AllPixels(args.output), pool);
          ForEachSlice(static_cast<int>(output.dims[2]),
                       [&](Range rows) { cpu::Binary(args, rows, pool); });
        });
    if (HasFatalFailure()) return;
  }
}

TEST_F(CpuOperatorsTest, BinaryMayWriteOverAnOperand) {
  const Dims dims = {1, 40, 13, 17};
  const TestTensor b = Input(dims);
  const TestTensor a = Input(dims);
  const auto add = [&](const TensorView& output, const auto& run) {
    std::memcpy(output.data, a.view().data, static_cast<size_t>(output.Count()) * sizeof(float));
    run(BinaryArgs{BinaryKind::kAdd, {}, output, b.view(), output});
  };
  TestTensor expected(dims);
  add(expected.view(), [](const BinaryArgs& args) { reference::Binary(args); });
  ForEachCpuTarget([&] {
    TestTensor actual(dims);
    add(actual.view(),
        [&](const BinaryArgs& args) { cpu::Binary(args, AllPixels(args.output), pools_[1]); });
    EXPECT_TRUE(SameBits(actual, expected));
  });
}

TEST_F(CpuOperatorsTest, ScaleShiftAndChannelOrder) {
  for (int i = 0; i < 60; ++i) {
    Dims dims = Chance(4) ? Dims{Between(1, 3), Between(1, 20), Between(1, 20)} : MapDims();
    if (Chance(2)) dims[1] = Between(1, 4);
    const TestTensor input = Input(dims);
    const std::vector<float> scale = Numbers(dims[1]);
    const std::vector<float> shift = Numbers(dims[1]);
    std::vector<int> order(static_cast<size_t>(dims[1]));
    for (size_t c = 0; c < order.size(); ++c) order[c] = static_cast<int>(order.size() - 1 - c);
    ScaleShiftArgs args;
    args.scale = scale.data();
    args.shift = shift.data();
    if (Chance(3)) args.channel_order = order.data();
    if (Chance(3)) args.activation.function.kind = Function::Kind::kSilu;
    const std::vector<float> slopes = Numbers(dims[1]);
    if (Chance(3)) {
      args.activation.function.kind = Function::Kind::kPRelu;
      args.activation.slopes = slopes.data();
      args.activation.one_slope = Chance(2);
    }
    args.input = input.view();
    Compare(
        dims,
        [&](const TensorView& output) {
          args.output = output;
          reference::ScaleShift(args);
        },
        [&](const TensorView& output, ThreadPool& pool) {
          args.output = output;
          cpu::ScaleShift(args, AllPixels(args.output), pool);
        });
    if (HasFatalFailure()) return;
  }
}

TEST_F(CpuOperatorsTest, PoolsClipAtTheBorderLikeTheReference) {
  for (int i = 0; i < 120; ++i) {
    PoolArgs args;
    args.spec.kind = Chance(2) ? PoolSpec::Kind::kMax : PoolSpec::Kind::kAverage;
    const auto axis = [&] {
      WindowAxis window;
      window.kernel = Between(1, 5);
      window.stride = Between(1, 3);
      window.dilation = Between(1, 2);
      window.pad_begin = Between(0, window.kernel / 2);
      window.pad_end = Between(0, window.kernel / 2 + 2);
      return window;
    };
    args.spec.rows = axis();
    args.spec.columns = axis();
    args.spec.count_padding = Chance(2);
    if (Chance(4)) args.spec.divisor = Between(1, 9);
    const Dims dims = {Between(1, 2), Between(1, 70), Between(1, 14), Between(1, 14)};
    const auto size = [](int64_t in, const WindowAxis& window) {
      const int64_t room = in + window.pad_begin + window.pad_end -
                           (window.kernel - 1) * int64_t{window.dilation} - 1;
      return room < 0 ? int64_t{1} : room / window.stride + 1;
    };
    const Dims out = {dims[0], dims[1], size(dims[2], args.spec.rows),
                      size(dims[3], args.spec.columns)};
    const TestTensor input = Input(dims, /*odd=*/true);
    args.input = AsImage(ConstTensorView(input.view()));
    SCOPED_TRACE("case " + std::to_string(i));
    Compare(
        out,
        [&](const TensorView& output) {
          args.output = AsImage(output);
          reference::Pool(args, {0, args.output.height});
        },
        [&](const TensorView& output, ThreadPool& pool) {
          args.output = AsImage(output);
          ForEachSlice(args.output.height, [&](Range rows) { cpu::Pool(args, rows, pool); });
        });
    if (HasFatalFailure()) return;
  }
}

TEST_F(CpuOperatorsTest, AdaptivePoolsAndReductionsOverThePicture) {
  for (int i = 0; i < 80; ++i) {
    const Dims dims = {Between(1, 2), Between(1, 150), Between(1, 40), Between(1, 40)};
    const TestTensor input = Input(dims, Chance(3));
    AdaptivePoolArgs args;
    args.kind = Chance(3) ? PoolSpec::Kind::kMax : PoolSpec::Kind::kAverage;
    args.input = AsImage(ConstTensorView(input.view()));
    Compare(
        {dims[0], dims[1], Between(1, 7), Between(1, 7)},
        [&](const TensorView& output) {
          args.output = AsImage(output);
          reference::AdaptivePool(args, {0, args.output.height});
        },
        [&](const TensorView& output, ThreadPool& pool) {
          args.output = AsImage(output);
          ForEachSlice(args.output.height,
                       [&](Range rows) { cpu::AdaptivePool(args, rows, pool); });
        });
    if (HasFatalFailure()) return;

    ReduceArgs reduce;
    reduce.kind = static_cast<ReduceKind>(Between(0, 3));
    Dims reduced_dims = dims;
    const bool over_picture = Chance(2);
    for (size_t axis = 0; axis < 4; ++axis) {
      reduce.reduced[axis] = over_picture ? axis >= 2 : Chance(3);
      if (reduce.reduced[axis]) reduced_dims[axis] = 1;
    }
    reduce.input = input.view();
    Compare(
        reduced_dims,
        [&](const TensorView& output) {
          reduce.output = output;
          reference::Reduce(reduce);
        },
        [&](const TensorView& output, ThreadPool& pool) {
          reduce.output = output;
          cpu::Reduce(reduce, AllPixels(reduce.output), pool);
        });
    if (HasFatalFailure()) return;
  }
}

TEST_F(CpuOperatorsTest, ResizesOfEveryKind) {
  for (int i = 0; i < 50; ++i) {
    const Dims dims = {Between(1, 2), Between(1, 40), Between(1, 20), Between(1, 20)};
    const TestTensor input = Input(dims);
    ResizeArgs args;
    args.spec.kind = static_cast<ResizeSpec::Kind>(Between(0, 2));
    args.spec.coordinates = static_cast<ResizeSpec::Coordinates>(Between(0, 4));
    args.spec.rounding = static_cast<ResizeSpec::Rounding>(Between(0, 3));
    args.spec.out_height = Between(1, 50);
    args.spec.out_width = Between(1, 90);
    args.input = AsImage(ConstTensorView(input.view()));
    Compare(
        {dims[0], dims[1], args.spec.out_height, args.spec.out_width},
        [&](const TensorView& output) {
          args.output = AsImage(output);
          reference::Resize(args, {0, args.output.height});
        },
        [&](const TensorView& output, ThreadPool& pool) {
          args.output = AsImage(output);
          ForEachSlice(args.output.height, [&](Range rows) { cpu::Resize(args, rows, pool); });
        });
    if (HasFatalFailure()) return;
  }
}

TEST_F(CpuOperatorsTest, BlocksToDepthAndBackInAnyRows) {
  for (int i = 0; i < 60; ++i) {
    const int block = Between(1, 4);
    const Dims wide = {Between(1, 2), Between(1, 20), block * Between(1, 6), block * Between(1, 6)};
    const Dims deep = {wide[0], wide[1] * block * block, wide[2] / block, wide[3] / block};
    const bool to_space = Chance(2);
    const TestTensor input = Input(to_space ? deep : wide);
    BlockArgs args;
    args.block = block;
    args.order = Chance(2) ? BlockOrder::kRowsFirst : BlockOrder::kChannelsFirst;
    args.input = AsImage(ConstTensorView(input.view()));
    Compare(
        to_space ? wide : deep,
        [&](const TensorView& output) {
          args.output = AsImage(output);
          const Range rows = {0, args.output.height};
          to_space ? reference::DepthToSpace(args, rows) : reference::SpaceToDepth(args, rows);
        },
        [&](const TensorView& output, ThreadPool& pool) {
          args.output = AsImage(output);
          ForEachSlice(args.output.height, [&](Range rows) {
            to_space ? cpu::DepthToSpace(args, rows, pool) : cpu::SpaceToDepth(args, rows, pool);
          });
        });
    if (HasFatalFailure()) return;
  }
}

TEST_F(CpuOperatorsTest, CopiesPermutedReshapedAndStrided) {
  for (int i = 0; i < 80; ++i) {
    const Dims dims = Chance(2) ? MapDims() : Dims{Between(1, 9), Between(1, 40), Between(1, 90)};
    const TestTensor input = Input(dims);
    CopyArgs args;
    args.input = input.view();
    Dims out = dims;
    if (Chance(3)) {
      args.in_logical_order = true;
      out = {dims[0], input.view().Count() / dims[0]};
    } else if (Chance(2)) {
      std::vector<int> order(dims.size());
      for (size_t axis = 0; axis < order.size(); ++axis) order[axis] = static_cast<int>(axis);
      std::shuffle(order.begin(), order.end(), random_);
      args.input = PermuteAxes(args.input, order.data());
      for (size_t axis = 0; axis < order.size(); ++axis) out[axis] = args.input.dims[axis];
    }
    Compare(
        out,
        [&](const TensorView& output) {
          args.output = output;
          reference::Copy(args);
        },
        [&](const TensorView& output, ThreadPool& pool) {
          args.output = output;
          cpu::Copy(args, AllPixels(args.output), pool);
        });
    if (HasFatalFailure()) return;
  }
}

TEST_F(CpuOperatorsTest, GathersAlongAnyAxis) {
  for (int i = 0; i < 80; ++i) {
    const Dims dims = Chance(3) ? Dims{Between(1, 9), Between(1, 40), Between(1, 90)} : MapDims();
    const TestTensor input = Input(dims);
    GatherArgs args;
    args.axis = Between(0, static_cast<int>(dims.size()) - 1);
    const auto axis = static_cast<size_t>(args.axis);
    // Now and then so many that a run of them is cut.
    std::vector<int64_t> indices(static_cast<size_t>(Chance(10) ? 9000 : Between(1, 60)));
    for (int64_t& index : indices) index = Between(0, static_cast<int>(dims[axis]) - 1);
    args.indices = indices.data();
    args.input = input.view();
    Dims out = dims;
    out[axis] = static_cast<int64_t>(indices.size());
    if (indices.size() > 60) out[axis == 0 ? 1 : 0] = 1;
    SCOPED_TRACE("case " + std::to_string(i) + " axis " + std::to_string(args.axis));
    Compare(
        out,
        [&](const TensorView& output) {
          args.output = output;
          reference::Gather(args);
        },
        [&](const TensorView& output, ThreadPool& pool) {
          args.output = output;
          if (output.rank != 4) return cpu::Gather(args, AllPixels(output), pool);
          ForEachSlice(static_cast<int>(output.dims[2]),
                       [&](Range rows) { cpu::Gather(args, rows, pool); });
        });
    if (HasFatalFailure()) return;
  }
}

TEST_F(CpuOperatorsTest, PadsOfEveryMode) {
  for (int i = 0; i < 60; ++i) {
    const Dims dims = Chance(4) ? Dims{Between(1, 4), Between(2, 9)} : MapDims();
    const TestTensor input = Input(dims);
    PadArgs args;
    args.mode = static_cast<PadMode>(Between(0, 2));
    args.value = Number();
    args.input = input.view();
    Dims out = dims;
    for (size_t axis = dims.size() == 4 && !Chance(4) ? 2 : 0; axis < dims.size(); ++axis) {
      args.begins[axis] = Between(0, 4);
      out[axis] += args.begins[axis] + Between(0, 4);
    }
    Compare(
        out,
        [&](const TensorView& output) {
          args.output = output;
          reference::Pad(args);
        },
        [&](const TensorView& output, ThreadPool& pool) {
          args.output = output;
          if (output.rank != 4) return cpu::Pad(args, AllPixels(args.output), pool);
          ForEachSlice(static_cast<int>(output.dims[2]),
                       [&](Range rows) { cpu::Pad(args, rows, pool); });
        });
    if (HasFatalFailure()) return;
  }
}

TEST_F(CpuOperatorsTest, NormsSoftmaxAndArgMaxAlongAnyAxis) {
  for (int i = 0; i < 80; ++i) {
    const Dims dims = Chance(3) ? Dims{Between(1, 3), Between(1, 12), Between(1, 70)} : MapDims();
    const int rank = static_cast<int>(dims.size());
    const TestTensor input = Input(dims);
    const int axis = Between(1, rank - 1);
    SCOPED_TRACE("case " + std::to_string(i) + " axis " + std::to_string(axis));

    LayerNormArgs norm;
    norm.first_axis = axis;
    norm.axis_count = Between(1, rank - axis);
    int64_t normalised = 1;
    for (int k = 0; k < norm.axis_count; ++k) normalised *= dims[static_cast<size_t>(axis + k)];
    const std::vector<float> scale = Numbers(std::max(normalised, dims[1]));
    const std::vector<float> shift = Numbers(std::max(normalised, dims[1]));
    if (Chance(2)) {
      norm.scale = scale.data();
      norm.shift = shift.data();
    }
    norm.input = input.view();
    Compare(
        dims,
        [&](const TensorView& output) {
          norm.output = output;
          reference::LayerNorm(norm);
        },
        [&](const TensorView& output, ThreadPool& pool) {
          norm.output = output;
          cpu::LayerNorm(norm, AllPixels(norm.output), pool);
        });

    SoftmaxArgs softmax = {axis, Chance(3), input.view(), {}};
    Compare(
        dims,
        [&](const TensorView& output) {
          softmax.output = output;
          reference::Softmax(softmax);
        },
        [&](const TensorView& output, ThreadPool& pool) {
          softmax.output = output;
          cpu::Softmax(softmax, AllPixels(softmax.output), pool);
        });

    const TestTensor odd = Input(dims, /*odd=*/true);
    Dims reduced = dims;
    reduced[static_cast<size_t>(axis)] = 1;
    ArgMaxArgs arg_max = {axis, odd.view(), {}};
    Compare(
        reduced,
        [&](const TensorView& output) {
          arg_max.output = output;
          reference::ArgMax(arg_max);
        },
        [&](const TensorView& output, ThreadPool& pool) {
          arg_max.output = output;
          cpu::ArgMax(arg_max, AllPixels(arg_max.output), pool);
        });
    if (HasFatalFailure()) return;
  }
}

TEST_F(CpuOperatorsTest, GroupNormsOfFewAndManyChannels) {
  for (int i = 0; i < 25; ++i) {
    const int groups = Between(1, 40);
    const int group_channels = Chance(3) ? 1 : Chance(2) ? Between(1, 8) : Between(50, 140);
    const Dims dims = {Between(1, 2), int64_t{groups} * group_channels, Between(1, 20),
                       Between(1, 20)};
    const TestTensor input = Input(dims);
    const std::vector<float> scale = Numbers(dims[1]);
    const std::vector<float> shift = Numbers(dims[1]);
    GroupNormArgs args;
    args.groups = groups;
    if (Chance(2)) {
      args.scale = scale.data();
      args.shift = shift.data();
    }
    args.input = input.view();
    SCOPED_TRACE(std::to_string(groups) + " groups of " + std::to_string(group_channels));
    Compare(
        dims,
        [&](const TensorView& output) {
          args.output = output;
          reference::GroupNorm(args);
        },
        [&](const TensorView& output, ThreadPool& pool) {
          args.output = output;
          cpu::GroupNorm(args, pool);
        });
    if (HasFatalFailure()) return;
  }
}

TEST_F(CpuOperatorsTest, LinearAndMatrixProducts) {
  for (int i = 0; i < 60; ++i) {
    const int in = Between(1, 100);
    const int out = Between(1, 150);
    const std::vector<float> weights = Numbers(int64_t{in} * out);
    const std::vector<float> bias = Numbers(out);
    const TestTensor x = Input(Chance(2) ? Dims{Between(1, 30), in} : Dims{2, Between(1, 9), in});
    LinearArgs linear;
    linear.weights = weights.data();
    if (Chance(2)) linear.bias = bias.data();
    if (Chance(2)) linear.activation.kind = Function::Kind::kGelu;
    linear.input = x.view();
    Dims out_dims(x.view().dims.begin(), x.view().dims.begin() + x.view().rank);
    out_dims.back() = out;
    Compare(
        out_dims,
        [&](const TensorView& output) {
          linear.output = output;
          reference::Linear(linear);
        },
        [&](const TensorView& output, ThreadPool& pool) {
          linear.output = output;
          const cpu::Linear prepared(linear);
          std::vector<float> scratch(prepared.ScratchFloats(pool.threads()));
          prepared.Run(linear, pool, scratch.data());
        });

    const int rows = Between(1, 60);
    const int outer = Between(1, 3);
    const TestTensor a =
        Input({Chance(2) ? 1 : outer, Chance(2) ? rows : in, Chance(2) ? in : rows});
    const TestTensor b = Input({outer, in, out});
    MatMulArgs product;
    product.a = a.view();
    if (product.a.dims[2] != in || product.a.dims[1] != rows) {
      // As a transposed view, if that fits.
      constexpr int kTransposed[] = {0, 2, 1};
      product.a = PermuteAxes(product.a, kTransposed);
      if (product.a.dims[2] != in || product.a.dims[1] != rows) continue;
    }
    product.b = b.view();
    Compare(
        {outer, rows, out},
        [&](const TensorView& output) {
          product.output = output;
          reference::MatMul(product);
        },
        [&](const TensorView& output, ThreadPool& pool) {
          product.output = output;
          cpu::AlignedFloats scratch(cpu::MatMulScratchFloats(product));
          cpu::MatMul(product, pool, scratch.data());
        });
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace cacheinf
