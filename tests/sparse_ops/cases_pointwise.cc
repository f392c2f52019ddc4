#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tests/sparse_ops/case_table.h"

namespace cacheinf {
namespace {

using Kind = Function::Kind;

void AddActivation(Table& table, const std::string& name, const Function& function,
                   const Dims& dims, bool has_special_numbers = false) {
  table.Add(name, [=](CaseMemory& memory) {
    if (has_special_numbers) memory.UseSpecialNumbers();
    ChannelFunction activation = {function};
    if (function.kind == Kind::kPRelu) activation.slopes = memory.Floats(dims[1]);
    return ActivationArgs{activation, memory.Input(dims), memory.Output(dims)};
  });
}

void AddScaleShift(Table& table, const std::string& name, Kind activation, const Dims& dims,
                   const std::vector<int>& order = {}) {
  table.Add(name, [=](CaseMemory& memory) {
    ScaleShiftArgs args;
    args.scale = memory.Floats(dims[1]);
    args.shift = memory.Floats(dims[1]);
    if (!order.empty()) args.channel_order = memory.Integers(order);
    args.activation.function.kind = activation;
    if (activation == Kind::kPRelu) args.activation.slopes = memory.Floats(dims[1]);
    args.input = memory.Input(dims);
    args.output = memory.Output(dims);
    return args;
  });
}

void AddElementWise(Table& table) {
  for (int kind = 0; kind <= static_cast<int>(Kind::kCos); ++kind) {
    const Function function = {static_cast<Kind>(kind), 0.3f, 0.8f};
    const std::string name = "activation_" + std::to_string(kind);
    AddActivation(table, name, function, {2, 37, 5, 7});
    AddActivation(table, name + "_special_numbers", function, {2, 37, 5, 7}, true);
  }
  table.Add("activation_in_place", [](CaseMemory& memory) {
    const TensorView map = memory.InPlaceMap({2, 37, 5, 7});
    return ActivationArgs{{{Kind::kSilu}}, map, map};
  });
  AddActivation(table, "activation_of_a_large_map", {Kind::kRelu}, {1, 64, 24, 50});
  AddActivation(table, "activation_of_rank_3", {Kind::kPRelu}, {3, 11, 21});
  AddActivation(table, "activation_of_rank_1", {Kind::kGelu}, {100});
  AddScaleShift(table, "scale_shift", Kind::kRelu, {2, 5, 6, 4});
  AddScaleShift(table, "scale_shift_reordering", Kind::kRelu, {2, 5, 6, 4}, {4, 0, 2, 2, 1});
  AddScaleShift(table, "scale_shift_and_prelu", Kind::kPRelu, {2, 37, 6, 4});
  AddScaleShift(table, "scale_shift_and_prelu_of_long_rows", Kind::kPRelu, {1, 40, 2, 300});
  AddScaleShift(table, "scale_shift_of_rank_2", Kind::kIdentity, {4, 33});
}

void AddBinary(Table& table, const std::string& name, BinaryKind kind, const Dims& a, const Dims& b,
               const Dims& output, bool has_special_numbers = false,
               const Function& activation = {Kind::kLeakyRelu, 0.25f}) {
  table.Add(name, [=](CaseMemory& memory) {
    if (has_special_numbers) memory.UseSpecialNumbers();
    return BinaryArgs{kind, activation, memory.Input(a), memory.Input(b), memory.Output(output)};
  });
}

void AddBinaries(Table& table) {
  const Dims map = {2, 35, 6, 5};
  for (int i = 0; i <= static_cast<int>(BinaryKind::kMaximum); ++i) {
    const auto kind = static_cast<BinaryKind>(i);
    const std::string name = "binary_" + std::to_string(i);
    AddBinary(table, name, kind, map, map, map);
    AddBinary(table, name + "_special_numbers", kind, map, map, map, true);
    AddBinary(table, name + "_with_gate", kind, map, {2, 35, 1, 1}, map);
    AddBinary(table, name + "_with_one_number", kind, map, {1}, map);
    AddBinary(table, name + "_pixel_by_channel", kind, {1, 1, 6, 5}, {35, 1, 1}, map);
    AddBinary(table, name + "_columns_first", kind, {5}, {2, 35, 6, 1}, map);
  }
  for (const bool over_first : {true, false}) {
    table.Add(over_first ? "binary_over_its_first" : "binary_over_its_second",
              [=](CaseMemory& memory) {
                BinaryArgs args;
                args.output = memory.InPlaceMap({1, 20, 6, 5});
                args.a = args.b = memory.Map({1, 20, 6, 5});
                (over_first ? args.a : args.b) = args.output;
                return args;
              });
  }
  AddBinary(table, "binary_of_rank_2", BinaryKind::kSubtract, {7, 1}, {1, 30}, {7, 30});
}

void AddCopies(Table& table) {
  table.Add("copy_of_a_map", [](CaseMemory& memory) {
    return CopyArgs{memory.Map({2, 19, 6, 5}), memory.OutputMap({2, 19, 6, 5})};
  });
  for (const auto& [channels, columns] : {std::pair(3, 1300), std::pair(600, 7)}) {
    table.Add("copy_of_planes_of_" + std::to_string(columns) + "_columns_to_a_map",
              [dims = Dims{1, channels, 2, columns}](CaseMemory& memory) {
                return CopyArgs{memory.Tensor(dims), memory.OutputMap(dims)};
              });
  }
  table.Add("copy_into_channels", [](CaseMemory& memory) {
    return CopyArgs{memory.Map({2, 7, 6, 5}), SliceAxis(memory.OutputMap({2, 19, 6, 5}), 1, 4, 7)};
  });
  table.Add("copy_of_a_permuted_tensor", [](CaseMemory& memory) {
    constexpr int kOrder[] = {3, 1, 0, 4, 2};
    return CopyArgs{PermuteAxes(memory.Tensor({4, 3, 6, 5, 2}), kOrder),
                    memory.OutputTensor({5, 3, 4, 2, 6})};
  });
  table.Add("copy_of_every_third_column", [](CaseMemory& memory) {
    return CopyArgs{SliceAxis(memory.Map({1, 19, 6, 14}), 3, 1, 4, 3),
                    memory.OutputMap({1, 19, 6, 4})};
  });
  table.Add("copy_of_a_map_to_a_vector", [](CaseMemory& memory) {
    return CopyArgs{memory.Map({2, 19, 6, 5}), memory.OutputTensor({2, 19 * 6 * 5}), true};
  });
  table.Add("copy_of_tokens_to_a_map", [](CaseMemory& memory) {
    return Whole{CopyArgs{memory.Tensor({2, 30, 12}), memory.OutputMap({2, 8, 15, 6}), true}};
  });
}

using Begins = std::array<int64_t, TensorView::kMaxRank>;

void AddPad(Table& table, const std::string& name, PadMode mode, const Begins& begins,
            const Dims& input, const Dims& output) {
  table.Add(name, [=](CaseMemory& memory) {
    return PadArgs{mode, 0.75f, begins, memory.Input(input), memory.Output(output)};
  });
}

void AddPads(Table& table) {
  for (int i = 0; i <= static_cast<int>(PadMode::kEdge); ++i) {
    const auto mode = static_cast<PadMode>(i);
    const std::string suffix = "_" + std::to_string(i);
    AddPad(table, "pad_map" + suffix, mode, {0, 0, 3, 2}, {2, 19, 6, 5}, {2, 19, 11, 8});
    AddPad(table, "pad_images" + suffix, mode, {2, 0, -1, 1}, {3, 5, 6, 9}, {7, 5, 6, 11});
    AddPad(table, "pad_everything" + suffix, mode, {-1, 3, 2, -2}, {3, 4, 6, 9}, {3, 11, 9, 8});
    AddPad(table, "pad_tensor" + suffix, mode, {1, 2, 4}, {2, 3, 5}, {4, 6, 13});
  }
  const PadMode mode = PadMode::kConstant;
  AddPad(table, "pad_images_of_one_channel", mode, {1}, {4, 1, 8, 21}, {6, 1, 8, 21});
  AddPad(table, "pad_channels", mode, {0, 5}, {1, 19, 6, 5}, {1, 32, 6, 5});
}

// `count` of `size` indices, scattered and unordered.
std::vector<int64_t> Scattered(int64_t count, int64_t size) {
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < count; ++i) indices.push_back((i * 37 + 5) % size);
  return indices;
}

void AddGather(Table& table, const std::string& name, int axis, const std::vector<int64_t>& indices,
               const Dims& input) {
  Dims output = input;
  output[static_cast<size_t>(axis)] = static_cast<int64_t>(indices.size());
  table.Add(name, [=](CaseMemory& memory) {
    return Whole{
        GatherArgs{axis, memory.Indices(indices), memory.Input(input), memory.Output(output)},
        axis > 1};
  });
}

// Indices of all kinds: fractions, negative ones, and some outside the axis.
TensorView AnyPlaces(CaseMemory& memory, const Dims& dims, int64_t size) {
  const TensorView places = memory.Input(dims);
  const int64_t floats = places.strides[0] * places.dims[0];
  for (int64_t i = 0; i < floats; ++i) {
    places.data[i] *= 1.2f * static_cast<float>(size);
  }
  return places;
}

void AddGatherElements(Table& table, const std::string& name, int axis, const Dims& input,
                       const Dims& indices) {
  Dims output = input;
  output[static_cast<size_t>(axis)] = indices[static_cast<size_t>(axis)];
  table.Add(name, [=](CaseMemory& memory) {
    const TensorView places = AnyPlaces(memory, indices, input[static_cast<size_t>(axis)]);
    return GatherElementsArgs{axis, memory.Input(input), places, memory.Output(output)};
  });
}

void AddGathers(Table& table) {
  AddGatherElements(table, "gather_elements_of_rows", 2, {2, 3, 40}, {2, 3, 17});
  AddGatherElements(table, "gather_elements_of_columns", 1, {2, 40, 9}, {2, 33, 9});
  AddGatherElements(table, "gather_boxes_by_one_index_each", 1, {1, 90, 6}, {1, 20, 1});
  AddGatherElements(table, "gather_points_of_all_channels", 2, {2, 5, 60}, {2, 1, 30});
  AddGatherElements(table, "gather_elements_of_channels", 1, {2, 19, 5, 6}, {2, 7, 5, 6});
  AddGatherElements(table, "gather_elements_of_map_rows", 2, {2, 19, 5, 6}, {2, 1, 8, 1});
  AddGather(table, "gather_channels", 1, {3, 3, 0, 6}, {2, 7, 6, 5});
  table.Add("gather_many_channels_into_channels", [](CaseMemory& memory) {
    return GatherArgs{1, memory.Indices(Scattered(70, 45)), memory.Map({1, 45, 12, 31}),
                      SliceAxis(memory.OutputMap({1, 80, 12, 31}), 1, 3, 70)};
  });
  AddGather(table, "gather_one_channel", 1, {4}, {2, 7, 6, 5});
  AddGather(table, "gather_images", 0, {2, 0, 2, 1}, {3, 19, 6, 5});
  AddGather(table, "gather_rows_of_a_map", 2, {4, 4, 1, 0, 3, 2, 4}, {2, 19, 5, 5});
  AddGather(table, "gather_columns_of_a_map", 3, {4, 4, 1, 0, 3, 2, 4}, {2, 19, 5, 5});
  AddGather(table, "gather_rows_of_a_matrix", 0, {5, 1, 1}, {6, 40});
  AddGather(table, "gather_many_rows_of_a_matrix", 0, Scattered(90, 50), {50, 300});
  AddGather(table, "gather_along_the_last_axis", 2, Scattered(10000, 64), {1, 2, 64});
  AddGather(table, "gather_along_a_middle_axis", 1, {1, 5, 0}, {2, 6, 3, 4, 5});
}

}  // namespace

