#ifndef CACHEINF_COMMON_EXEC_CACHE_CHOICE_H_
#define CACHEINF_COMMON_EXEC_CACHE_CHOICE_H_

#include <cstddef>
#include <span>
#include <vector>

#include "common/model/graph/graph.h"

// Which values to keep from frame to frame when memory cannot hold all.

namespace cacheinf {

struct CacheChoice {
  std::vector<ValueId> kept;  // for a state with Keep::kChosen; without constants
  size_t bytes = 0;           // what that state allocates for activations, kept or not
  double extra_work = 0.0;    // by ExpectedWork: 0.1 is a tenth more than if all were kept
};

// Greedy: begins with all values kept and gives up the one that costs the least expected work per
// byte saved, until activations fit the budget. Repeats this with different bounds on the memory
// that given-up values may share, and returns the choice with the least work, or the smallest one
// seen if none fits. Never gives up values that must be kept (AlwaysKept of stages.h), the first
// operator's input among them, or `required` ones. Equal graphs give equal choices. `held_twice` is
// for a state whose maps can move: kept values count twice, though not quite all are held twice.
CacheChoice ChooseCaches(const Graph& graph, size_t budget_bytes,
                         std::span<const ValueId> required = {}, bool held_twice = false);

// The work (operations, and numbers stored) of a frame in which a rectangle in the middle has
// changed, a tenth of the picture. Assumes that every kept map changed in that rectangle alone, as
// if the change test stopped all growth there; between kept maps changes grow, and what is not kept
// is computed with its halo. `is_kept` is as for FindStages.
double ExpectedWork(const Graph& graph, const std::vector<bool>& is_kept);

// The memory of activations in one arena, without constants: sharing all that can be shared, and
// with all of them kept.
struct CacheMemory {
  size_t no_cache_bytes = 0;
  size_t cache_all_bytes = 0;
};
CacheMemory MemoryOfExtremes(const Graph& graph);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_CACHE_CHOICE_H_
