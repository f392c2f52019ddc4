#ifndef CACHEINF_COMMON_MODEL_HEADS_HEAD_ROWS_H_
#define CACHEINF_COMMON_MODEL_HEADS_HEAD_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/model/graph/graph.h"

// The shapes of detectors' outputs, and operators on their rows.

namespace cacheinf {

// The sizes of the network's picture; 0 if its first input is none.
struct PictureSize {
  int64_t height = 0;
  int64_t width = 0;
};
PictureSize PictureSizeOf(const Graph& graph);

// Cells of the grids with these strides. A grid's last cells may reach beyond the picture.
int64_t CellCount(const PictureSize& picture, const std::vector<int>& strides);

// The strides in use whose grids have `cells` cells together.
std::optional<std::vector<int>> StridesOf(const PictureSize& picture, int64_t cells);

// An output that holds a row of numbers per box: 1×N×D, N×D, or, transposed, 1×D×N, D×N.
struct BoxRows {
  int64_t boxes = 0;
  int64_t numbers = 0;
  bool is_transposed = false;
  int anchors = 0;           // a cell: 1 or 3; 0: the boxes are not those of a grid
  std::vector<int> strides;  // of the grids
};

// Reads the shape. Where no grid tells boxes from numbers, columns count as boxes only if there are
// far more of them than rows. Nothing if the output is not of this form.
std::optional<BoxRows> BoxRowsOf(const Shape& shape, const PictureSize& picture);

// Builds operators on rows: values of two dimensions.
class RowBuilder {
 public:
  explicit RowBuilder(Graph* graph) : graph_(*graph) {}

  // The output as boxes × numbers.
  ValueId FromOutput(ValueId output, const BoxRows& rows);
  // A raw head of `anchors` × `numbers` channels (a map, or 1×anchors×height×width×numbers) as
  // boxes × numbers, anchor by anchor.
  ValueId FromRawHead(ValueId head, int64_t anchors);

  ValueId Columns(ValueId rows, int64_t begin, int64_t size);
  ValueId Joined(std::vector<ValueId> columns);
  ValueId Stacked(std::vector<ValueId> rows);
  ValueId Apply(ValueId rows, Function::Kind function);
  ValueId With(ValueId rows, BinaryKind kind, Tensor constant);

  // Column (cells × 1) of the cells' strides, and columns (cells × 2) of their places in the grid,
  // times the stride if `in_pixels`; `offset` is where in the cell. Each cell `anchors` times,
  // anchor by anchor within a stride.
  static Tensor StrideColumn(const PictureSize& picture, const std::vector<int>& strides,
                             int anchors = 1);
  static Tensor CellColumns(const PictureSize& picture, const std::vector<int>& strides,
                            float offset, int anchors = 1);

 private:
  ValueId Add(const char* name, Attributes attributes, std::vector<ValueId> inputs);

  Graph& graph_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_HEADS_HEAD_ROWS_H_
