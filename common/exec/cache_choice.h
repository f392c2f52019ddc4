#ifndef CACHEINF_COMMON_EXEC_CACHE_CHOICE_H_
#define CACHEINF_COMMON_EXEC_CACHE_CHOICE_H_

#include <cstddef>
#include <span>
#include <vector>

#include "common/model/graph/graph.h"

// Which values to keep from frame to frame when memory cannot hold all.

namespace cacheinf {

struct CacheChoice {
  std::vector<ValueId> kept;  // for an executor with Keep::kChosen; constants aside
  size_t bytes = 0;           // what that executor allocates for activations, kept or not
  double extra_work = 0.0;  // expected, by ExpectedWork: 0.1 is a tenth more than keeping all takes
};

// Greedy: starts from keeping all values and gives up the one that costs the least expected work
// per byte saved, until activations fit the budget; repeats this with different bounds on the
// memory that given-up values may share, and takes the least work. Never gives up values that must
// be kept (AlwaysKept of stages.h), the input of the first operator among them, or `required` ones.
// If no set fits, returns the smallest one seen. Equal graphs give equal choices. `held_twice`: for
// an executor whose maps can move, what is kept counts twice, though not quite all of it is held
// so.
CacheChoice ChooseCaches(const Graph& graph, size_t budget_bytes,
                         std::span<const ValueId> required = {}, bool held_twice = false);

// The work of a frame in which a rectangle in the middle of the picture has changed, a tenth of it:
// operations and numbers stored. Assumes that every kept map changed in that rectangle alone, as if
// the test for change stopped all growth there; between kept maps changes grow, and what is not
// kept is computed with its halo. `is_kept` as FindStages takes it.
double ExpectedWork(const Graph& graph, const std::vector<bool>& is_kept);

// The memory of activations, constants aside, in one arena: sharing all that can be shared, and
// with all of them kept.
struct CacheMemory {
  size_t no_cache_bytes = 0;
  size_t cache_all_bytes = 0;
};
CacheMemory MemoryOfExtremes(const Graph& graph);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_CACHE_CHOICE_H_
