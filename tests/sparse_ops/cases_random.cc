#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/sparse_ops/case_table.h"

// Shapes that nobody thought of: every operator with random sizes, windows and layouts, with and
// without gaps.

namespace cacheinf {
namespace {

using Kind = Function::Kind;

class Random {
 public:
  explicit Random(unsigned seed) : random_(seed) {}

  int Between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool Chance(int one_in) { return Between(1, one_in) == 1; }
  template <typename Enum>
  Enum Any(Enum last) {
    return static_cast<Enum>(Between(0, static_cast<int>(last)));
  }

  Dims MapDims() { return {Between(1, 2), Between(1, 70), Between(1, 9), Between(1, 40)}; }
  // Dims of a map, or of a tensor of rank 3.
  Dims AnyDims() {
    return Chance(3) ? Dims{Between(1, 3), Between(1, 12), Between(1, 70)} : MapDims();
  }
  std::vector<int> Shuffled(int count) {
    std::vector<int> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    return order;
  }

 private:
  std::mt19937 random_;
};

ChannelFunction AnyActivation(Random& random) {
  constexpr Kind kKinds[] = {Kind::kIdentity, Kind::kRelu, Kind::kSilu, Kind::kPRelu, Kind::kClip};
  ChannelFunction activation;
  activation.function = {kKinds[random.Between(0, 4)], -0.5f, 0.5f};
  activation.one_slope = random.Chance(2);
  return activation;
}

void TakeSlopes(ChannelFunction& activation, int64_t channels, CaseMemory& memory) {
  if (activation.function.kind == Kind::kPRelu) activation.slopes = memory.Floats(channels);
}

// How a case lays out and fills its memory.
struct Layout {
  bool is_packed;
  bool has_special_numbers;

  explicit Layout(Random& random, bool may_be_special = false)
      : is_packed(random.Chance(2)), has_special_numbers(may_be_special && random.Chance(3)) {}

