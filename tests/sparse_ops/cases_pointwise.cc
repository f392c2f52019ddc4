#include <string>
#include <utility>
#include <vector>

#include "tests/sparse_ops/case_table.h"

namespace cacheinf {
namespace {

using Kind = Function::Kind;

void AddElementWise(Table& table) {
  for (int kind = 0; kind <= static_cast<int>(Kind::kCos); ++kind) {
    for (const bool special : {false, true}) {
      table.Add("activation_" + std::to_string(kind) + (special ? "_special_numbers" : ""),
                [=](const OperatorFamily& family, CaseMemory& memory) {
                  if (special) memory.UseSpecialNumbers();
                  ActivationArgs args;
                  args.input = memory.Map({2, 37, 5, 7});
                  args.output = memory.OutputMap({2, 37, 5, 7});
                  args.activation.function = {static_cast<Kind>(kind), 0.3f, 0.8f};
                  if (static_cast<Kind>(kind) == Kind::kPRelu) {
                    args.activation.slopes = memory.Floats(37);
                  }
                  return CallOnMap(family.activation, args, memory);
                });
    }
  }
  table.Add("activation_in_place", [](const OperatorFamily& family, CaseMemory& memory) {
    ActivationArgs args;
    args.output = memory.InPlaceMap({2, 37, 5, 7});
    args.input = args.output;
    args.activation.function = {Kind::kSilu, 0, 0};
    return CallOnMap(family.activation, args, memory);
  });
  table.Add("activation_of_a_large_map", [](const OperatorFamily& family, CaseMemory& memory) {
    ActivationArgs args;
    args.input = memory.Map({1, 64, 24, 50});
    args.output = memory.OutputMap({1, 64, 24, 50});
    args.activation.function = {Kind::kRelu, 0, 0};
    return CallOnMap(family.activation, args, memory);
  });
  table.Add("activation_of_rank_3", [](const OperatorFamily& family, CaseMemory& memory) {
    ActivationArgs args;
    args.input = memory.Tensor({3, 11, 21});
    args.output = memory.OutputTensor({3, 11, 21});
    args.activation.function = {Kind::kPRelu, 0, 0};
    args.activation.slopes = memory.Floats(11);
    return CallWhole(family.activation, args);
  });
  table.Add("activation_of_rank_1", [](const OperatorFamily& family, CaseMemory& memory) {
    ActivationArgs args;
    args.input = memory.Tensor({100});
    args.output = memory.OutputTensor({100});
    args.activation.function = {Kind::kGelu, 0, 0};
    return CallWhole(family.activation, args);
  });
  for (const bool reorders : {false, true}) {
    table.Add(reorders ? "scale_shift_reordering" : "scale_shift",
              [=](const OperatorFamily& family, CaseMemory& memory) {
                ScaleShiftArgs args;
                args.input = memory.Map({2, 5, 6, 4});
                args.output = memory.OutputMap({2, 5, 6, 4});
                args.scale = memory.Floats(5);
                args.shift = memory.Floats(5);
                if (reorders) args.channel_order = memory.Integers({4, 0, 2, 2, 1});
                args.activation.function = {Kind::kRelu, 0, 0};
                return CallOnMap(family.scale_shift, args, memory);
              });
  }
  table.Add("scale_shift_and_prelu", [](const OperatorFamily& family, CaseMemory& memory) {
    ScaleShiftArgs args;
    args.input = memory.Map({2, 37, 6, 4});
    args.output = memory.OutputMap({2, 37, 6, 4});
    args.scale = memory.Floats(37);
    args.shift = memory.Floats(37);
    args.activation.function = {Kind::kPRelu, 0, 0};
    args.activation.slopes = memory.Floats(37);
    return CallOnMap(family.scale_shift, args, memory);
  });
  table.Add("scale_shift_and_prelu_of_long_rows",
            [](const OperatorFamily& family, CaseMemory& memory) {
              ScaleShiftArgs args;
              args.input = memory.Map({1, 40, 2, 300});
              args.output = memory.OutputMap({1, 40, 2, 300});
              args.scale = memory.Floats(40);
              args.shift = memory.Floats(40);
              args.activation.function = {Kind::kPRelu, 0, 0};
              args.activation.slopes = memory.Floats(40);
              return CallOnMap(family.scale_shift, args, memory);
            });
  table.Add("scale_shift_of_rank_2", [](const OperatorFamily& family, CaseMemory& memory) {
    ScaleShiftArgs args;
    args.input = memory.Tensor({4, 33});
    args.output = memory.OutputTensor({4, 33});
    args.scale = memory.Floats(33);
    args.shift = memory.Floats(33);
    return CallWhole(family.scale_shift, args);
  });
}

void AddBinaries(Table& table) {
  using Dims = std::vector<int64_t>;
  const auto add = [&](const std::string& name, BinaryKind kind, const Dims& a, const Dims& b,
                       bool special) {
    table.Add(name, [=](const OperatorFamily& family, CaseMemory& memory) {
      if (special) memory.UseSpecialNumbers();
      BinaryArgs args;
      args.kind = kind;
      args.a = a.size() == 4 ? memory.Map(a) : memory.Tensor(a);
      args.b = b.size() == 4 ? memory.Map(b) : memory.Tensor(b);
      args.activation = {Kind::kLeakyRelu, 0.25f, 0};
      args.output = memory.OutputMap({2, 35, 6, 5});
      return CallOnMap(family.binary, args, memory);
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
  for (const bool over_first : {true, false}) {
    table.Add(over_first ? "binary_over_its_first" : "binary_over_its_second",
              [=](const OperatorFamily& family, CaseMemory& memory) {
                BinaryArgs args;
                args.output = memory.InPlaceMap({1, 20, 6, 5});
                args.a = args.b = memory.Map({1, 20, 6, 5});
                (over_first ? args.a : args.b) = args.output;
                return CallOnMap(family.binary, args, memory);
              });
  }
  table.Add("binary_of_rank_2", [](const OperatorFamily& family, CaseMemory& memory) {
    BinaryArgs args;
    args.kind = BinaryKind::kSubtract;
    args.a = memory.Tensor({7, 1});
    args.b = memory.Tensor({1, 30});
    args.output = memory.OutputTensor({7, 30});
    return CallWhole(family.binary, args);
  });
}

void AddMovements(Table& table) {
  table.Add("copy_of_a_map", [](const OperatorFamily& family, CaseMemory& memory) {
    CopyArgs args;
    args.input = memory.Map({2, 19, 6, 5});
    args.output = memory.OutputMap({2, 19, 6, 5});
    return CallOnMap(family.copy, args, memory);
  });
  for (const auto& [channels, columns] : {std::pair(3, 1300), std::pair(600, 7)}) {
    table.Add(
        "copy_of_planes_of_" + std::to_string(columns) + "_columns_to_a_map",
        [channels = channels, columns = columns](const OperatorFamily& family, CaseMemory& memory) {
          CopyArgs args;
          args.input = memory.Tensor({1, channels, 2, columns});
          args.output = memory.OutputMap({1, channels, 2, columns});
          return CallOnMap(family.copy, args, memory);
        });
  }
  table.Add("copy_into_channels", [](const OperatorFamily& family, CaseMemory& memory) {
    CopyArgs args;
    args.input = memory.Map({2, 7, 6, 5});
    args.output = SliceAxis(memory.OutputMap({2, 19, 6, 5}), 1, 4, 7);
    return CallOnMap(family.copy, args, memory);
  });
  table.Add("copy_of_a_permuted_tensor", [](const OperatorFamily& family, CaseMemory& memory) {
    CopyArgs args;
    constexpr int kOrder[] = {3, 1, 0, 4, 2};
    const ConstTensorView input = memory.Tensor({4, 3, 6, 5, 2});
    args.input = PermuteAxes(input, kOrder);
    args.output = memory.OutputTensor({5, 3, 4, 2, 6});
    return CallWhole(family.copy, args);
  });
  table.Add("copy_of_every_third_column", [](const OperatorFamily& family, CaseMemory& memory) {
    CopyArgs args;
    args.input = SliceAxis<const float>(memory.Map({1, 19, 6, 14}), 3, 1, 4, 3);
    args.output = memory.OutputMap({1, 19, 6, 4});
    return CallOnMap(family.copy, args, memory);
  });
  table.Add("copy_of_a_map_to_a_vector", [](const OperatorFamily& family, CaseMemory& memory) {
    CopyArgs args;
    args.in_logical_order = true;
    args.input = memory.Map({2, 19, 6, 5});
    args.output = memory.OutputTensor({2, 19 * 6 * 5});
    return CallWhole(family.copy, args);
  });
  table.Add("copy_of_tokens_to_a_map", [](const OperatorFamily& family, CaseMemory& memory) {
    CopyArgs args;
    args.in_logical_order = true;
    args.input = memory.Tensor({2, 30, 12});
    args.output = memory.OutputMap({2, 8, 15, 6});
    return CallWhole(family.copy, args);
  });
  for (int mode = 0; mode <= 2; ++mode) {
    table.Add("pad_map_" + std::to_string(mode),
              [=](const OperatorFamily& family, CaseMemory& memory) {
                PadArgs args;
                args.mode = static_cast<PadMode>(mode);
                args.value = 0.75f;
                args.begins = {0, 0, 3, 2};
                args.input = memory.Map({2, 19, 6, 5});
                args.output = memory.OutputMap({2, 19, 11, 8});
                return CallOnMap(family.pad, args, memory);
              });
    table.Add("pad_images_" + std::to_string(mode),
              [=](const OperatorFamily& family, CaseMemory& memory) {
                PadArgs args;
                args.mode = static_cast<PadMode>(mode);
                args.value = 0.25f;
                args.begins = {2, 0, -1, 1};
                args.input = memory.Map({3, 5, 6, 9});
                args.output = memory.OutputMap({7, 5, 6, 11});
                return CallOnMap(family.pad, args, memory);
              });
    table.Add("pad_everything_" + std::to_string(mode),
              [=](const OperatorFamily& family, CaseMemory& memory) {
                PadArgs args;
                args.mode = static_cast<PadMode>(mode);
                args.value = -0.5f;
                args.begins = {-1, 3, 2, -2};
                args.input = memory.Map({3, 4, 6, 9});
                args.output = memory.OutputMap({3, 11, 9, 8});
                return CallOnMap(family.pad, args, memory);
              });
    table.Add("pad_tensor_" + std::to_string(mode),
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
  table.Add("pad_images_of_one_channel", [](const OperatorFamily& family, CaseMemory& memory) {
    PadArgs args;
    args.begins = {1, 0, 0, 0};
    args.input = memory.Map({4, 1, 8, 21});
    args.output = memory.OutputMap({6, 1, 8, 21});
    return CallOnMap(family.pad, args, memory);
  });
  table.Add("pad_channels", [](const OperatorFamily& family, CaseMemory& memory) {
    PadArgs args;
    args.begins = {0, 5, 0, 0};
    args.input = memory.Map({1, 19, 6, 5});
    args.output = memory.OutputMap({1, 32, 6, 5});
    return CallOnMap(family.pad, args, memory);
  });
}

// So many of `size` entries, all over them and in no order.
std::vector<int64_t> Scattered(int64_t count, int64_t size) {
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < count; ++i) indices.push_back((i * 37 + 5) % size);
  return indices;
}

void AddGathers(Table& table) {
  table.Add("gather_channels", [](const OperatorFamily& family, CaseMemory& memory) {
    GatherArgs args;
    args.axis = 1;
    args.indices = memory.Indices({3, 3, 0, 6});
    args.input = memory.Map({2, 7, 6, 5});
    args.output = memory.OutputMap({2, 4, 6, 5});
    return CallOnMap(family.gather, args, memory);
  });
  table.Add("gather_many_channels_into_channels",
            [](const OperatorFamily& family, CaseMemory& memory) {
              GatherArgs args;
              args.axis = 1;
              args.indices = memory.Indices(Scattered(70, 45));
              args.input = memory.Map({1, 45, 12, 31});
              args.output = SliceAxis(memory.OutputMap({1, 80, 12, 31}), 1, 3, 70);
              return CallOnMap(family.gather, args, memory);
            });
  table.Add("gather_one_channel", [](const OperatorFamily& family, CaseMemory& memory) {
    GatherArgs args;
    args.axis = 1;
    args.indices = memory.Indices({4});
    args.input = memory.Map({2, 7, 6, 5});
    args.output = memory.OutputMap({2, 1, 6, 5});
    return CallOnMap(family.gather, args, memory);
  });
  table.Add("gather_images", [](const OperatorFamily& family, CaseMemory& memory) {
    GatherArgs args;
    args.axis = 0;
    args.indices = memory.Indices({2, 0, 2, 1});
    args.input = memory.Map({3, 19, 6, 5});
    args.output = memory.OutputMap({4, 19, 6, 5});
    return CallOnMap(family.gather, args, memory);
  });
  for (const int axis : {2, 3}) {
    table.Add(axis == 2 ? "gather_rows_of_a_map" : "gather_columns_of_a_map",
              [=](const OperatorFamily& family, CaseMemory& memory) {
                GatherArgs args;
                args.axis = axis;
                args.indices = memory.Indices({4, 4, 1, 0, 3, 2, 4});
                args.input = memory.Map({2, 19, 5, 5});
                args.output = memory.OutputMap({2, 19, axis == 2 ? 7 : 5, axis == 3 ? 7 : 5});
                return CallWhole(family.gather, args);
              });
  }
  table.Add("gather_rows_of_a_matrix", [](const OperatorFamily& family, CaseMemory& memory) {
    GatherArgs args;
    args.axis = 0;
    args.indices = memory.Indices({5, 1, 1});
    args.input = memory.Tensor({6, 40});
    args.output = memory.OutputTensor({3, 40});
    return CallWhole(family.gather, args);
  });
  table.Add("gather_many_rows_of_a_matrix", [](const OperatorFamily& family, CaseMemory& memory) {
    GatherArgs args;
    args.axis = 0;
    args.indices = memory.Indices(Scattered(90, 50));
    args.input = memory.Tensor({50, 300});
    args.output = memory.OutputTensor({90, 300});
    return CallWhole(family.gather, args);
  });
  table.Add("gather_along_the_last_axis", [](const OperatorFamily& family, CaseMemory& memory) {
    GatherArgs args;
    args.axis = 2;
    args.indices = memory.Indices(Scattered(10000, 64));
    args.input = memory.Tensor({1, 2, 64});
    args.output = memory.OutputTensor({1, 2, 10000});
    return CallWhole(family.gather, args);
  });
  table.Add("gather_along_a_middle_axis", [](const OperatorFamily& family, CaseMemory& memory) {
    GatherArgs args;
    args.axis = 1;
    args.indices = memory.Indices({1, 5, 0});
    args.input = memory.Tensor({2, 6, 3, 4, 5});
    args.output = memory.OutputTensor({2, 3, 3, 4, 5});
    return CallWhole(family.gather, args);
  });
}

}  // namespace

void AddPointwise(Table& table) {
  AddElementWise(table);
  AddBinaries(table);
  AddMovements(table);
  AddGathers(table);
}

void AddTimedPointwise(Table& table) {
  const auto add_activation = [&](const std::string& name, Kind kind) {
    table.Add(name, [=](const OperatorFamily& family, CaseMemory& memory) {
      ActivationArgs args;
      args.input = memory.Map({1, 64, 80, 80});
      args.output = memory.OutputMap({1, 64, 80, 80});
      args.activation.function = {kind, 0, 0};
      return CallOnMap(family.activation, args, memory);
    });
  };
  add_activation("relu", Kind::kRelu);
  add_activation("silu", Kind::kSilu);
  add_activation("gelu", Kind::kGelu);
  const auto add_binary = [&](const std::string& name, BinaryKind kind, int64_t b_side) {
    table.Add(name, [=](const OperatorFamily& family, CaseMemory& memory) {
      BinaryArgs args;
      args.kind = kind;
      args.a = memory.Map({1, 64, 80, 80});
      args.b = memory.Map({1, 64, b_side, b_side});
      args.output = memory.OutputMap({1, 64, 80, 80});
      return CallOnMap(family.binary, args, memory);
    });
  };
  add_binary("add", BinaryKind::kAdd, 80);
  add_binary("multiply_by_gate", BinaryKind::kMultiply, 1);
  table.Add("scale_shift_reordering_3_channels",
            [](const OperatorFamily& family, CaseMemory& memory) {
              ScaleShiftArgs args;
              args.input = memory.Map({1, 3, 224, 224});
              args.output = memory.OutputMap({1, 3, 224, 224});
              args.scale = memory.Floats(3);
              args.shift = memory.Floats(3);
              args.channel_order = memory.Integers({2, 1, 0});
              return CallOnMap(family.scale_shift, args, memory);
            });
  table.Add("copy_into_half_the_channels", [](const OperatorFamily& family, CaseMemory& memory) {
    CopyArgs args;
    args.input = memory.Map({1, 64, 80, 80});
    args.output = SliceAxis(memory.OutputMap({1, 128, 80, 80}), 1, 64, 64);
    return CallOnMap(family.copy, args, memory);
  });
  table.Add("gather_channels_shuffled", [](const OperatorFamily& family, CaseMemory& memory) {
    GatherArgs args;
    args.axis = 1;
    args.indices = memory.Indices(Scattered(64, 64));
    args.input = memory.Map({1, 64, 80, 80});
    args.output = memory.OutputMap({1, 64, 80, 80});
    return CallOnMap(family.gather, args, memory);
  });
  table.Add("gather_rows_of_an_embedding", [](const OperatorFamily& family, CaseMemory& memory) {
    GatherArgs args;
    args.axis = 0;
    args.indices = memory.Indices(Scattered(196, 1000));
    args.input = memory.Tensor({1000, 768});
    args.output = memory.OutputTensor({196, 768});
    return CallWhole(family.gather, args);
  });
  table.Add("pad_by_one", [](const OperatorFamily& family, CaseMemory& memory) {
    PadArgs args;
    args.begins = {0, 0, 1, 1};
    args.input = memory.Map({1, 64, 80, 80});
    args.output = memory.OutputMap({1, 64, 82, 82});
    return CallOnMap(family.pad, args, memory);
  });
}

}  // namespace cacheinf
