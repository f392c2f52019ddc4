#include <string>
#include <utility>

#include "tests/sparse_ops/case_table.h"

namespace cacheinf {
namespace {

using Kind = Function::Kind;

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
  bool is_winograd = false;
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
  const auto draw = [=](CaseMemory& memory) {
    ConvArgs args;
    args.spec = c.spec;
    args.input = AsImage(memory.Map({c.batch, c.in_channels, c.height, c.width}));
    args.weights = memory.Floats(static_cast<int64_t>(c.in_channels) * c.out_channels /
                                 c.spec.groups * c.spec.rows.kernel * c.spec.columns.kernel);
    if (c.has_bias) args.bias = memory.Floats(c.out_channels);
    args.activation.function = c.activation;
    if (c.activation.kind == Kind::kPRelu) {
      args.activation.slopes = memory.Floats(c.out_channels);
    }
    args.activation.one_slope = c.one_slope;
    args.activation_before_residual = c.activation_before_residual;
    if (c.has_residual) {
      args.residual = AsImage(memory.Map({c.batch, c.out_channels, out_height, out_width}));
    }
    args.output = AsImage(memory.OutputMap({c.batch, c.out_channels, out_height, out_width}));
    return args;
  };
  if (c.is_winograd) {
    table.Add("winograd_" + c.name,
              [draw](CaseMemory& memory) { return WinogradArgs{draw(memory)}; });
  } else {
    table.Add("conv_" + c.name, draw);
  }
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
  AddConv(table, Plain("3x3_dilation_4_of_many_channels", 40, 33, Square(3, 1, 4, 4)));
  AddConv(table, Plain("3x3_dilation_12_mostly_outside", 40, 33, Square(3, 1, 12, 12)));
  AddConv(table, Plain("2x2_without_padding", 8, 16, Square(2)));
  AddConv(table, Plain("6x6_padding_wider_than_picture", 2, 8, Square(6, 2, 12)));
  AddConv(table, Plain("groups_of_4", 16, 24, Square(3, 1, 1, 1, 4)));
  AddConv(table, Plain("groups_of_64", 128, 128, Square(3, 1, 1, 1, 2)));
  AddConv(table, Plain("depthwise_3x3", 37, 37, Square(3, 1, 1, 1, 37)));
  AddConv(table, Plain("depthwise_5x5_stride_2", 64, 64, Square(5, 2, 2, 1, 64)));
  AddConv(table, Plain("depthwise_7x7", 37, 37, Square(7, 1, 3, 1, 37)));
  AddConv(table, Plain("depthwise_7x7_stride_2", 64, 64, Square(7, 2, 3, 1, 64)));
  AddConv(table, Plain("depthwise_7x7_dilation_2", 20, 20, Square(7, 1, 6, 2, 20)));
  AddConv(table, Plain("depthwise_7x7_padding_wider_than_picture", 9, 9, Square(7, 2, 20, 1, 9)));
  AddConv(table, Plain("depthwise_3x3_of_8_channels", 8, 8, Square(3, 1, 1, 1, 8)));
  AddConv(table, Plain("depthwise_5x5_of_16_channels_stride_2", 16, 16, Square(5, 2, 2, 1, 16)));
  AddConv(table, Plain("depthwise_two_outputs_each", 20, 40, Square(3, 1, 1, 1, 20)));
  AddConv(table, Plain("many_channels", 200, 96, Square(3, 1, 1)));

  ConvCase large = Plain("weights_larger_than_a_cache", 400, 330, Square(1));
  large.height = 16;
  large.width = 17;
  AddConv(table, large);

