#ifndef CACHEINF_COMMON_EXEC_LAYOUT_H_
#define CACHEINF_COMMON_EXEC_LAYOUT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/exec/stages.h"
#include "common/model/graph/graph.h"
#include "sparse_ops/views.h"

namespace cacheinf {

// Where a value lies in the arena.
struct ValuePlace {
  bool exists = false;     // false: a constant that only parametrises operators
  size_t offset = 0;       // in floats
  ValueId viewed = kNone;  // the value whose buffer it lies in, if it has none of its own
  std::array<int64_t, TensorView::kMaxRank> strides = {};
};

// The place of every value of a graph in one arena: maps channels-last, others in the order of
// their dimensions. Values that are not kept share memory, and views replace copies:
//   - a map that is concatenated over channels is computed in its place in the concatenation;
//   - a reshape that keeps the order in memory, or a slice of a map, is a view of its input.
// So maps may be strided; all other values are contiguous.
struct Layout {
  std::vector<ValuePlace> places;  // one per value
  // One per operator: whether its outputs are in place without running it.
  std::vector<bool> is_done_by_placement;
  // One per value: whether its memory is never given to another, or it is a parameter.
  std::vector<bool> is_kept;
  // In an order in which each stage finds what it needs in the arena.
  std::vector<Stage> stages;

  size_t arena_floats = 0;  // everything
  size_t constant_floats = 0;
  size_t kept_floats = 0;         // constants included
  size_t lower_bound_floats = 0;  // ArenaLayout::lower_bound_floats
};

// Kept values share their memory only with values concatenated in them and views of them. Constants
// that operators work on, graph inputs, graph outputs and `chosen` values are kept. With kAll
// all values are. With kAllApart every value also has its own buffer and every operator runs.
//
// With kChosen `chosen` values and those of AlwaysKept are kept, and so is, in place, what
// would otherwise be copied into or out of one of them. All others are computed stage by stage
// (stages.h). With every value chosen this equals kAll.
enum class Keep : uint8_t { kListed, kAll, kAllApart, kChosen };
Layout MakeLayout(const Graph& graph, const std::vector<ValueId>& chosen, Keep keep);

// What MakeLayout keeps with kChosen.
struct KeptValues {
  std::vector<bool> is_kept;    // Layout::is_kept
  std::vector<ValueId> viewed;  // ValuePlace::viewed
  size_t floats = 0;            // Layout::kept_floats less constant_floats
};
KeptValues FindKept(const Graph& graph, const std::vector<ValueId>& chosen);

// The view of a value in an arena. REQUIRES: its place exists.
TensorView ViewOf(const Graph& graph, const Layout& layout, ValueId value, float* arena);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_LAYOUT_H_
