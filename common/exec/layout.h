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
  ValueId viewed = kNone;  // the value in whose buffer it lies, if it has no own buffer
  std::array<int64_t, TensorView::kMaxRank> strides = {};
};

// Every value of a graph laid into one arena: maps channels-last, others in the order of their
// dimensions. Values that are not kept share memory, and a view replaces a copy where it can:
//   - a map that is concatenated over channels is computed where it stands in the concatenation;
//   - a reshape that keeps the order in memory, and a slice of a map, is a view of its input.
// So maps may be strided; all other values are contiguous.
struct Layout {
  std::vector<ValuePlace> places;  // one per value
  // One per operator: its outputs are in place without running it.
  std::vector<bool> is_done_by_placement;
  // One per value: its memory is never given to another, or it is a parameter.
  std::vector<bool> is_kept;
  // The order of computation in which everything finds what it needs in the arena.
  std::vector<Stage> stages;

  size_t arena_floats = 0;  // everything
  size_t constant_floats = 0;
  size_t persistent_floats = 0;   // constants included
  size_t lower_bound_floats = 0;  // ArenaPlan::lower_bound_floats
};

// Constants that operators work on, graph inputs, graph outputs and `persistent` values share their
// memory only with values concatenated in them and views of them. With kAll this holds for all
// values. With kAllApart every value has its own buffer and every operator runs.
//
// With kChosen it holds for `persistent` values and those of AlwaysKept, and what would be copied
// into or out of one of them otherwise is kept along with it where it lies. All others are computed
// stage by stage (stages.h). With every value chosen this is kAll.
enum class Keep : uint8_t { kListed, kAll, kAllApart, kChosen };
Layout PlanLayout(const Graph& graph, const std::vector<ValueId>& persistent, Keep keep);

// What PlanLayout keeps with kChosen.
struct KeptValues {
  std::vector<bool> is_kept;    // Layout::is_kept
  std::vector<ValueId> viewed;  // ValuePlace::viewed
  size_t floats = 0;            // Layout::persistent_floats less constant_floats
};
KeptValues FindKept(const Graph& graph, const std::vector<ValueId>& chosen);

// The view of a value in an arena. REQUIRES: its place exists.
TensorView ViewOf(const Graph& graph, const Layout& layout, ValueId value, float* arena);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_LAYOUT_H_
