#include "common/pair/likeness.h"

#include <xxhash.h>

#include <concepts>
#include <cstddef>
#include <string_view>
#include <utility>
#include <variant>

#include "common/exec/model_state.h"
#include "common/model/graph/pack.h"
#include "common/plan/split.h"

namespace cacheinf {
namespace {

class Hash {
 public:
  void Add(std::string_view text) {
    Add(text.size());
    value_ = XXH3_64bits_withSeed(text.data(), text.size(), value_);
  }
  void Add(std::integral auto number) {
    const auto wide = static_cast<uint64_t>(number);
    value_ = XXH3_64bits_withSeed(&wide, sizeof(wide), value_);
  }
  void Add(float number) { value_ = XXH3_64bits_withSeed(&number, sizeof(number), value_); }
  void Add(const Range& rows) {
    Add(rows.begin);
    Add(rows.end);
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0;
};

void AddLayout(const Layout& layout, Hash& hash) {
  for (size_t id = 0; id < layout.places.size(); ++id) {
    hash.Add(layout.is_kept[id]);
    hash.Add(layout.places[id].viewed);
  }
  for (const Stage& stage : layout.stages) {
    hash.Add(stage.root);
    for (const OpId op : stage.inner) hash.Add(op);
  }
}

// Adds the rows that cross in a frame in which everything is active.
void AddRows(const ModelState& state, const std::vector<Cut>& cuts, Hash& hash) {
  const Graph& graph = state.graph();
  Mask all(graph.picture.height, graph.picture.width);
  SetAll(all);
  const SplitRows rows =
      RowCompiler(graph, state.layout()).Compile(cuts, RobotRowsOf(cuts, std::as_const(all)));
  for (const Transfer& transfer : rows.transfers) {
    hash.Add(transfer.after_stages);
    hash.Add(transfer.value);
    hash.Add(transfer.rows);
    hash.Add(static_cast<int>(transfer.from));
  }
}

void AddSchemes(const Graph& graph, Hash& hash) {
  for (const Operator& node : graph.operators) {
    const auto* const conv = std::get_if<op::Conv>(&node.attributes);
    hash.Add(conv == nullptr ? 0 : static_cast<int>(conv->scheme));
  }
}

}  // namespace

Likeness LikenessOf(const ModelState& state, const std::vector<Cut>& cuts,
                    const ChangePolicy& policy) {
  Hash hash;
  hash.Add(DefinitionChecksum(state.graph()));
  AddLayout(state.layout(), hash);
  AddRows(state, cuts, hash);
  Likeness likeness;
  likeness.rows = hash.value();
  hash.Add(state.backend().Arithmetic());
  AddSchemes(state.graph(), hash);
  hash.Add(static_cast<int>(policy.kind));
  hash.Add(policy.threshold);
  hash.Add(policy.growth);
  hash.Add(policy.stem_depth);
  likeness.bits = hash.value();
  return likeness;
}

std::string WhyUnlike(const Likeness& one, const Likeness& other, const ChangePolicy& policy) {
  const char* what = nullptr;
  if (policy.kind == ChangePolicy::Kind::kExact && one.bits != other.bits) {
    what = "does not compute the same bits";
  }
  if (one.rows != other.rows) what = "does not cut a frame into the same rows";
  if (what == nullptr) return "";
  return std::string("the server's CacheInf ") + what + ": install the same on both";
}

}  // namespace cacheinf
