#ifndef CACHEINF_COMMON_EXEC_SCROLL_H_
#define CACHEINF_COMMON_EXEC_SCROLL_H_

#include <vector>

#include "common/model/graph/graph.h"
#include "sparse_ops/views.h"

// What stored maps become when the picture moves by whole strides: a network whose windows are the
// same everywhere gives the same features, elsewhere.

namespace cacheinf {

// How far the picture moves, or a map with it: pixel (y, x) now shows what (y + rows, x + columns)
// showed before.
struct Shift {
  int rows = 0;
  int columns = 0;

  bool is_zero() const { return rows == 0 && columns == 0; }
};

// What is still valid of a value's stored numbers.
struct ShiftedMap {
  // Whether there is a shift; if not, nothing of the value can be kept.
  bool is_known = false;
  Shift shift;
  // The pixels that, once the map is shifted, hold what a run would give, unless a pixel that they
  // read changes: their windows lay within the picture before and still do.
  Range kept_rows;
  Range kept_columns;
};

// Returns one per value; graph inputs are the picture itself. A value that is not a map over the
// picture has no known shift.
std::vector<ShiftedMap> ShiftMaps(const Graph& graph, const Shift& picture);

// The smallest shift along both axes that moves every map over the picture by whole pixels (and by
// whole tiles, where maps are computed in tiles), or 0 if it would exceed `largest`.
int ShiftStep(const Graph& graph, int largest);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_SCROLL_H_
