#include <array>
#include <string>
#include <vector>

#include "tests/sparse_ops/case_table.h"

namespace cacheinf {
namespace {

using Kind = Function::Kind;

void AddLinear(Table& table, const std::string& name, const Dims& input, int outputs,
               const Function& activation, bool has_bias) {
  Dims output = input;
  output.back() = outputs;
  table.Add(name, [=](CaseMemory& memory) {
    LinearArgs args;
    args.weights = memory.Floats(input.back() * outputs);
    if (has_bias) args.bias = memory.Floats(outputs);
    args.activation = activation;
    args.input = memory.Input(input);
    args.output = memory.Output(output);
    return args;
  });
}

void AddMatMul(Table& table, const std::string& name, const Dims& a, const Dims& b,
               const Dims& output) {
  table.Add(name, [=](CaseMemory& memory) {
    return MatMulArgs{memory.Tensor(a), memory.Tensor(b), memory.OutputTensor(output)};
  });
}

void AddProducts(Table& table) {
  for (const int outputs : {1, 10, 64, 75}) {
    AddLinear(table, "linear_to_" + std::to_string(outputs), {3, 5, 70}, outputs, {Kind::kGelu},
              outputs != 10);
  }
  AddLinear(table, "linear_along_columns_of_a_map", {2, 9, 6, 13}, 7, {}, false);
  AddMatMul(table, "mat_mul", {9, 33}, {33, 70}, {9, 70});
  AddMatMul(table, "mat_mul_with_broadcast", {2, 1, 6, 20}, {3, 20, 17}, {2, 3, 6, 17});
  table.Add("mat_mul_by_a_transpose", [](CaseMemory& memory) {
    constexpr int kOrder[] = {0, 2, 1};
    return MatMulArgs{memory.Tensor({4, 8, 32}), PermuteAxes(memory.Tensor({4, 19, 32}), kOrder),
                      memory.OutputTensor({4, 8, 19})};
  });
}

void AddLayerNorm(Table& table, const std::string& name, int first_axis, int axis_count,
                  const Dims& dims, bool has_affine) {
  table.Add(name, [=](CaseMemory& memory) {
    LayerNormArgs args;
    args.first_axis = first_axis;
    args.axis_count = axis_count;
    int64_t count = 1;
    for (int i = 0; i < axis_count; ++i) count *= dims[static_cast<size_t>(first_axis + i)];
    if (has_affine) args.scale = memory.Floats(count);
    if (has_affine) args.shift = memory.Floats(count);
    args.input = memory.Input(dims);
    args.output = memory.Output(dims);
    return Whole{args, axis_count > 1};
  });
}

void AddGroupNorm(Table& table, const std::string& name, int groups, const Dims& dims,
                  bool has_affine) {
  table.Add(name, [=](CaseMemory& memory) {
    GroupNormArgs args;
    args.groups = groups;
    if (has_affine) args.scale = memory.Floats(dims[1]);
    if (has_affine) args.shift = memory.Floats(dims[1]);
    args.input = memory.Input(dims);
    args.output = memory.Output(dims);
    return args;
  });
}

void AddNorms(Table& table) {
  for (const int channels : {1, 15, 16, 50, 96}) {
    AddLayerNorm(table, "layer_norm_over_" + std::to_string(channels) + "_channels", 1, 1,
                 {2, channels, 5, 7}, true);
  }
  AddLayerNorm(table, "layer_norm_over_the_last_axis", 2, 1, {2, 9, 70}, false);
  AddLayerNorm(table, "layer_norm_over_a_map", 1, 3, {2, 18, 5, 20}, true);
  for (const int groups : {1, 4, 36}) {
    AddGroupNorm(table, "group_norm_" + std::to_string(groups), groups, {2, 36, 5, 20}, true);
  }
  AddGroupNorm(table, "group_norm_of_rank_3", 3, {2, 9, 35}, false);
}

void AddSoftmaxes(Table& table, bool special, const std::string& suffix) {
  for (const bool logarithm : {false, true}) {
    const std::string name = (logarithm ? "log_softmax" : "softmax") + suffix;
    const auto add = [&](int axis, const std::string& along, const Dims& dims) {
      table.Add(name + along, [=](CaseMemory& memory) {
        if (special) memory.UseSpecialNumbers();
        return Whole{SoftmaxArgs{axis, logarithm, memory.Map(dims), memory.OutputMap(dims)},
                     axis > 1};
      });
    };
    add(0, "_over_batch", {3, 21, 5, 7});
    add(1, "_over_channels", {2, 21, 5, 7});
    add(2, "_over_rows", {2, 11, 18, 3});
    table.Add(name + "_over_rows_that_lie_together", [=](CaseMemory& memory) {
      if (special) memory.UseSpecialNumbers();
      constexpr int kOrder[] = {0, 1, 3, 2};
      const Dims dims = {2, 3, 5, 18};
      return Whole{SoftmaxArgs{2, logarithm, PermuteAxes(memory.Tensor(dims), kOrder),
                               PermuteAxes(memory.OutputTensor(dims), kOrder)}};
    });
  }
}

void AddArgMax(Table& table, const std::string& name, const Dims& input, const Dims& output,
               bool special = false) {
  table.Add(name, [=](CaseMemory& memory) {
    if (special) memory.UseSpecialNumbers();
    return ArgMaxArgs{1, memory.Input(input), memory.Output(output)};
  });
}

void AddTopK(Table& table, const std::string& name, int axis, int64_t count, const Dims& input,
             bool special = false) {
  Dims output = input;
  output[static_cast<size_t>(axis)] = count;
  table.Add(name, [=](CaseMemory& memory) {
    if (special) memory.UseSpecialNumbers();
    return TopKArgs{axis, memory.Input(input), memory.Output(output)};
  });
}

void AddReduce(Table& table, const std::string& name, ReduceKind kind, const Dims& input,
               const std::array<bool, TensorView::kMaxRank>& reduced, bool special = false) {
  Dims output = input;
  for (size_t i = 0; i < input.size(); ++i) {
    if (reduced[i]) output[i] = 1;
  }
  table.Add(name, [=](CaseMemory& memory) {
    if (special) memory.UseSpecialNumbers();
    return Whole{ReduceArgs{kind, reduced, memory.Input(input), memory.Output(output)}, reduced[2]};
  });
}

void AddReductions(Table& table) {
  for (const bool special : {false, true}) {
    const std::string suffix = special ? "_special_numbers" : "";
    AddSoftmaxes(table, special, suffix);
    AddArgMax(table, "arg_max_over_channels" + suffix, {2, 21, 5, 7}, {2, 1, 5, 7}, special);
    AddArgMax(table, "arg_max_over_the_last_axis" + suffix, {6, 100}, {6, 1}, special);
    AddTopK(table, "top_few_of_many" + suffix, 1, 10, {3, 700}, special);
    AddTopK(table, "top_all" + suffix, 0, 90, {90}, special);
    AddTopK(table, "top_of_strided_numbers" + suffix, 1, 5, {2, 40, 7}, special);
    AddTopK(table, "top_channels" + suffix, 1, 4, {2, 21, 5, 7}, special);
    AddTopK(table, "top_columns" + suffix, 3, 3, {2, 9, 5, 7}, special);
    for (int i = 0; i <= static_cast<int>(ReduceKind::kMin); ++i) {
      const auto kind = static_cast<ReduceKind>(i);
      const std::string name = "reduce_" + std::to_string(i) + suffix;
      AddReduce(table, name + "_over_the_picture", kind, {2, 37, 18, 35},
                {false, false, true, true}, special);
      AddReduce(table, name + "_over_channels", kind, {2, 37, 5, 7}, {false, true}, special);
      AddReduce(table, name + "_over_batch", kind, {3, 37, 5, 7}, {true}, special);
      AddReduce(table, name + "_over_outer_and_last", kind, {3, 4, 50}, {true, false, true},
                special);
    }
  }
}

constexpr int kHeadBoxes = 3 * (6 * 8 + 3 * 4);

// Heads of four classes.
std::vector<DetectionHead> Heads(CaseMemory& memory) {
  std::vector<DetectionHead> heads;
  for (const int stride : {8, 16}) {
    DetectionHead head;
    head.map = AsImage(memory.Map({1, 3 * 9, 48 / stride, 64 / stride}));
    head.stride = stride;
    head.anchors = memory.Floats(6);
    head.anchor_count = 3;
    heads.push_back(head);
  }
  return heads;
}

void AddDetection(Table& table) {
  for (const bool apply_sigmoid : {false, true}) {
    table.Add(apply_sigmoid ? "decode_boxes" : "decode_boxes_already_squashed",
              [=](CaseMemory& memory) {
                const std::vector<DetectionHead> heads = Heads(memory);
                return DecodeBoxesArgs{.heads = memory.Heads(heads),
                                       .head_count = static_cast<int>(heads.size()),
                                       .apply_sigmoid = apply_sigmoid,
                                       .output = memory.OutputTensor({kHeadBoxes, 9})};
              });
  }
  for (const bool special : {false, true}) {
    table.Add(
        special ? "non_max_suppression_of_heads_special_numbers" : "non_max_suppression_of_heads",
        [=](CaseMemory& memory) {
          if (special) memory.UseSpecialNumbers();
          NonMaxSuppressionArgs args;
          args.score_threshold = 0.25f;
          args.overlap_threshold = 0.3f;
          args.classes = 4;
          const std::vector<DetectionHead> heads = Heads(memory);
          args.heads = memory.Heads(heads);
          args.head_count = static_cast<int>(heads.size());
          args.output = memory.OutputTensor({60, 6});
          args.scratch = memory.Candidates(kHeadBoxes);
          args.row = memory.Floats(9);
          return args;
        });
  }
  for (const bool special : {false, true}) {
    table.Add(special ? "non_max_suppression_special_numbers" : "non_max_suppression",
              [=](CaseMemory& memory) {
                if (special) memory.UseSpecialNumbers();
                return NonMaxSuppressionArgs{.score_threshold = 0.25f,
                                             .overlap_threshold = 0.3f,
                                             .scratch = memory.Candidates(400),
                                             .input = memory.Tensor({400, 8}),
                                             .output = memory.OutputTensor({60, 6})};
              });
    table.Add(special ? "non_max_suppression_extras_special_numbers" : "non_max_suppression_extras",
              [=](CaseMemory& memory) {
                if (special) memory.UseSpecialNumbers();
                return NonMaxSuppressionArgs{.score_threshold = 0.25f,
                                             .overlap_threshold = 0.3f,
                                             .scratch = memory.Candidates(300),
                                             .has_objectness = false,
                                             .extras = 5,
                                             .input = memory.Tensor({300, 12}),
                                             .output = memory.OutputTensor({60, 11})};
              });
  }
}

}  // namespace

void AddAlongAxes(Table& table) {
  AddProducts(table);
  AddNorms(table);
  AddReductions(table);
  AddDetection(table);
}

void AddTimedAlongAxes(Table& table) {
  AddLinear(table, "linear_from_2048_to_1000", {1, 2048}, 1000, {}, true);
  AddMatMul(table, "mat_mul_of_196_tokens", {6, 196, 64}, {6, 64, 196}, {6, 196, 196});
  AddLayerNorm(table, "layer_norm_over_96_channels", 1, 1, {1, 96, 56, 56}, true);
  AddGroupNorm(table, "group_norm_32", 32, {1, 128, 40, 40}, true);
  table.Add("softmax_over_21_channels", [dims = Dims{1, 21, 120, 160}](CaseMemory& memory) {
    return SoftmaxArgs{1, false, memory.Map(dims), memory.OutputMap(dims)};
  });
  AddArgMax(table, "arg_max_over_21_channels", {1, 21, 120, 160}, {1, 1, 120, 160});
  AddReduce(table, "mean_over_the_picture", ReduceKind::kMean, {1, 256, 56, 56},
            {false, false, true, true});
}

}  // namespace cacheinf
