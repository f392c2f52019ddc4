#include <map>
#include <utility>
#include <vector>

#include "common/model/passes/passes.h"
#include "common/model/passes/rewriter.h"

namespace cacheinf::pass {
namespace {

// An axis, and the values concatenated along it.
using Parts = std::pair<int, std::vector<ValueId>>;

}  // namespace

bool NestConcats(Graph& graph) {
  Rewriter rewriter(graph);
  std::map<Parts, ValueId> whole_of;
  for (OpId id = 0; id < rewriter.operator_count(); ++id) {
    const auto* concat = rewriter.is_alive(id) ? rewriter.op(id).As<op::Concat>() : nullptr;
    if (concat == nullptr) continue;
    const std::vector<ValueId> parts = rewriter.op(id).inputs;
    whole_of.try_emplace({concat->axis, parts}, rewriter.op(id).outputs[0]);

    for (auto rest = parts.end() - 1; rest - parts.begin() >= 2; --rest) {
      const auto nested = whole_of.find({concat->axis, {parts.begin(), rest}});
      if (nested == whole_of.end()) continue;
      std::vector<ValueId> inputs = {nested->second};
      inputs.insert(inputs.end(), rest, parts.end());
      rewriter.Replace(id, op::Concat{concat->axis}, std::move(inputs));
      break;
    }
  }
  return rewriter.Finish();
}

}  // namespace cacheinf::pass
