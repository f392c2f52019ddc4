#include "common/model/heads/head_rows.h"

#include <array>
#include <utility>

namespace cacheinf {
namespace {

// The strides of detectors in use, the commonest first.
const std::array<std::vector<int>, 6> kStridesInUse = {
    {{8, 16, 32}, {8, 16, 32, 64}, {4, 8, 16, 32}, {16, 32}, {8, 16, 32, 64, 128}, {32}}};

// A row with fewer numbers is too short to be a column of boxes.
constexpr int64_t kFewNumbers = 100;

int64_t CellsAlong(int64_t size, int stride) { return (size + stride - 1) / stride; }

// Calls fn(stride, y, x) for every cell in order, anchor by anchor.
template <typename Fn>
void ForEachCell(const PictureSize& picture, const std::vector<int>& strides, int anchors,
                 const Fn& fn) {
  for (const int stride : strides) {
    for (int anchor = 0; anchor < anchors; ++anchor) {
      for (int64_t y = 0; y < CellsAlong(picture.height, stride); ++y) {
        for (int64_t x = 0; x < CellsAlong(picture.width, stride); ++x) fn(stride, y, x);
      }
    }
  }
}

}  // namespace

PictureSize PictureSizeOf(const Graph& graph) {
  if (graph.inputs.empty()) return {};
  const Value& input = graph.value(graph.inputs.front());
  if (!input.is_map()) return {};
  const auto is_channels = [](int64_t size) { return size == 1 || size == 3; };
  if (is_channels(input.shape[3]) && !is_channels(input.shape[1])) {
    return {input.shape[1], input.shape[2]};
  }
  return {input.shape[2], input.shape[3]};
}

int64_t CellCount(const PictureSize& picture, const std::vector<int>& strides) {
  int64_t cells = 0;
  for (const int stride : strides) {
    cells += CellsAlong(picture.height, stride) * CellsAlong(picture.width, stride);
  }
  return cells;
}

std::optional<std::vector<int>> StridesOf(const PictureSize& picture, int64_t cells) {
  if (picture.width == 0) return std::nullopt;
  for (const std::vector<int>& strides : kStridesInUse) {
    if (CellCount(picture, strides) == cells) return strides;
  }
  return std::nullopt;
}

// By chance some coarse grid may have as many cells as a box has numbers, or as a network picks
// boxes. So the commonest grids come first, and a coarse one needs many boxes.
std::optional<BoxRows> BoxRowsOf(const Shape& shape, const PictureSize& picture) {
  const size_t rank = shape.size();
  if (rank < 2 || rank > 3 || (rank == 3 && shape[0] != 1)) return std::nullopt;
  const int64_t first = shape[rank - 2];
  const int64_t last = shape[rank - 1];
  for (const int anchors : {1, 3}) {
    for (const std::vector<int>& strides : kStridesInUse) {
      const bool is_coarse = strides.size() < 3;
      if (anchors == 3 && strides.size() == 1) continue;
      for (const bool is_transposed : {false, true}) {
        const int64_t boxes = is_transposed ? last : first;
        const int64_t numbers = is_transposed ? first : last;
        const bool are_picks = !is_transposed && (boxes == 100 || boxes == 300);
        const bool are_few = boxes < numbers && numbers > kFewNumbers;
        if (is_coarse && (are_picks || are_few)) continue;
        if (picture.width > 0 && anchors * CellCount(picture, strides) == boxes) {
          return BoxRows{boxes, numbers, is_transposed, anchors, strides};
        }
      }
    }
  }
  const bool is_transposed = last > kFewNumbers && last > 4 * first;
  return BoxRows{is_transposed ? last : first, is_transposed ? first : last, is_transposed, 0, {}};
}

ValueId RowBuilder::Add(const char* name, Attributes attributes, std::vector<ValueId> inputs) {
  return graph_.AddOne(name, std::move(attributes), std::move(inputs));
}

ValueId RowBuilder::FromOutput(ValueId output, const BoxRows& rows) {
  const Shape first =
      rows.is_transposed ? Shape{rows.numbers, rows.boxes} : Shape{rows.boxes, rows.numbers};
  if (graph_.value(output).shape != first) output = Add("rows", op::Reshape{first}, {output});
  return rows.is_transposed ? Add("rows", op::Permute{{1, 0}}, {output}) : output;
}

ValueId RowBuilder::FromRawHead(ValueId head, int64_t anchors) {
  const Shape shape = graph_.value(head).shape;
  if (shape.size() == 5) {
    const int64_t boxes = shape[1] * shape[2] * shape[3];
    return Add("rows", op::Reshape{{boxes, shape[4]}}, {head});
  }
  const int64_t numbers = shape[1] / anchors;
  const int64_t cells = shape[2] * shape[3];
  const ValueId split = Add("rows", op::Reshape{{anchors, numbers, cells}}, {head});
  const ValueId turned = Add("rows", op::Permute{{0, 2, 1}}, {split});
  return Add("rows", op::Reshape{{anchors * cells, numbers}}, {turned});
}

ValueId RowBuilder::Columns(ValueId rows, int64_t begin, int64_t size) {
  const int64_t count = graph_.value(rows).shape[0];
  return Add("columns", op::Slice{{0, begin}, {count, size}, {1, 1}}, {rows});
}

ValueId RowBuilder::Joined(std::vector<ValueId> columns) {
  return Add("rows", op::Concat{1}, std::move(columns));
}

ValueId RowBuilder::Stacked(std::vector<ValueId> rows) {
  if (rows.size() == 1) return rows.front();
  return Add("rows", op::Concat{0}, std::move(rows));
}

ValueId RowBuilder::Apply(ValueId rows, Function::Kind function) {
  return Add("rows", op::Activation{Function{function}}, {rows});
}

ValueId RowBuilder::With(ValueId rows, BinaryKind kind, Tensor constant) {
  const ValueId other = graph_.AddConstant("of_rows", std::move(constant));
  return Add("rows", op::Binary{kind, {}}, {rows, other});
}

Tensor RowBuilder::StrideColumn(const PictureSize& picture, const std::vector<int>& strides,
                                int anchors) {
  std::vector<float> column;
  ForEachCell(picture, strides, anchors,
              [&](int stride, int64_t, int64_t) { column.push_back(static_cast<float>(stride)); });
  const auto rows = static_cast<int64_t>(column.size());
  return {{rows, 1}, std::move(column)};
}

Tensor RowBuilder::CellColumns(const PictureSize& picture, const std::vector<int>& strides,
                               float offset, int anchors) {
  std::vector<float> columns;
  ForEachCell(picture, strides, anchors, [&](int, int64_t y, int64_t x) {
    columns.push_back(static_cast<float>(x) + offset);
    columns.push_back(static_cast<float>(y) + offset);
  });
  const auto rows = static_cast<int64_t>(columns.size() / 2);
  return {{rows, 2}, std::move(columns)};
}

}  // namespace cacheinf