  // Rows long enough for tiles of neighbours, and more pixels than three threads stage at once.
  ConvCase wide = Plain("3x3_of_16_of_a_wide_map", 16, 16, Square(3, 1, 1));
  wide.height = 5;
  wide.width = 75;
  AddConv(table, wide);
  wide = Plain("3x3_stride_2_of_3_of_a_wide_map", 3, 24, Square(3, 2, 1));
  wide.height = 9;
  wide.width = 150;
  AddConv(table, wide);
  wide = Plain("groups_of_2_of_a_large_map", 6, 10, Square(3, 1, 1, 1, 2));
  wide.height = wide.width = 20;
  AddConv(table, wide);

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

void AddWinograd(Table& table) {
  const auto add = [&table](ConvCase c) {
    c.is_winograd = true;
    AddConv(table, c);
  };
  const auto plain = [](const std::string& name, int in_channels, int out_channels, int height,
                        int width) {
    ConvCase c = Plain(name, in_channels, out_channels, Square(3, 1, 1));
    c.height = height;
    c.width = width;
    return c;
  };
  ConvCase c = plain("from_1_to_1", 1, 1, 5, 9);
  c.has_bias = false;
  add(c);
  add(plain("from_3_to_17", 3, 17, 12, 16));
  add(plain("from_16_to_64", 16, 64, 22, 22));
  add(plain("from_33_to_70", 33, 70, 7, 13));
  add(plain("from_70_to_33", 70, 33, 13, 6));
  add(plain("of_one_pixel", 20, 5, 1, 1));
  add(plain("of_one_row", 20, 5, 1, 22));
  add(plain("of_one_column", 20, 5, 22, 1));

  c = plain("without_padding", 12, 19, 9, 11);
  c.spec.rows.pad_begin = c.spec.rows.pad_end = 0;
  c.spec.columns.pad_begin = c.spec.columns.pad_end = 0;
  add(c);
  c = plain("padding_unevenly", 12, 19, 9, 11);
  c.spec.rows.pad_begin = 2;
  c.spec.columns.pad_begin = 0;
  add(c);
  c = plain("groups_of_3", 9, 15, 10, 11);
  c.spec.groups = 3;
  add(c);
  c = plain("groups_of_40", 80, 70, 10, 11);
  c.spec.groups = 2;
  add(c);

  c = plain("relu_after_residual", 12, 37, 9, 10);
  c.batch = 2;
  c.has_residual = true;
  c.activation = {Kind::kRelu, 0, 0};
  add(c);
  c.name = "silu_before_residual";
  c.activation = {Kind::kSilu, 0, 0};
  c.activation_before_residual = true;
  add(c);
  c.name = "slopes";
  c.has_residual = false;
  c.activation = {Kind::kPRelu, 0, 0};
  add(c);
  c.name = "one_slope_without_bias";
  c.has_bias = false;
  c.one_slope = true;
  add(c);

  // So many channels that threads share the weights.
  add(plain("from_150_to_170", 150, 170, 5, 13));
}

ConvCase OfSize(int height, int width, ConvCase c) {
  c.height = height;
  c.width = width;
  c.activation = {Kind::kRelu, 0, 0};
  return c;
}

}  // namespace

void AddConvolutions(Table& table) {
  AddConvShapes(table);
  AddConvEpilogues(table);
  AddWinograd(table);
}

void AddTimedConvolutions(Table& table) {
  AddConv(table, OfSize(56, 56, Plain("3x3_from_64_to_64", 64, 64, Square(3, 1, 1))));
  AddConv(table, OfSize(56, 56, Plain("3x3_from_64_to_128_stride_2", 64, 128, Square(3, 2, 1))));
  AddConv(table, OfSize(28, 28, Plain("3x3_from_64_to_64_dilation_2", 64, 64, Square(3, 1, 2, 2))));
  AddConv(table, OfSize(56, 56, Plain("1x1_from_128_to_64", 128, 64, Square(1))));
  AddConv(table, OfSize(112, 112, Plain("7x7_from_3_to_64_stride_2", 3, 64, Square(7, 2, 3))));
  AddConv(table, OfSize(112, 112, Plain("3x3_from_16_to_16", 16, 16, Square(3, 1, 1))));
  AddConv(table, OfSize(28, 28, Plain("3x3_groups_of_64", 128, 128, Square(3, 1, 1, 1, 2))));
  AddConv(table, OfSize(56, 56, Plain("3x3_depthwise_96", 96, 96, Square(3, 1, 1, 1, 96))));
  AddConv(table,
          OfSize(56, 56, Plain("5x5_depthwise_96_stride_2", 96, 96, Square(5, 2, 2, 1, 96))));
  AddConv(
      table,
      OfSize(28, 28, Plain("4x4_transposed_from_64_to_32", 64, 32, Transposed(Square(4, 2, 1)))));
  for (ConvCase winograd :
       {OfSize(56, 56, Plain("3x3_from_64_to_64", 64, 64, Square(3, 1, 1))),
        OfSize(48, 64, Plain("3x3_from_128_to_128", 128, 128, Square(3, 1, 1)))}) {
    winograd.is_winograd = true;
    AddConv(table, winograd);
  }
}

}  // namespace cacheinf