void AddPointwise(Table& table) {
  AddElementWise(table);
  AddBinaries(table);
  AddCopies(table);
  AddPads(table);
  AddGathers(table);
}

void AddTimedPointwise(Table& table) {
  const Dims map = {1, 64, 80, 80};
  AddActivation(table, "relu", {Kind::kRelu}, map);
  AddActivation(table, "silu", {Kind::kSilu}, map);
  AddActivation(table, "gelu", {Kind::kGelu}, map);
  AddBinary(table, "add", BinaryKind::kAdd, map, map, map, false, {});
  AddBinary(table, "multiply_by_gate", BinaryKind::kMultiply, map, {1, 64, 1, 1}, map, false, {});
  AddScaleShift(table, "scale_shift_reordering_3_channels", Kind::kIdentity, {1, 3, 224, 224},
                {2, 1, 0});
  table.Add("copy_into_half_the_channels", [map](CaseMemory& memory) {
    return CopyArgs{memory.Map(map), SliceAxis(memory.OutputMap({1, 128, 80, 80}), 1, 64, 64)};
  });
  AddGather(table, "gather_channels_shuffled", 1, Scattered(64, 64), map);
  AddGather(table, "gather_rows_of_an_embedding", 0, Scattered(196, 1000), {1000, 768});
  AddPad(table, "pad_by_one", PadMode::kConstant, {0, 0, 1, 1}, map, {1, 64, 82, 82});
}

}  // namespace cacheinf