  void Use(CaseMemory& memory) const {
    if (is_packed) memory.Pack();
    if (has_special_numbers) memory.UseSpecialNumbers();
  }
};

template <typename Build>
void Add(Table& table, const std::string& name, const Layout& layout, const Build& build) {
  table.Add(name, [=](CaseMemory& memory) {
    layout.Use(memory);
    return build(memory);
  });
}

void AddElementWise(Table& table, Random& random, const std::string& name) {
  const Dims dims = random.AnyDims();
  const Layout layout(random, /*may_be_special=*/true);
  const ChannelFunction activation = AnyActivation(random);
  const bool has_order = random.Chance(3);
  const bool shifts = random.Chance(2);
  const auto with_slopes = [=](CaseMemory& memory) {
    ChannelFunction function = activation;
    TakeSlopes(function, dims[1], memory);
    return function;
  };
  if (!shifts) {
    return Add(table, name, layout, [=](CaseMemory& memory) {
      return ActivationArgs{with_slopes(memory), memory.Input(dims), memory.Output(dims)};
    });
  }
  Add(table, name, layout, [=](CaseMemory& memory) {
    ScaleShiftArgs args;
    args.scale = memory.Floats(dims[1]);
    args.shift = memory.Floats(dims[1]);
    if (has_order) {
      std::vector<int> order(static_cast<size_t>(dims[1]));
      std::iota(order.rbegin(), order.rend(), 0);
      args.channel_order = memory.Integers(order);
    }
    args.activation = with_slopes(memory);
    args.input = memory.Input(dims);
    args.output = memory.Output(dims);
    return args;
  });
}

void AddBinary(Table& table, Random& random, const std::string& name) {
  const Dims dims = random.AnyDims();
  Dims a = dims;
  Dims b = dims;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (random.Chance(4)) (random.Chance(2) ? a : b)[axis] = 1;
  }
  if (random.Chance(5)) b = {b.back()};  // fewer dimensions
  const auto kind = random.Any(BinaryKind::kMaximum);
  const bool has_relu = random.Chance(3);
  const Layout layout(random, /*may_be_special=*/true);
  Add(table, name, layout, [=](CaseMemory& memory) {
    return BinaryArgs{kind,
                      {has_relu ? Kind::kRelu : Kind::kIdentity},
                      memory.Input(a),
                      memory.Input(b),
                      memory.Output(dims)};
  });
}

int OutputSize(int64_t size, const WindowAxis& axis, bool transposed = false) {
  const int reach = (axis.kernel - 1) * axis.dilation + 1;
  const int in = static_cast<int>(size);
  if (transposed) return (in - 1) * axis.stride + reach - axis.pad_begin - axis.pad_end;
  const int room = in + axis.pad_begin + axis.pad_end - reach;
  return room < 0 ? 0 : room / axis.stride + 1;
}

WindowAxis PoolAxis(Random& random) {
  WindowAxis axis;
  axis.kernel = random.Between(1, 5);
  axis.stride = random.Between(1, 3);
  axis.dilation = random.Between(1, 2);
  axis.pad_begin = random.Between(0, axis.kernel / 2);
  axis.pad_end = random.Between(0, axis.kernel / 2 + 2);
  return axis;
}

void AddPool(Table& table, Random& random, const std::string& name) {
  PoolSpec spec;
  spec.kind = random.Any(PoolSpec::Kind::kAverage);
  spec.rows = PoolAxis(random);
  spec.columns = PoolAxis(random);
  spec.count_padding = random.Chance(2);
  if (random.Chance(4)) spec.divisor = random.Between(1, 9);
  const Dims dims = {random.Between(1, 2), random.Between(1, 70), random.Between(1, 14),
                     random.Between(1, 14)};
  const Dims out = {dims[0], dims[1], std::max(OutputSize(dims[2], spec.rows), 1),
                    std::max(OutputSize(dims[3], spec.columns), 1)};
  const Layout layout(random, /*may_be_special=*/true);
  Add(table, name, layout, [=](CaseMemory& memory) {
    return PoolArgs{spec, AsImage(memory.Map(dims)), AsImage(memory.OutputMap(out))};
  });
}

void AddAdaptivePool(Table& table, Random& random, const std::string& name) {
  const Dims dims = {random.Between(1, 2), random.Between(1, 150), random.Between(1, 40),
                     random.Between(1, 40)};
  const Dims out = {dims[0], dims[1], random.Between(1, 7), random.Between(1, 7)};
  const auto kind = random.Any(PoolSpec::Kind::kAverage);
  const Layout layout(random, /*may_be_special=*/true);
  Add(table, name, layout, [=](CaseMemory& memory) {
    return AdaptivePoolArgs{kind, AsImage(memory.Map(dims)), AsImage(memory.OutputMap(out))};
  });
}

void AddResize(Table& table, Random& random, const std::string& name) {
  const Dims dims = {random.Between(1, 2), random.Between(1, 40), random.Between(1, 20),
                     random.Between(1, 20)};
  ResizeSpec spec;
  spec.kind = random.Any(ResizeSpec::Kind::kCubic);
  spec.coordinates = static_cast<ResizeSpec::Coordinates>(random.Between(0, 4));
  spec.rounding = static_cast<ResizeSpec::Rounding>(random.Between(0, 3));
  spec.out_height = random.Between(1, 50);
  spec.out_width = random.Between(1, 90);
  const Layout layout(random);
  Add(table, name, layout, [=](CaseMemory& memory) {
    return ResizeArgs{
        spec, AsImage(memory.Map(dims)),
        AsImage(memory.OutputMap({dims[0], dims[1], spec.out_height, spec.out_width}))};
  });
}

void AddBlocks(Table& table, Random& random, const std::string& name) {
  const int block = random.Between(1, 4);
  const Dims wide = {random.Between(1, 2), random.Between(1, 20), block * random.Between(1, 6),
                     block * random.Between(1, 6)};
  const Dims deep = {wide[0], wide[1] * block * block, wide[2] / block, wide[3] / block};
  const bool to_space = random.Chance(2);
  const auto order = random.Any(BlockOrder::kChannelsFirst);
  const Layout layout(random);
  const auto args = [=](CaseMemory& memory) {
    return BlockArgs{block, order, AsImage(memory.Map(to_space ? deep : wide)),
                     AsImage(memory.OutputMap(to_space ? wide : deep))};
  };
  if (to_space) {
    Add(table, name, layout, [=](CaseMemory& memory) { return DepthToSpaceArgs{args(memory)}; });
  } else {
    Add(table, name, layout, [=](CaseMemory& memory) { return SpaceToDepthArgs{args(memory)}; });
  }
}

void AddCopy(Table& table, Random& random, const std::string& name) {
  const Dims dims = random.Chance(2)
                        ? random.MapDims()
                        : Dims{random.Between(1, 9), random.Between(1, 40), random.Between(1, 90)};
  const bool reshapes = random.Chance(3);
  std::vector<int> order = random.Shuffled(static_cast<int>(dims.size()));
  if (random.Chance(2)) std::sort(order.begin(), order.end());
  const Layout layout(random);
  Add(table, name, layout, [=](CaseMemory& memory) {
    const TensorView input = memory.Input(dims);
    if (reshapes) {
      return CopyArgs{input, memory.OutputTensor({dims[0], input.Count() / dims[0]}), true};
    }
    const TensorView permuted = PermuteAxes(input, order.data());
    return CopyArgs{permuted, memory.Output(Dims(permuted.dims.begin(),
                                                 permuted.dims.begin() + permuted.rank))};
  });
}

void AddGather(Table& table, Random& random, const std::string& name) {
  const Dims dims = random.AnyDims();
  const int axis = random.Between(0, static_cast<int>(dims.size()) - 1);
  const auto at = static_cast<size_t>(axis);
  std::vector<int64_t> indices(static_cast<size_t>(random.Between(1, 60)));
  for (int64_t& index : indices) index = random.Between(0, static_cast<int>(dims[at]) - 1);
  Dims out = dims;
  out[at] = static_cast<int64_t>(indices.size());
  const Layout layout(random);
  Add(table, name, layout, [=](CaseMemory& memory) {
    return Whole{GatherArgs{axis, memory.Indices(indices), memory.Input(dims), memory.Output(out)},
                 axis > 1};
  });
}

void AddPad(Table& table, Random& random, const std::string& name) {
  const Dims dims =
      random.Chance(4) ? Dims{random.Between(1, 4), random.Between(2, 9)} : random.MapDims();
  PadArgs pad;
  pad.mode = static_cast<PadMode>(random.Between(0, 2));
  pad.value = 0.75f;
  Dims out = dims;
  for (size_t axis = dims.size() == 4 && !random.Chance(4) ? 2 : 0; axis < dims.size(); ++axis) {
    pad.begins[axis] = random.Between(0, 4);
    out[axis] += pad.begins[axis] + random.Between(0, 4);
  }
  const Layout layout(random);
  Add(table, name, layout, [=](CaseMemory& memory) {
    PadArgs args = pad;
    args.input = memory.Input(dims);
    args.output = memory.Output(out);
    return args;
  });
}

std::array<bool, TensorView::kMaxRank> OneAxis(size_t axis) {
  std::array<bool, TensorView::kMaxRank> axes = {};
  axes[axis] = true;
  return axes;
}

void AddReduction(Table& table, Random& random, const std::string& name) {
  const Dims dims = {random.Between(1, 2), random.Between(1, 150), random.Between(1, 40),
                     random.Between(1, 40)};
  const bool over_picture = random.Chance(2);
  ReduceArgs reduce;
  reduce.kind = random.Any(ReduceKind::kMin);
  Dims out = dims;
  for (size_t axis = 0; axis < 4; ++axis) {
    reduce.reduced[axis] = over_picture ? axis >= 2 : random.Chance(3);
    if (reduce.reduced[axis]) out[axis] = 1;
  }
  const Layout layout(random, /*may_be_special=*/true);
  Add(table, name, layout, [=](CaseMemory& memory) {
    ReduceArgs args = reduce;
    args.input = memory.Map(dims);
    args.output = memory.OutputMap(out);
    return Whole{args, args.reduced != OneAxis(0) && args.reduced != OneAxis(1)};
  });
}

void AddAlongAnAxis(Table& table, Random& random, const std::string& name) {
  const Dims dims = random.AnyDims();
  const int rank = static_cast<int>(dims.size());
  const int axis = random.Between(0, rank - 1);
  const int axis_count = random.Between(1, rank - axis);
  const bool flag = random.Chance(2);
  const int which = random.Between(0, 2);
  const Layout layout(random, /*may_be_special=*/which == 2);
  const bool is_whole = axis > 1;
  if (which == 0) {
    return Add(table, name, layout, [=](CaseMemory& memory) {
      LayerNormArgs args;
      args.first_axis = axis;
      args.axis_count = axis_count;
      if (flag) {
        int64_t count = 1;
        for (int i = axis; i < axis + axis_count; ++i) count *= dims[static_cast<size_t>(i)];
        args.scale = memory.Floats(count);
        args.shift = memory.Floats(count);
      }
      args.input = memory.Input(dims);
      args.output = memory.Output(dims);
      return Whole{args, is_whole || axis_count > 1};
    });
  }
  if (which == 1) {
    return Add(table, name, layout, [=](CaseMemory& memory) {
      return Whole{SoftmaxArgs{axis, flag, memory.Input(dims), memory.Output(dims)}, is_whole};
    });
  }
  Add(table, name, layout, [=](CaseMemory& memory) {
    Dims out = dims;
    out[static_cast<size_t>(axis)] = 1;
    return Whole{ArgMaxArgs{axis, memory.Input(dims), memory.Output(out)}, is_whole};
  });
}

void AddGroupNorm(Table& table, Random& random, const std::string& name) {
  GroupNormArgs norm;
  norm.groups = random.Between(1, 40);
  const int channels = random.Chance(3)   ? 1
                       : random.Chance(2) ? random.Between(1, 8)
                                          : random.Between(50, 140);
  const Dims dims = {random.Between(1, 2), int64_t{norm.groups} * channels, random.Between(1, 20),
                     random.Between(1, 20)};
  const bool is_affine = random.Chance(2);
  const Layout layout(random);
  Add(table, name, layout, [=](CaseMemory& memory) {
    GroupNormArgs args = norm;
    if (is_affine) {
      args.scale = memory.Floats(dims[1]);
      args.shift = memory.Floats(dims[1]);
    }
    args.input = memory.Map(dims);
    args.output = memory.OutputMap(dims);
    return args;
  });
}

void AddProduct(Table& table, Random& random, const std::string& name) {
  const int in = random.Between(1, 100);
  const int out = random.Between(1, 150);
  const int rows = random.Between(1, 60);
  const int outer = random.Between(1, 3);
  const bool is_linear = random.Chance(2);
  const bool flag = random.Chance(2);  // a bias, or one matrix for all outer ones
  const bool is_transposed = random.Chance(2);
  const Layout layout(random);
  if (is_linear) {
    return Add(table, name, layout, [=](CaseMemory& memory) {
      return LinearArgs{memory.Floats(int64_t{in} * out),
                        flag ? memory.Floats(out) : nullptr,
                        {Kind::kGelu},
                        memory.Tensor({outer, rows, in}),
                        memory.OutputTensor({outer, rows, out})};
    });
  }
  Add(table, name, layout, [=](CaseMemory& memory) {
    constexpr int kTransposed[] = {0, 2, 1};
    const int64_t matrices = flag ? 1 : outer;
    const TensorView a = is_transposed
                             ? PermuteAxes(memory.Tensor({matrices, in, rows}), kTransposed)
                             : memory.Tensor({matrices, rows, in});
    return MatMulArgs{a, memory.Tensor({outer, in, out}), memory.OutputTensor({outer, rows, out})};
  });
}

WindowAxis ConvAxis(Random& random, bool transposed) {
  WindowAxis axis;
  axis.kernel = random.Between(1, 4);
  axis.stride = random.Between(1, 3);
  axis.dilation = random.Chance(6) ? random.Between(3, 9) : random.Between(1, 2);
  const int reach = (axis.kernel - 1) * axis.dilation;
  axis.pad_begin = random.Between(transposed ? 0 : -1, reach);
  axis.pad_end = random.Between(transposed ? 0 : -1, reach);
  return axis;
}

// Wide maps have rows long enough for tiles of neighbours, which some kernels treat apart.
void AddConv(Table& table, Random& random, const std::string& name, bool is_wide) {
  ConvSpec spec;
  spec.transposed = !is_wide && random.Chance(4);
  int height, width, out_height, out_width;
  do {
    spec.rows = ConvAxis(random, spec.transposed);
    spec.columns = ConvAxis(random, spec.transposed);
    height = random.Between(1, 12);
    width = is_wide ? random.Between(30, 160) : random.Between(1, 12);
    out_height = OutputSize(height, spec.rows, spec.transposed);
    out_width = OutputSize(width, spec.columns, spec.transposed);
  } while (out_height < 1 || out_width < 1);
  const bool depthwise = random.Chance(4);
  spec.groups = depthwise ? random.Between(1, 150) : random.Between(1, 3);
  int in_channels = spec.groups * (depthwise ? 1 : random.Between(1, 20));
  int out_channels = spec.groups * (depthwise ? 1 : random.Between(1, 150));
  if (is_wide && !depthwise) {
    constexpr int kChannels[] = {3, 8, 16, 32};
    spec.groups = 1;
    in_channels = kChannels[random.Between(0, 3)];
    out_channels = random.Between(1, 70);
  }
  const int batch = random.Between(1, 2);
  const bool has_bias = !random.Chance(4);
  const bool has_residual = random.Chance(2);
  const bool activates_first = random.Chance(2);
  const ChannelFunction activation = AnyActivation(random);
  const Layout layout(random);
  Add(table, name, layout, [=](CaseMemory& memory) {
    const Dims out = {batch, out_channels, out_height, out_width};
    ConvArgs args;
    args.spec = spec;
    args.input = AsImage(memory.Map({batch, in_channels, height, width}));
    args.weights = memory.Floats(int64_t{in_channels} * out_channels / spec.groups *
                                 spec.rows.kernel * spec.columns.kernel);
    if (has_bias) args.bias = memory.Floats(out_channels);
    if (has_residual) args.residual = AsImage(memory.Map(out));
    args.activation_before_residual = activates_first;
    args.activation = activation;
    TakeSlopes(args.activation, out_channels, memory);
    args.output = AsImage(memory.OutputMap(out));
    return args;
  });
}

}  // namespace

void AddRandomCases(Table& table) {
  constexpr unsigned kSeed = 20260302;
  Random random(kSeed);
  const auto add = [&](const std::string& name, int count, const auto& add_one) {
    for (int i = 0; i < count; ++i) {
      add_one(table, random, "random_" + name + "_" + std::to_string(i));
    }
  };
  add("element_wise", 16, AddElementWise);
  add("binary", 24, AddBinary);
  add("pool", 20, AddPool);
  add("adaptive_pool", 8, AddAdaptivePool);
  add("resize", 8, AddResize);
  add("blocks", 10, AddBlocks);
  add("copy", 16, AddCopy);
  add("gather", 16, AddGather);
  add("pad", 10, AddPad);
  add("reduction", 12, AddReduction);
  add("along_an_axis", 24, AddAlongAnAxis);
  add("group_norm", 8, AddGroupNorm);
  add("product", 20, AddProduct);
  add("conv", 60, [](Table& cases, Random& numbers, const std::string& name) {
    AddConv(cases, numbers, name, /*is_wide=*/false);
  });
  add("wide_conv", 30, [](Table& cases, Random& numbers, const std::string& name) {
    AddConv(cases, numbers, name, /*is_wide=*/true);
  });
}

}  // namespace cacheinf
