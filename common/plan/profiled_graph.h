#ifndef CACHEINF_COMMON_PLAN_PROFILED_GRAPH_H_
#define CACHEINF_COMMON_PLAN_PROFILED_GRAPH_H_

#include <string>
#include <vector>

#include "common/exec/layout.h"
#include "common/model/graph/graph.h"
#include "common/plan/profile.h"

namespace cacheinf {

// Describes a network for planners, without costs: one entry per operator of the graph, in its
// order.
std::vector<ProfiledOperator> DescribeOperators(const Graph& graph, const Layout& layout);

// Throws InputError, which says what to do, if the operators are not the graph's. `name` says where
// they are from.
void CheckAreOf(const std::vector<ProfiledOperator>& operators, const std::string& name,
                const Graph& graph, const Layout& layout);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PLAN_PROFILED_GRAPH_H_
