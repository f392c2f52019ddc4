#include <limits>
#include <string>
#include <utility>

#include "tests/sparse_ops/case_table.h"

namespace cacheinf {
namespace {

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
  table.Add(name, [=](CaseMemory& memory) {
    if (special) memory.UseSpecialNumbers();
    return PoolArgs{.spec = spec,
                    .input = AsImage(memory.Map({2, kChannels, kHeight, kWidth})),
                    .output = AsImage(memory.OutputMap({2, kChannels, out_height, out_width}))};
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
                [=, h = height, w = width](CaseMemory& memory) {
                  return AdaptivePoolArgs{.kind = kind,
                                          .input = AsImage(memory.Map({2, 21, 9, 37})),
                                          .output = AsImage(memory.OutputMap({2, 21, h, w}))};
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
            [=](CaseMemory& memory) {
              return ResizeArgs{
                  .spec = spec,
                  .input = AsImage(memory.Map({2, 19, 7, 9})),
                  .output = AsImage(memory.OutputMap({2, 19, spec.out_height, spec.out_width}))};
            });
      }
    }
  }
  for (const auto kind : {ResizeSpec::Kind::kNearest, ResizeSpec::Kind::kLinear}) {
    table.Add("resize_" + std::to_string(static_cast<int>(kind)) + "_to_many_columns",
              [=](CaseMemory& memory) {
                return ResizeArgs{.spec = {.kind = kind, .out_height = 5, .out_width = 600},
                                  .input = AsImage(memory.Map({1, 3, 4, 250})),
                                  .output = AsImage(memory.OutputMap({1, 3, 5, 600}))};
              });
  }
}

void AddResizeOfDenormals(Table& table) {
  table.Add("resize_1_of_denormals", [](CaseMemory& memory) {
    memory.Pack();  // then columns are joined
    ResizeArgs args{.spec = {.kind = ResizeSpec::Kind::kLinear,
                             .coordinates = ResizeSpec::Coordinates::kAlignCorners,
                             .out_height = 5,
                             .out_width = 9},
                    .input = AsImage(memory.Map({1, 1, 2, 5})),
                    .output = AsImage(memory.OutputMap({1, 1, 5, 9}))};
    // Halves and quarters of them are zeros that keep the sign.
    for (int y = 0; y < 2; ++y) {
      for (int x = 0; x < 5; ++x) {
        *const_cast<float*>(args.input.Pixel(0, y, x)) =
            static_cast<float>(y - 2) * std::numeric_limits<float>::denorm_min();
      }
    }
    return args;
  });
}

void AddBlocks(Table& table) {
  for (const BlockOrder order : {BlockOrder::kRowsFirst, BlockOrder::kChannelsFirst}) {
    for (const int block : {2, 3}) {
      const std::string suffix = "_block_" + std::to_string(block) +
                                 (order == BlockOrder::kRowsFirst ? "_rows" : "_channels");
      table.Add("depth_to_space" + suffix, [=](CaseMemory& memory) {
        return DepthToSpaceArgs{{block, order, AsImage(memory.Map({2, 5 * block * block, 4, 3})),
                                 AsImage(memory.OutputMap({2, 5, 4 * block, 3 * block}))}};
      });
      table.Add("space_to_depth" + suffix, [=](CaseMemory& memory) {
        return SpaceToDepthArgs{{block, order, AsImage(memory.Map({2, 5, 4 * block, 3 * block})),
                                 AsImage(memory.OutputMap({2, 5 * block * block, 4, 3}))}};
      });
    }
  }
}

}  // namespace

void AddWindows(Table& table) {
  AddPools(table);
  AddResizes(table);
  AddResizeOfDenormals(table);
  AddBlocks(table);
}

void AddTimedWindows(Table& table) {
  for (const PoolSpec::Kind kind : {PoolSpec::Kind::kMax, PoolSpec::Kind::kAverage}) {
    table.Add(kind == PoolSpec::Kind::kMax ? "max_pool_3x3_stride_2" : "average_pool_3x3_stride_2",
              [=](CaseMemory& memory) {
                PoolArgs args;
                args.spec.kind = kind;
                args.spec.rows = args.spec.columns = {3, 2, 1, 1, 1};
                args.input = AsImage(memory.Map({1, 64, 112, 112}));
                args.output = AsImage(memory.OutputMap({1, 64, 56, 56}));
                return args;
              });
  }
  table.Add("adaptive_average_pool_7x7", [](CaseMemory& memory) {
    return AdaptivePoolArgs{.kind = PoolSpec::Kind::kAverage,
                            .input = AsImage(memory.Map({1, 256, 30, 40})),
                            .output = AsImage(memory.OutputMap({1, 256, 7, 7}))};
  });
  for (const auto kind : {ResizeSpec::Kind::kNearest, ResizeSpec::Kind::kLinear}) {
    table.Add(
        kind == ResizeSpec::Kind::kNearest ? "resize_nearest_twofold" : "resize_bilinear_twofold",
        [=](CaseMemory& memory) {
          ResizeArgs args;
          args.spec.kind = kind;
          args.spec.out_height = args.spec.out_width = 80;
          args.input = AsImage(memory.Map({1, 64, 40, 40}));
          args.output = AsImage(memory.OutputMap({1, 64, 80, 80}));
          return args;
        });
  }
  table.Add("depth_to_space_2", [](CaseMemory& memory) {
    return DepthToSpaceArgs{{2, BlockOrder::kRowsFirst, AsImage(memory.Map({1, 128, 40, 40})),
                             AsImage(memory.OutputMap({1, 32, 80, 80}))}};
  });
  table.Add("space_to_depth_2", [](CaseMemory& memory) {
    return SpaceToDepthArgs{{2, BlockOrder::kRowsFirst, AsImage(memory.Map({1, 32, 80, 80})),
                             AsImage(memory.OutputMap({1, 128, 40, 40}))}};
  });
}

}  // namespace cacheinf
