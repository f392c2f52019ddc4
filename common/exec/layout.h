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
  ValueId viewed = kNone;  // the value in whose buffer it lies, if it has none of its own
  std::array<int64_t, TensorView::kMaxRank> strides = {};
};

// Every value of a graph laid into one arena: maps channels-last, others in the order of their
// dimensions. Values whose numbers need not be kept share memory, and numbers are not copied where
// a view will do:
//   - a map that is concatenated over channels is computed where it stands in the concatenation;
//   - a reshape that keeps the order in memory, and a slice of a map, is a view of its input.
// So maps may be strided; all other values are contiguous.
struct Layout {
  std::vector<ValuePlace> places;  // one a value
  // One an operator: its outputs are where they belong without its being run.
  std::vector<bool> is_done_by_placement;
  // One a value: it lies in memory that is never given to another, or is a parameter.
  std::vector<bool> is_kept;
  // The order in which numbers must be computed to find what they need in the arena.
  std::vector<Stage> stages;

  size_t arena_floats = 0;  // everything
  size_t constant_floats = 0;
  size_t persistent_floats = 0;   // constants included
  size_t lower_bound_floats = 0;  // ArenaPlan::lower_bound_floats
};

// Constants that operators work on, graph inputs, graph outputs and `persistent` values keep their
// memory to themselves, but for the values that are concatenated in them and views of them. With
// kAll this holds for all values. With kAllApart every value has a buffer of its own and each
// operator is run.
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
