#ifndef CACHEINF_COMMON_PLAN_PROFILED_GRAPH_H_
#define CACHEINF_COMMON_PLAN_PROFILED_GRAPH_H_

#include <vector>

#include "common/exec/layout.h"
#include "common/model/graph/graph.h"
#include "common/plan/profile.h"

namespace cacheinf {

// What a network is like, as planners see it, without a cost: one for every operator of the graph,
// in its order.
std::vector<ProfiledOperator> DescribeOperators(const Graph& graph, const Layout& layout);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PLAN_PROFILED_GRAPH_H_
