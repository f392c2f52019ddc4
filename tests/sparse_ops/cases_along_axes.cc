#include <string>
#include <vector>

#include "tests/sparse_ops/case_table.h"

namespace cacheinf {
namespace {

using Kind = Function::Kind;

void AddProducts(Table& table) {
  for (const int outputs : {1, 10, 64, 75}) {
    table.Add("linear_to_" + std::to_string(outputs),
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
  table.Add("linear_along_columns_of_a_map", [](const OperatorFamily& family, CaseMemory& memory) {
    LinearArgs args;
    args.input = memory.Map({2, 9, 6, 13});
    args.output = memory.OutputMap({2, 9, 6, 7});
    args.weights = memory.Floats(13 * 7);
    return CallWhole(family.linear, args);
  });
  table.Add("mat_mul", [](const OperatorFamily& family, CaseMemory& memory) {
    const MatMulArgs args = {memory.Tensor({9, 33}), memory.Tensor({33, 70}),
                             memory.OutputTensor({9, 70})};
    return CallWhole(family.mat_mul, args);
  });
  table.Add("mat_mul_with_broadcast", [](const OperatorFamily& family, CaseMemory& memory) {
    const MatMulArgs args = {memory.Tensor({2, 1, 6, 20}), memory.Tensor({3, 20, 17}),
                             memory.OutputTensor({2, 3, 6, 17})};
    return CallWhole(family.mat_mul, args);
  });
  table.Add("mat_mul_by_a_transpose", [](const OperatorFamily& family, CaseMemory& memory) {
    constexpr int kOrder[] = {0, 2, 1};
    const ConstTensorView b = memory.Tensor({4, 19, 32});
    const MatMulArgs args = {memory.Tensor({4, 8, 32}), PermuteAxes(b, kOrder),
                             memory.OutputTensor({4, 8, 19})};
    return CallWhole(family.mat_mul, args);
  });
}

void AddNorms(Table& table) {
  for (const int channels : {1, 15, 16, 50, 96}) {
    table.Add("layer_norm_over_" + std::to_string(channels) + "_channels",
              [=](const OperatorFamily& family, CaseMemory& memory) {
                LayerNormArgs args;
                args.input = memory.Map({2, channels, 5, 7});
                args.output = memory.OutputMap({2, channels, 5, 7});
                args.scale = memory.Floats(channels);
                args.shift = memory.Floats(channels);
                return CallOnMap(family.layer_norm, args, memory);
              });
  }
  table.Add("layer_norm_over_the_last_axis", [](const OperatorFamily& family, CaseMemory& memory) {
    LayerNormArgs args;
    args.first_axis = 2;
    args.input = memory.Tensor({2, 9, 70});
    args.output = memory.OutputTensor({2, 9, 70});
    return CallWhole(family.layer_norm, args);
  });
  table.Add("layer_norm_over_a_map", [](const OperatorFamily& family, CaseMemory& memory) {
    LayerNormArgs args;
    args.axis_count = 3;
    args.input = memory.Map({2, 18, 5, 20});
    args.output = memory.OutputMap({2, 18, 5, 20});
    args.scale = memory.Floats(18 * 5 * 20);
    args.shift = memory.Floats(18 * 5 * 20);
    return CallWhole(family.layer_norm, args);
  });
  for (const int groups : {1, 4, 36}) {
    table.Add("group_norm_" + std::to_string(groups),
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
  table.Add("group_norm_of_rank_3", [](const OperatorFamily& family, CaseMemory& memory) {
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
      table.Add(name + "_over_channels", [=](const OperatorFamily& family, CaseMemory& memory) {
        if (special) memory.UseSpecialNumbers();
        SoftmaxArgs args;
        args.logarithm = logarithm;
        args.input = memory.Map({2, 21, 5, 7});
        args.output = memory.OutputMap({2, 21, 5, 7});
        return CallOnMap(family.softmax, args, memory);
      });
      table.Add(name + "_over_rows", [=](const OperatorFamily& family, CaseMemory& memory) {
        if (special) memory.UseSpecialNumbers();
        SoftmaxArgs args;
        args.axis = 2;
        args.logarithm = logarithm;
        args.input = memory.Map({2, 11, 18, 3});
        args.output = memory.OutputMap({2, 11, 18, 3});
        return CallWhole(family.softmax, args);
      });
      table.Add(name + "_over_rows_that_lie_together",
                [=](const OperatorFamily& family, CaseMemory& memory) {
                  if (special) memory.UseSpecialNumbers();
                  constexpr int kOrder[] = {0, 1, 3, 2};
                  const ConstTensorView input = memory.Tensor({2, 3, 5, 18});
                  SoftmaxArgs args;
                  args.axis = 2;
                  args.logarithm = logarithm;
                  args.input = PermuteAxes(input, kOrder);
                  args.output = PermuteAxes(memory.OutputTensor({2, 3, 5, 18}), kOrder);
                  return CallWhole(family.softmax, args);
                });
    }
  }
  for (const bool special : {false, true}) {
    const std::string suffix = special ? "_special_numbers" : "";
    table.Add("arg_max_over_channels" + suffix,
              [=](const OperatorFamily& family, CaseMemory& memory) {
                if (special) memory.UseSpecialNumbers();
                ArgMaxArgs args;
                args.input = memory.Map({2, 21, 5, 7});
                args.output = memory.OutputMap({2, 1, 5, 7});
                return CallOnMap(family.arg_max, args, memory);
              });
    table.Add("arg_max_over_the_last_axis" + suffix,
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
      table.Add(name + "_over_the_picture", [=](const OperatorFamily& family, CaseMemory& memory) {
        if (special) memory.UseSpecialNumbers();
        ReduceArgs args;
        args.kind = static_cast<ReduceKind>(kind);
        args.reduced = {false, false, true, true};
        args.input = memory.Map({2, 37, 18, 35});
        args.output = memory.OutputMap({2, 37, 1, 1});
        return CallWhole(family.reduce, args);
      });
      table.Add(name + "_over_channels", [=](const OperatorFamily& family, CaseMemory& memory) {
        if (special) memory.UseSpecialNumbers();
        ReduceArgs args;
        args.kind = static_cast<ReduceKind>(kind);
        args.reduced = {false, true};
        args.input = memory.Map({2, 37, 5, 7});
        args.output = memory.OutputMap({2, 1, 5, 7});
        return CallOnMap(family.reduce, args, memory);
      });
      table.Add(name + "_over_outer_and_last",
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

constexpr int kHeadBoxes = 3 * (6 * 8 + 3 * 4);

// Of four classes.
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
              [=](const OperatorFamily& family, CaseMemory& memory) {
                const std::vector<DetectionHead> heads = Heads(memory);
                DecodeBoxesArgs args;
                args.heads = memory.Heads(heads);
                args.head_count = static_cast<int>(heads.size());
                args.apply_sigmoid = apply_sigmoid;
                args.output = memory.OutputTensor({kHeadBoxes, 9});
                return CallWhole(family.decode_boxes, args);
              });
  }
  for (const bool special : {false, true}) {
    table.Add(
        special ? "non_max_suppression_of_heads_special_numbers" : "non_max_suppression_of_heads",
        [=](const OperatorFamily& family, CaseMemory& memory) {
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
          return CallWhole(family.non_max_suppression, args);
        });
  }
  for (const bool special : {false, true}) {
    table.Add(special ? "non_max_suppression_special_numbers" : "non_max_suppression",
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

}  // namespace

void AddAlongAxes(Table& table) {
  AddProducts(table);
  AddNorms(table);
  AddReductions(table);
  AddDetection(table);
}

void AddTimedAlongAxes(Table& table) {
  table.Add("linear_from_2048_to_1000", [](const OperatorFamily& family, CaseMemory& memory) {
    LinearArgs args;
    args.input = memory.Tensor({1, 2048});
    args.output = memory.OutputTensor({1, 1000});
    args.weights = memory.Floats(2048 * 1000);
    args.bias = memory.Floats(1000);
    return CallWhole(family.linear, args);
  });
  table.Add("mat_mul_of_196_tokens", [](const OperatorFamily& family, CaseMemory& memory) {
    const MatMulArgs args = {memory.Tensor({6, 196, 64}), memory.Tensor({6, 64, 196}),
                             memory.OutputTensor({6, 196, 196})};
    return CallWhole(family.mat_mul, args);
  });
  table.Add("layer_norm_over_96_channels", [](const OperatorFamily& family, CaseMemory& memory) {
    LayerNormArgs args;
    args.input = memory.Map({1, 96, 56, 56});
    args.output = memory.OutputMap({1, 96, 56, 56});
    args.scale = memory.Floats(96);
    args.shift = memory.Floats(96);
    return CallOnMap(family.layer_norm, args, memory);
  });
  table.Add("group_norm_32", [](const OperatorFamily& family, CaseMemory& memory) {
    GroupNormArgs args;
    args.groups = 32;
    args.input = memory.Map({1, 128, 40, 40});
    args.output = memory.OutputMap({1, 128, 40, 40});
    args.scale = memory.Floats(128);
    args.shift = memory.Floats(128);
    return CallWhole(family.group_norm, args);
  });
  table.Add("softmax_over_21_channels", [](const OperatorFamily& family, CaseMemory& memory) {
    SoftmaxArgs args;
    args.input = memory.Map({1, 21, 120, 160});
    args.output = memory.OutputMap({1, 21, 120, 160});
    return CallOnMap(family.softmax, args, memory);
  });
  table.Add("arg_max_over_21_channels", [](const OperatorFamily& family, CaseMemory& memory) {
    ArgMaxArgs args;
    args.input = memory.Map({1, 21, 120, 160});
    args.output = memory.OutputMap({1, 1, 120, 160});
    return CallOnMap(family.arg_max, args, memory);
  });
  table.Add("mean_over_the_picture", [](const OperatorFamily& family, CaseMemory& memory) {
    ReduceArgs args;
    args.kind = ReduceKind::kMean;
    args.reduced = {false, false, true, true};
    args.input = memory.Map({1, 256, 56, 56});
    args.output = memory.OutputMap({1, 256, 1, 1});
    return CallWhole(family.reduce, args);
  });
}

}  // namespace cacheinf
