#include "tests/sparse_ops/cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>

#include "sparse_ops/reference/reference.h"
#include "tests/sparse_ops/case_memory.h"

namespace cacheinf {
namespace {

using Kind = Function::Kind;

// Builds the arguments of one call in the case's memory and returns the call.
using Build = std::function<std::function<void(Range)>(const OperatorFamily&, CaseMemory&)>;

class Table {
 public:
  std::vector<OperatorCase> cases;

  void Add(std::string name, int rows, Build build) {
    const auto seed = static_cast<unsigned>(cases.size() + 1);
    cases.push_back({std::move(name), rows, [seed, build = std::move(build)](const auto& family) {
                       PreparedCase prepared;
                       prepared.memory = std::make_shared<CaseMemory>(seed);
                       prepared.run = build(family, *prepared.memory);
                       return prepared;
                     }});
  }
};

// `kernel` called with `args` and rows, or nothing where the family lacks it.
template <typename Args>
std::function<void(Range)> Call(const std::function<void(const Args&, Range)>& kernel, Args args) {
  if (!kernel) return {};
  return [kernel, args](Range rows) { kernel(args, rows); };
}

template <typename Args>
std::function<void(Range)> CallWhole(const std::function<void(const Args&)>& kernel, Args args) {
  if (!kernel) return {};
  return [kernel, args](Range) { kernel(args); };
}

// An operator whose rows are cut by its caller: input and output to the same rows.
template <typename Args>
std::function<void(Range)> CallCut(const std::function<void(const Args&)>& kernel, Args args) {
  if (!kernel) return {};
  return [kernel, args](Range rows) {
    Args cut = args;
    cut.input = CutRows(args.input, rows);
    cut.output = CutRows(args.output, rows);
    kernel(cut);
  };
}

struct ConvCase {
  std::string name;
  int batch = 1;
  int in_channels = 1;
  int height = 8;
  int width = 9;
  int out_channels = 1;
  ConvSpec spec;
  bool has_bias = true;
  bool has_residual = false;
  Function activation;
  bool activation_before_residual = false;
  bool one_slope = false;
};

int OutputSize(const ConvSpec& spec, bool is_rows, int in_size) {
  const WindowAxis& axis = is_rows ? spec.rows : spec.columns;
  const int reach = (axis.kernel - 1) * axis.dilation + 1;
  if (spec.transposed) {
    const int extra = is_rows ? spec.output_padding_rows : spec.output_padding_columns;
    return (in_size - 1) * axis.stride - axis.pad_begin - axis.pad_end + reach + extra;
  }
  return (in_size + axis.pad_begin + axis.pad_end - reach) / axis.stride + 1;
}

void AddConv(Table& table, const ConvCase& c) {
  const int out_height = OutputSize(c.spec, true, c.height);
  const int out_width = OutputSize(c.spec, false, c.width);
  table.Add("conv_" + c.name, out_height, [=](const OperatorFamily& family, CaseMemory& memory) {
    ConvArgs args;
    args.spec = c.spec;
    args.input = AsImage(memory.Map({c.batch, c.in_channels, c.height, c.width}));
    args.weights = memory.Floats(static_cast<int64_t>(c.in_channels) * c.out_channels /
                                 c.spec.groups * c.spec.rows.kernel * c.spec.columns.kernel);
    if (c.has_bias) args.bias = memory.Floats(c.out_channels);
    args.activation.function = c.activation;
    args.activation.slopes = memory.Floats(c.out_channels);
    args.activation.one_slope = c.one_slope;
    args.activation_before_residual = c.activation_before_residual;
    if (c.has_residual) {
      args.residual = AsImage(memory.Map({c.batch, c.out_channels, out_height, out_width}));
    }
    args.output = AsImage(memory.OutputMap({c.batch, c.out_channels, out_height, out_width}));
    return Call(family.conv, args);
  });
}

ConvSpec Square(int kernel, int stride = 1, int pad = 0, int dilation = 1, int groups = 1) {
  ConvSpec spec;
  spec.rows = spec.columns = {kernel, stride, pad, pad, dilation};
  spec.groups = groups;
  return spec;
}

ConvSpec Transposed(ConvSpec spec, int output_padding = 0) {
  spec.transposed = true;
  spec.output_padding_rows = spec.output_padding_columns = output_padding;
  return spec;
}

ConvCase Plain(std::string name, int in_channels, int out_channels, const ConvSpec& spec) {
  ConvCase c;
  c.name = std::move(name);
  c.in_channels = in_channels;
  c.out_channels = out_channels;
  c.spec = spec;
  return c;
}

void AddConvShapes(Table& table) {
  for (const int channels : {1, 7, 16, 17, 32, 48, 64, 65, 100, 128}) {
    const std::string suffix = "_to_" + std::to_string(channels) + "_channels";
    AddConv(table, Plain("1x1_from_5" + suffix, 5, channels, Square(1)));
    AddConv(table, Plain("3x3_from_3" + suffix, 3, channels, Square(3, 1, 1)));
  }
  AddConv(table, Plain("3x3_stride_2", 16, 32, Square(3, 2, 1)));
  AddConv(table, Plain("1x1_stride_2", 33, 20, Square(1, 2, 0)));
  AddConv(table, Plain("7x7_stride_2", 3, 24, Square(7, 2, 3)));
  AddConv(table, Plain("3x3_dilation_3", 8, 19, Square(3, 1, 3, 3)));
  AddConv(table, Plain("2x2_without_padding", 8, 16, Square(2)));
  AddConv(table, Plain("6x6_padding_wider_than_picture", 2, 8, Square(6, 2, 12)));
  AddConv(table, Plain("groups_of_4", 16, 24, Square(3, 1, 1, 1, 4)));
  AddConv(table, Plain("groups_of_64", 128, 128, Square(3, 1, 1, 1, 2)));
  AddConv(table, Plain("depthwise_3x3", 37, 37, Square(3, 1, 1, 1, 37)));
  AddConv(table, Plain("depthwise_5x5_stride_2", 64, 64, Square(5, 2, 2, 1, 64)));
  AddConv(table, Plain("depthwise_two_outputs_each", 20, 40, Square(3, 1, 1, 1, 20)));
  AddConv(table, Plain("many_channels", 200, 96, Square(3, 1, 1)));

  ConvCase uneven = Plain("uneven_window", 6, 10, {});
  uneven.spec.rows = {1, 1, 0, 0, 1};
  uneven.spec.columns = {5, 2, 3, 0, 1};
  AddConv(table, uneven);
  uneven.name = "cropping";
  uneven.spec.rows = {3, 1, -1, -2, 1};
  uneven.spec.columns = {3, 1, 1, -3, 2};
  AddConv(table, uneven);

  AddConv(table, Plain("transposed_2x2_stride_2", 16, 8, Transposed(Square(2, 2))));
  AddConv(table, Plain("transposed_3x3_stride_2", 7, 33, Transposed(Square(3, 2, 1), 1)));
  AddConv(table, Plain("transposed_4x4_stride_2", 32, 16, Transposed(Square(4, 2, 1))));
  AddConv(table, Plain("transposed_3x3_dilation_2", 5, 6, Transposed(Square(3, 3, 2, 2))));
  AddConv(table, Plain("transposed_groups", 8, 12, Transposed(Square(3, 2, 1, 1, 4))));
  AddConv(table, Plain("transposed_depthwise", 18, 18, Transposed(Square(4, 2, 1, 1, 18))));
  AddConv(table, Plain("transposed_1x1_stride_3", 4, 4, Transposed(Square(1, 3))));
}

void AddConvEpilogues(Table& table) {
  ConvCase c = Plain("", 12, 37, Square(3, 1, 1));
  c.batch = 2;
  for (int kind = 0; kind <= static_cast<int>(Kind::kCos); ++kind) {
    c.activation = {static_cast<Kind>(kind), 0.3f, 0.8f};
    c.name = "activation_" + std::to_string(kind);
    AddConv(table, c);
  }
  c.activation = {Kind::kPRelu, 0, 0};
  c.one_slope = true;
  c.name = "one_slope";
  AddConv(table, c);
  c.has_residual = true;
  c.name = "one_slope_after_residual";
  AddConv(table, c);
  c.one_slope = false;
  c.activation_before_residual = true;
  c.name = "slopes_before_residual";
  AddConv(table, c);
  c.has_bias = false;
  c.activation = {Kind::kRelu, 0, 0};
  c.activation_before_residual = false;
  c.name = "relu_after_residual_without_bias";
  AddConv(table, c);
  c.spec = Square(3, 1, 1, 1, 12);
  c.in_channels = c.out_channels = 12;
  c.name = "depthwise_with_residual";
  AddConv(table, c);
}

void AddPool(Table& table, const std::string& name, const PoolSpec& spec, bool special = false) {
  constexpr int kHeight = 9, kWidth = 10, kChannels = 35;
  const auto out_size = [&](const WindowAxis& axis, int size) {
    const int room = size + axis.pad_begin + axis.pad_end - (axis.kernel - 1) * axis.dilation - 1;
    int out = (spec.ceil_mode ? (room + axis.stride - 1) : room) / axis.stride + 1;
    if (spec.ceil_mode && (out - 1) * axis.stride >= size + axis.pad_begin) --out;
    return out;
  };
  const int out_height = out_size(spec.rows, kHeight);
  const int out_width = out_size(spec.columns, kWidth);
  table.Add(name, out_height, [=](const OperatorFamily& family, CaseMemory& memory) {
    if (special) memory.UseSpecialNumbers();
    PoolArgs args;
    args.spec = spec;
    args.input = AsImage(memory.Map({2, kChannels, kHeight, kWidth}));
    args.output = AsImage(memory.OutputMap({2, kChannels, out_height, out_width}));
    return Call(family.pool, args);
  });
}

void AddPools(Table& table) {
  for (const PoolSpec::Kind kind : {PoolSpec::Kind::kMax, PoolSpec::Kind::kAverage}) {
    const std::string name = kind == PoolSpec::Kind::kMax ? "max_pool" : "average_pool";
    PoolSpec spec;
    spec.kind = kind;
    spec.rows = spec.columns = {2, 2, 0, 0, 1};
    AddPool(table, name + "_2x2", spec);
    AddPool(table, name + "_2x2_special_numbers", spec, true);
    spec.rows = spec.columns = {3, 2, 1, 1, 1};
    AddPool(table, name + "_3x3", spec);
    spec.count_padding = true;
    AddPool(table, name + "_counting_padding", spec);
    spec.ceil_mode = true;
    AddPool(table, name + "_ceil_mode", spec);
    spec.divisor = 5;
    AddPool(table, name + "_divisor", spec);
    spec.divisor = 0;
    spec.count_padding = false;
    spec.rows = {5, 1, 2, 2, 1};
    spec.columns = {3, 1, 2, 2, 2};
    AddPool(table, name + "_5x3_dilated", spec);

    const std::pair<int, int> sizes[] = {{1, 1}, {2, 3}, {5, 7}, {9, 10}, {12, 11}};
    for (const auto& [height, width] : sizes) {
      table.Add("adaptive_" + name + "_" + std::to_string(height) + "x" + std::to_string(width),
                height, [=, h = height, w = width](const OperatorFamily& family, CaseMemory& m) {
                  AdaptivePoolArgs args;
                  args.kind = kind;
                  args.input = AsImage(m.Map({2, 21, 9, 37}));
                  args.output = AsImage(m.OutputMap({2, 21, h, w}));
                  return Call(family.adaptive_pool, args);
                });
    }
  }
}

void AddResizes(Table& table) {
  const std::pair<int, int> sizes[] = {{14, 18}, {7, 9}, {3, 4}, {10, 1}, {23, 29}};
  for (int kind = 0; kind <= 2; ++kind) {
    for (int coordinates = 0; coordinates <= 4; ++coordinates) {
      for (const auto& [height, width] : sizes) {
        ResizeSpec spec;
        spec.kind = static_cast<ResizeSpec::Kind>(kind);
        spec.coordinates = static_cast<ResizeSpec::Coordinates>(coordinates);
        spec.rounding = static_cast<ResizeSpec::Rounding>((coordinates + height) % 4);
        spec.out_height = height;
        spec.out_width = width;
        if (coordinates % 2 == 1) spec.scale_rows = static_cast<float>(height) / 7;
        table.Add(
            "resize_" + std::to_string(kind) + "_coordinates_" + std::to_string(coordinates) +
                "_to_" + std::to_string(height) + "x" + std::to_string(width),
            height, [=](const OperatorFamily& family, CaseMemory& memory) {
              ResizeArgs args;
              args.spec = spec;
              args.input = AsImage(memory.Map({2, 19, 7, 9}));
              args.output = AsImage(memory.OutputMap({2, 19, spec.out_height, spec.out_width}));
              return Call(family.resize, args);
            });
      }
    }
  }
}

void AddBlocks(Table& table) {
  for (const BlockOrder order : {BlockOrder::kRowsFirst, BlockOrder::kChannelsFirst}) {
    for (const int block : {2, 3}) {
      const std::string suffix = "_block_" + std::to_string(block) +
                                 (order == BlockOrder::kRowsFirst ? "_rows" : "_channels");
      table.Add("depth_to_space" + suffix, 4 * block,
                [=](const OperatorFamily& family, CaseMemory& memory) {
                  const BlockArgs args = {block, order,
                                          AsImage(memory.Map({2, 5 * block * block, 4, 3})),
                                          AsImage(memory.OutputMap({2, 5, 4 * block, 3 * block}))};
                  return Call(family.depth_to_space, args);
                });
      table.Add(
          "space_to_depth" + suffix, 4, [=](const OperatorFamily& family, CaseMemory& memory) {
            const BlockArgs args = {block, order, AsImage(memory.Map({2, 5, 4 * block, 3 * block})),
                                    AsImage(memory.OutputMap({2, 5 * block * block, 4, 3}))};
            return Call(family.space_to_depth, args);
          });
    }
  }
}

void AddElementWise(Table& table) {
  for (int kind = 0; kind <= static_cast<int>(Kind::kCos); ++kind) {
    for (const bool special : {false, true}) {
      table.Add("activation_" + std::to_string(kind) + (special ? "_special_numbers" : ""), 5,
                [=](const OperatorFamily& family, CaseMemory& memory) {
                  if (special) memory.UseSpecialNumbers();
                  ActivationArgs args;
                  args.input = memory.Map({2, 37, 5, 7});
                  args.output = memory.OutputMap({2, 37, 5, 7});
                  args.activation.function = {static_cast<Kind>(kind), 0.3f, 0.8f};
                  args.activation.slopes = memory.Floats(37);
                  return CallCut(family.activation, args);
                });
    }
  }
  table.Add("activation_in_place", 5, [](const OperatorFamily& family, CaseMemory& memory) {
    ActivationArgs args;
    args.output = memory.InPlaceMap({2, 37, 5, 7});
    args.input = args.output;
    args.activation.function = {Kind::kSilu, 0, 0};
    return CallCut(family.activation, args);
  });
  table.Add("activation_of_rank_3", 1, [](const OperatorFamily& family, CaseMemory& memory) {
    ActivationArgs args;
    args.input = memory.Tensor({3, 11, 21});
    args.output = memory.OutputTensor({3, 11, 21});
    args.activation.function = {Kind::kPRelu, 0, 0};
    args.activation.slopes = memory.Floats(11);
    return CallWhole(family.activation, args);
  });
  table.Add("activation_of_rank_1", 1, [](const OperatorFamily& family, CaseMemory& memory) {
    ActivationArgs args;
    args.input = memory.Tensor({100});
    args.output = memory.OutputTensor({100});
    args.activation.function = {Kind::kGelu, 0, 0};
    return CallWhole(family.activation, args);
  });
  for (const bool reorders : {false, true}) {
    table.Add(reorders ? "scale_shift_reordering" : "scale_shift", 6,
              [=](const OperatorFamily& family, CaseMemory& memory) {
                ScaleShiftArgs args;
                args.input = memory.Map({2, 5, 6, 4});
                args.output = memory.OutputMap({2, 5, 6, 4});
                args.scale = memory.Floats(5);
                args.shift = memory.Floats(5);
                if (reorders) args.channel_order = memory.Integers({4, 0, 2, 2, 1});
                args.activation.function = {Kind::kRelu, 0, 0};
                return CallCut(family.scale_shift, args);
              });
  }
  table.Add("scale_shift_of_rank_2", 1, [](const OperatorFamily& family, CaseMemory& memory) {
    ScaleShiftArgs args;
    args.input = memory.Tensor({4, 33});
    args.output = memory.OutputTensor({4, 33});
    args.scale = memory.Floats(33);
    args.shift = memory.Floats(33);
    return CallWhole(family.scale_shift, args);
  });
}

void AddBinaries(Table& table) {
  using Dims = std::initializer_list<int64_t>;
  const auto add = [&](const std::string& name, BinaryKind kind, Dims a, Dims b, bool special) {
    table.Add(name, 6,
              [=, a = std::vector<int64_t>(a), b = std::vector<int64_t>(b)](
                  const OperatorFamily& family, CaseMemory& memory) {
                if (special) memory.UseSpecialNumbers();
                const auto operand = [&](const std::vector<int64_t>& dims) {
                  if (dims.size() == 4) return memory.Map({dims[0], dims[1], dims[2], dims[3]});
                  if (dims.size() == 3) return memory.Tensor({dims[0], dims[1], dims[2]});
                  return memory.Tensor({dims[0]});
                };
                BinaryArgs args;
                args.kind = kind;
                args.a = operand(a);
                args.b = operand(b);
                args.activation = {Kind::kLeakyRelu, 0.25f, 0};
                args.output = memory.OutputMap({2, 35, 6, 5});
                if (!family.binary) return std::function<void(Range)>();
                return std::function<void(Range)>(
                    [kernel = family.binary, args](Range rows) { kernel(CutRows(args, rows)); });
              });
  };
  for (int kind = 0; kind <= static_cast<int>(BinaryKind::kMaximum); ++kind) {
    const auto op = static_cast<BinaryKind>(kind);
    const std::string name = "binary_" + std::to_string(kind);
    add(name, op, {2, 35, 6, 5}, {2, 35, 6, 5}, false);
    add(name + "_special_numbers", op, {2, 35, 6, 5}, {2, 35, 6, 5}, true);
    add(name + "_with_gate", op, {2, 35, 6, 5}, {2, 35, 1, 1}, false);
    add(name + "_with_one_number", op, {2, 35, 6, 5}, {1}, false);
    add(name + "_pixel_by_channel", op, {1, 1, 6, 5}, {35, 1, 1}, false);
    add(name + "_columns_first", op, {5}, {2, 35, 6, 1}, false);
  }
  table.Add("binary_in_place", 6, [](const OperatorFamily& family, CaseMemory& memory) {
    BinaryArgs args;
    args.output = memory.InPlaceMap({1, 20, 6, 5});
    args.a = args.output;
    args.b = memory.Map({1, 20, 6, 5});
    if (!family.binary) return std::function<void(Range)>();
    return std::function<void(Range)>(
        [kernel = family.binary, args](Range rows) { kernel(CutRows(args, rows)); });
  });
  table.Add("binary_of_rank_2", 1, [](const OperatorFamily& family, CaseMemory& memory) {
    BinaryArgs args;
    args.kind = BinaryKind::kSubtract;
    args.a = memory.Tensor({7, 1});
    args.b = memory.Tensor({1, 30});
    args.output = memory.OutputTensor({7, 30});
    return CallWhole(family.binary, args);
  });
}

void AddMovements(Table& table) {
  table.Add("copy_of_a_map", 6, [](const OperatorFamily& family, CaseMemory& memory) {
    CopyArgs args;
    args.input = memory.Map({2, 19, 6, 5});
    args.output = memory.OutputMap({2, 19, 6, 5});
    return CallCut(family.copy, args);
  });
  table.Add("copy_into_channels", 6, [](const OperatorFamily& family, CaseMemory& memory) {
    CopyArgs args;
    args.input = memory.Map({2, 7, 6, 5});
    args.output = SliceAxis(memory.OutputMap({2, 19, 6, 5}), 1, 4, 7);
    return CallCut(family.copy, args);
  });
  table.Add("copy_of_a_permuted_tensor", 1, [](const OperatorFamily& family, CaseMemory& memory) {
    CopyArgs args;
    constexpr int kOrder[] = {3, 1, 0, 4, 2};
    const ConstTensorView input = memory.Tensor({4, 3, 6, 5, 2});
    args.input = PermuteAxes(input, kOrder);
    args.output = memory.OutputTensor({5, 3, 4, 2, 6});
    return CallWhole(family.copy, args);
  });
  table.Add("copy_of_every_third_column", 6, [](const OperatorFamily& family, CaseMemory& memory) {
    CopyArgs args;
    args.input = SliceAxis<const float>(memory.Map({1, 19, 6, 14}), 3, 1, 4, 3);
    args.output = memory.OutputMap({1, 19, 6, 4});
    return CallCut(family.copy, args);
  });
  table.Add("copy_of_a_map_to_a_vector", 1, [](const OperatorFamily& family, CaseMemory& memory) {
    CopyArgs args;
    args.in_logical_order = true;
    args.input = memory.Map({2, 19, 6, 5});
    args.output = memory.OutputTensor({2, 19 * 6 * 5});
    return CallWhole(family.copy, args);
  });
  table.Add("copy_of_tokens_to_a_map", 1, [](const OperatorFamily& family, CaseMemory& memory) {
    CopyArgs args;
    args.in_logical_order = true;
    args.input = memory.Tensor({2, 30, 12});
    args.output = memory.OutputMap({2, 8, 15, 6});
    return CallWhole(family.copy, args);
  });
  table.Add("gather_channels", 6, [](const OperatorFamily& family, CaseMemory& memory) {
    GatherArgs args;
    args.axis = 1;
    args.indices = memory.Indices({3, 3, 0, 6});
    args.input = memory.Map({2, 7, 6, 5});
    args.output = memory.OutputMap({2, 4, 6, 5});
    return CallCut(family.gather, args);
  });
  table.Add("gather_rows_of_a_matrix", 1, [](const OperatorFamily& family, CaseMemory& memory) {
    GatherArgs args;
    args.axis = 0;
    args.indices = memory.Indices({5, 1, 1});
    args.input = memory.Tensor({6, 40});
    args.output = memory.OutputTensor({3, 40});
    return CallWhole(family.gather, args);
  });
  for (int mode = 0; mode <= 2; ++mode) {
    table.Add("pad_map_" + std::to_string(mode), 11,
              [=](const OperatorFamily& family, CaseMemory& memory) {
                PadArgs args;
                args.mode = static_cast<PadMode>(mode);
                args.value = 0.75f;
                args.begins = {0, 0, 3, 2};
                args.input = memory.Map({2, 19, 6, 5});
                args.output = memory.OutputMap({2, 19, 11, 8});
                if (!family.pad) return std::function<void(Range)>();
                return std::function<void(Range)>(
                    [kernel = family.pad, args](Range rows) { kernel(CutRows(args, rows)); });
              });
    table.Add("pad_tensor_" + std::to_string(mode), 1,
              [=](const OperatorFamily& family, CaseMemory& memory) {
                PadArgs args;
                args.mode = static_cast<PadMode>(mode);
                args.value = -1.0f;
                args.begins = {1, 2, 4};
                args.input = memory.Tensor({2, 3, 5});
                args.output = memory.OutputTensor({4, 6, 13});
                return CallWhole(family.pad, args);
              });
  }
  table.Add("pad_channels", 6, [](const OperatorFamily& family, CaseMemory& memory) {
    PadArgs args;
    args.begins = {0, 5, 0, 0};
    args.input = memory.Map({1, 19, 6, 5});
    args.output = memory.OutputMap({1, 32, 6, 5});
    if (!family.pad) return std::function<void(Range)>();
    return std::function<void(Range)>(
        [kernel = family.pad, args](Range rows) { kernel(CutRows(args, rows)); });
  });
}

void AddProducts(Table& table) {
  for (const int outputs : {1, 10, 64, 75}) {
    table.Add("linear_to_" + std::to_string(outputs), 1,
              [=](const OperatorFamily& family, CaseMemory& memory) {
                LinearArgs args;
                args.input = memory.Tensor({3, 5, 70});
                args.output = memory.OutputTensor({3, 5, outputs});
                args.weights = memory.Floats(int64_t{70} * outputs);
                args.bias = outputs == 10 ? nullptr : memory.Floats(outputs);
                args.activation = {Kind::kGelu, 0, 0};
                return CallWhole(family.linear, args);
              });
  }
  table.Add("linear_along_columns_of_a_map", 6,
            [](const OperatorFamily& family, CaseMemory& memory) {
              LinearArgs args;
              args.input = memory.Map({2, 9, 6, 13});
              args.output = memory.OutputMap({2, 9, 6, 7});
              args.weights = memory.Floats(13 * 7);
              return CallCut(family.linear, args);
            });
  table.Add("mat_mul", 1, [](const OperatorFamily& family, CaseMemory& memory) {
    const MatMulArgs args = {memory.Tensor({9, 33}), memory.Tensor({33, 70}),
                             memory.OutputTensor({9, 70})};
    return CallWhole(family.mat_mul, args);
  });
  table.Add("mat_mul_with_broadcast", 1, [](const OperatorFamily& family, CaseMemory& memory) {
    const MatMulArgs args = {memory.Tensor({2, 1, 6, 20}), memory.Tensor({3, 20, 17}),
                             memory.OutputTensor({2, 3, 6, 17})};
    return CallWhole(family.mat_mul, args);
  });
  table.Add("mat_mul_by_a_transpose", 1, [](const OperatorFamily& family, CaseMemory& memory) {
    constexpr int kOrder[] = {0, 2, 1};
    const ConstTensorView b = memory.Tensor({4, 19, 32});
    const MatMulArgs args = {memory.Tensor({4, 8, 32}), PermuteAxes(b, kOrder),
                             memory.OutputTensor({4, 8, 19})};
    return CallWhole(family.mat_mul, args);
  });
}

void AddNorms(Table& table) {
  for (const int channels : {1, 15, 16, 50, 96}) {
    table.Add("layer_norm_over_" + std::to_string(channels) + "_channels", 5,
              [=](const OperatorFamily& family, CaseMemory& memory) {
                LayerNormArgs args;
                args.input = memory.Map({2, channels, 5, 7});
                args.output = memory.OutputMap({2, channels, 5, 7});
                args.scale = memory.Floats(channels);
                args.shift = memory.Floats(channels);
                return CallCut(family.layer_norm, args);
              });
  }
  table.Add("layer_norm_over_the_last_axis", 1,
            [](const OperatorFamily& family, CaseMemory& memory) {
              LayerNormArgs args;
              args.first_axis = 2;
              args.input = memory.Tensor({2, 9, 70});
              args.output = memory.OutputTensor({2, 9, 70});
              return CallWhole(family.layer_norm, args);
            });
  table.Add("layer_norm_over_a_map", 1, [](const OperatorFamily& family, CaseMemory& memory) {
    LayerNormArgs args;
    args.axis_count = 3;
    args.input = memory.Map({2, 18, 5, 20});
    args.output = memory.OutputMap({2, 18, 5, 20});
    args.scale = memory.Floats(18 * 5 * 20);
    args.shift = memory.Floats(18 * 5 * 20);
    return CallWhole(family.layer_norm, args);
  });
  for (const int groups : {1, 4, 36}) {
    table.Add("group_norm_" + std::to_string(groups), 1,
              [=](const OperatorFamily& family, CaseMemory& memory) {
                GroupNormArgs args;
                args.groups = groups;
                args.input = memory.Map({2, 36, 5, 20});
                args.output = memory.OutputMap({2, 36, 5, 20});
                args.scale = memory.Floats(36);
                args.shift = memory.Floats(36);
                return CallWhole(family.group_norm, args);
              });
  }
  table.Add("group_norm_of_rank_3", 1, [](const OperatorFamily& family, CaseMemory& memory) {
    GroupNormArgs args;
    args.groups = 3;
    args.input = memory.Tensor({2, 9, 35});
    args.output = memory.OutputTensor({2, 9, 35});
    return CallWhole(family.group_norm, args);
  });
}

void AddReductions(Table& table) {
  for (const bool logarithm : {false, true}) {
    for (const bool special : {false, true}) {
      const std::string name =
          std::string(logarithm ? "log_softmax" : "softmax") + (special ? "_special_numbers" : "");
      table.Add(name + "_over_channels", 5, [=](const OperatorFamily& family, CaseMemory& memory) {
        if (special) memory.UseSpecialNumbers();
        SoftmaxArgs args;
        args.logarithm = logarithm;
        args.input = memory.Map({2, 21, 5, 7});
        args.output = memory.OutputMap({2, 21, 5, 7});
        return CallCut(family.softmax, args);
      });
      table.Add(name + "_over_rows", 1, [=](const OperatorFamily& family, CaseMemory& memory) {
        if (special) memory.UseSpecialNumbers();
        SoftmaxArgs args;
        args.axis = 2;
        args.logarithm = logarithm;
        args.input = memory.Map({2, 11, 18, 3});
        args.output = memory.OutputMap({2, 11, 18, 3});
        return CallWhole(family.softmax, args);
      });
    }
  }
  for (const bool special : {false, true}) {
    const std::string suffix = special ? "_special_numbers" : "";
    table.Add("arg_max_over_channels" + suffix, 5,
              [=](const OperatorFamily& family, CaseMemory& memory) {
                if (special) memory.UseSpecialNumbers();
                ArgMaxArgs args;
                args.input = memory.Map({2, 21, 5, 7});
                args.output = memory.OutputMap({2, 1, 5, 7});
                return CallCut(family.arg_max, args);
              });
    table.Add("arg_max_over_the_last_axis" + suffix, 1,
              [=](const OperatorFamily& family, CaseMemory& memory) {
                if (special) memory.UseSpecialNumbers();
                ArgMaxArgs args;
                args.axis = 1;
                args.input = memory.Tensor({6, 100});
                args.output = memory.OutputTensor({6, 1});
                return CallWhole(family.arg_max, args);
              });
    for (int kind = 0; kind <= static_cast<int>(ReduceKind::kMin); ++kind) {
      const std::string name = "reduce_" + std::to_string(kind) + suffix;
      table.Add(name + "_over_the_picture", 1,
                [=](const OperatorFamily& family, CaseMemory& memory) {
                  if (special) memory.UseSpecialNumbers();
                  ReduceArgs args;
                  args.kind = static_cast<ReduceKind>(kind);
                  args.reduced = {false, false, true, true};
                  args.input = memory.Map({2, 37, 18, 35});
                  args.output = memory.OutputMap({2, 37, 1, 1});
                  return CallWhole(family.reduce, args);
                });
      table.Add(name + "_over_channels", 5, [=](const OperatorFamily& family, CaseMemory& memory) {
        if (special) memory.UseSpecialNumbers();
        ReduceArgs args;
        args.kind = static_cast<ReduceKind>(kind);
        args.reduced = {false, true};
        args.input = memory.Map({2, 37, 5, 7});
        args.output = memory.OutputMap({2, 1, 5, 7});
        return CallCut(family.reduce, args);
      });
      table.Add(name + "_over_outer_and_last", 1,
                [=](const OperatorFamily& family, CaseMemory& memory) {
                  if (special) memory.UseSpecialNumbers();
                  ReduceArgs args;
                  args.kind = static_cast<ReduceKind>(kind);
                  args.reduced = {true, false, true};
                  args.input = memory.Tensor({3, 4, 50});
                  args.output = memory.OutputTensor({1, 4, 1});
                  return CallWhole(family.reduce, args);
                });
    }
  }
}

void AddDetection(Table& table) {
  for (const bool apply_sigmoid : {false, true}) {
    table.Add(apply_sigmoid ? "decode_boxes" : "decode_boxes_already_squashed", 1,
              [=](const OperatorFamily& family, CaseMemory& memory) {
                std::vector<DetectionHead> heads;
                for (const int stride : {8, 16}) {
                  DetectionHead head;
                  head.map = AsImage(memory.Map({1, 3 * 9, 48 / stride, 64 / stride}));
                  head.stride = stride;
                  head.anchors = memory.Floats(6);
                  head.anchor_count = 3;
                  heads.push_back(head);
                }
                DecodeBoxesArgs args;
                args.heads = memory.Heads(heads);
                args.head_count = 2;
                args.apply_sigmoid = apply_sigmoid;
                args.output = memory.OutputTensor({3 * (6 * 8 + 3 * 4), 9});
                return CallWhole(family.decode_boxes, args);
              });
  }
  for (const bool special : {false, true}) {
    table.Add(special ? "non_max_suppression_special_numbers" : "non_max_suppression", 1,
              [=](const OperatorFamily& family, CaseMemory& memory) {
                if (special) memory.UseSpecialNumbers();
                NonMaxSuppressionArgs args;
                args.score_threshold = 0.25f;
                args.overlap_threshold = 0.3f;
                args.input = memory.Tensor({400, 8});
                args.output = memory.OutputTensor({60, 6});
                args.scratch = memory.Candidates(400);
                return CallWhole(family.non_max_suppression, args);
              });
  }
}

// [0, rows) in random pieces, in random order.
std::vector<Range> RandomCuts(int rows, std::mt19937& random) {
  std::vector<Range> cuts;
  for (int begin = 0; begin < rows;) {
    const int end = begin + 1 + static_cast<int>(random() % static_cast<unsigned>(rows - begin));
    cuts.push_back({begin, end});
    begin = end;
  }
  std::shuffle(cuts.begin(), cuts.end(), random);
  return cuts;
}

bool SameBits(float a, float b) {
  return std::memcmp(&a, &b, sizeof(a)) == 0 || (std::isnan(a) && std::isnan(b));
}

}  // namespace

const std::vector<float>& PreparedCase::output() const { return memory->output; }

OperatorFamily ReferenceFamily() {
  return {"reference",
          reference::Conv,
          reference::Pool,
          reference::AdaptivePool,
          reference::Resize,
          reference::DepthToSpace,
          reference::SpaceToDepth,
          reference::Activation,
          reference::ScaleShift,
          reference::Binary,
          reference::Copy,
          reference::Gather,
          reference::Pad,
          reference::Linear,
          reference::MatMul,
          reference::LayerNorm,
          reference::GroupNorm,
          reference::Softmax,
          reference::ArgMax,
          reference::Reduce,
          reference::DecodeBoxes,
          reference::NonMaxSuppression};
}

const std::vector<OperatorCase>& OperatorCases() {
  static const std::vector<OperatorCase> cases = [] {
    Table table;
    AddConvShapes(table);
    AddConvEpilogues(table);
    AddPools(table);
    AddResizes(table);
    AddBlocks(table);
    AddElementWise(table);
    AddBinaries(table);
    AddMovements(table);
    AddProducts(table);
    AddNorms(table);
    AddReductions(table);
    AddDetection(table);
    return std::move(table.cases);
  }();
  return cases;
}

std::string Difference(const std::vector<float>& actual, const std::vector<float>& expected) {
  if (actual.size() != expected.size()) return "sizes differ";
  size_t count = 0;
  size_t first = 0;
  for (size_t i = actual.size(); i-- > 0;) {
    if (SameBits(actual[i], expected[i])) continue;
    ++count;
    first = i;
  }
  if (count == 0) return "";
  char text[160];
  std::snprintf(text, sizeof(text), "%zu of %zu differ, the first at %zu: %.9g instead of %.9g",
                count, actual.size(), first, static_cast<double>(actual[first]),
                static_cast<double>(expected[first]));
  return text;
}

void ExpectReferenceBits(const OperatorFamily& family, unsigned seed) {
  std::mt19937 random(seed);
  const OperatorFamily reference_family = ReferenceFamily();
  for (const OperatorCase& c : OperatorCases()) {
    const Range all = {0, c.rows};
    const PreparedCase expected = c.prepare(reference_family);
    const PreparedCase whole = c.prepare(family);
    if (!whole.run) continue;
    expected.run(all);
    whole.run(all);
    EXPECT_EQ(Difference(whole.output(), expected.output()), "")
        << c.name << " of " << family.name << " as a whole";

    const PreparedCase cut = c.prepare(family);
    const PreparedCase expected_cut = c.prepare(reference_family);
    for (const Range rows : RandomCuts(c.rows, random)) {
      cut.run(rows);
      expected_cut.run(rows);
      ASSERT_EQ(Difference(cut.output(), expected_cut.output()), "")
          << c.name << " of " << family.name << " in rows " << rows.begin << " to " << rows.end
          << ", seed " << seed;
    }
    EXPECT_EQ(Difference(cut.output(), expected.output()), "")
        << c.name << " of " << family.name << " in cuts, seed " << seed;
  }
}

}  // namespace cacheinf
