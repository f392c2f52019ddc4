// What a TorchScript module keeps from one call of forward() to the next. Our graph keeps nothing:
// state that is written before it is read is an ordinary value, state that is never read for an
// answer is dropped, and all else is refused.

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include "common/base/error.h"
#include "common/model/torchscript/importer.h"

namespace cacheinf::torchscript {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

// An attribute of any module of its type.
using AttributeName = std::pair<std::string, std::string>;

struct Accesses {
  std::vector<Node*> reads;
  std::vector<Node*> writes;
};

void FindAccesses(Block& block, std::map<AttributeName, Accesses>& found) {
  for (Node* node : block.nodes()) {
    const bool reads = node->kind() == c10::prim::GetAttr;
    if (reads || node->kind() == c10::prim::SetAttr) {
      Accesses& accesses = found[{node->input(0)->type()->repr_str(), node->s(c10::attr::name)}];
      (reads ? accesses.reads : accesses.writes).push_back(node);
    }
    for (Block* inner : node->blocks()) FindAccesses(*inner, found);
  }
}

bool Mutates(const Node& node) {
  return node.maybeSchema() != nullptr && node.schema().is_mutable();
}

// An attribute, known only by what forward() does with it.
class State {
 public:
  explicit State(const Accesses& accesses)
      : reads_(accesses.reads.begin(), accesses.reads.end()),
        writes_(accesses.writes.begin(), accesses.writes.end()) {}

  bool Changes() const {
    return !writes_.empty() || std::any_of(reads_.begin(), reads_.end(), [](const Node* read) {
      const torch::jit::use_list& uses = read->output()->uses();
      return std::any_of(uses.begin(), uses.end(),
                         [](const torch::jit::Use& use) { return Mutates(*use.user); });
    });
  }

  // Whether the attribute is read only to compute what it becomes.
  bool IsUnread() {
    if (!std::all_of(reads_.begin(), reads_.end(), [this](Node* read) { return Add(read); })) {
      return false;
    }
    // A tensor of the picture that was written before must not be changed in place.
    return !is_mutated_ || std::all_of(writes_.begin(), writes_.end(), [this](const Node* write) {
      Node* value = write->input(1)->node();
      return dependents_.count(value) > 0 && Mutates(*value);
    });
  }

  // REQUIRES: IsUnread().
  void Remove() {
    for (Node* write : writes_) write->destroy();
    while (!dependents_.empty()) {
      const auto unused = std::find_if(dependents_.begin(), dependents_.end(),
                                       [](const Node* node) { return !node->hasUses(); });
      Node* node = *unused;
      dependents_.erase(unused);
      node->destroy();
    }
  }

 private:
  bool Add(Node* node) {
    if (!dependents_.insert(node).second) return true;
    for (const Value* output : node->outputs()) {
      for (const torch::jit::Use& use : output->uses()) {
        if (writes_.count(use.user) > 0) continue;
        if (!OnlyComputes(*use.user) || !Add(use.user)) return false;
      }
    }
    return true;
  }

  // Whether the node returns results and changes nothing, except the attribute itself in place.
  bool OnlyComputes(const Node& node) {
    if (!node.kind().is_aten() || !node.blocks().empty() || node.maybeSchema() == nullptr) {
      return false;
    }
    if (!Mutates(node)) return true;
    is_mutated_ = true;
    return reads_.count(node.input(0)->node()) > 0;
  }

  std::unordered_set<Node*> reads_, writes_;
  std::unordered_set<Node*> dependents_;  // the reads, and all nodes that compute with them
  bool is_mutated_ = false;
};

}  // namespace

void RemoveUnreadState(torch::jit::Graph& graph) {
  std::map<AttributeName, Accesses> found;
  FindAccesses(*graph.block(), found);
  for (const auto& [name, accesses] : found) {
    State state(accesses);
    if (state.Changes() && state.IsUnread()) state.Remove();
  }
}

Slot Importer::ReadAttribute(const Node& node, const c10::IValue& object) {
  const std::string& name = node.s(c10::attr::name);
  const AttributeKey key(&object.toObjectRef(), name);
  const auto written = written_attributes_.find(key);
  if (written != written_attributes_.end()) return written->second;
  read_attributes_.insert(key);
  return Slot::Concrete(object.toObjectRef().getAttr(name));
}

void Importer::WriteAttribute(const Node& node, const std::vector<Slot>& arguments) {
  const std::string& name = node.s(c10::attr::name);
  if (!arguments[0].is_concrete() || !arguments[0].concrete.isObject()) {
    Refuse(node, "writes '" + name + "' of an object that is not known");
  }
  const AttributeKey key(&arguments[0].concrete.toObjectRef(), name);
  if (read_attributes_.count(key) > 0) {
    Refuse(node, "changes the attribute '" + name +
                     "' after it was read: what a module keeps from frame to frame is not "
                     "supported");
  }
  written_attributes_[key] = arguments[1];
}

void Importer::RefuseToChangeState(const Node& node, const std::vector<Slot>& arguments) const {
  if (!Mutates(node)) return;
  const std::vector<c10::Argument>& formal = node.schema().arguments();
  for (size_t i = 0; i < std::min(formal.size(), arguments.size()); ++i) {
    const c10::AliasInfo* alias = formal[i].alias_info();
    if (alias == nullptr || !alias->isWrite() || !arguments[i].is_concrete()) continue;
    const c10::IValue& value = arguments[i].concrete;
    const bool has_memory =
        value.isTensor() ? value.toTensor().has_storage() : value.isList() || value.isGenericDict();
    if (!has_memory || state_.count(value) == 0) continue;
    const Node& source = *node.input(i)->node();
    const bool has_name = source.kind() == c10::prim::GetAttr;
    Refuse(node, "changes " +
                     (has_name ? "the attribute '" + source.s(c10::attr::name) + "'"
                               : std::string("a constant")) +
                     " in place: what a module keeps from frame to frame is not supported");
  }
}

}  // namespace cacheinf::torchscript
