#include <memory>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <variant>
#include <vector>

#include "common/model/graph/fields.h"
#include "common/model/passes/passes.h"
#include "common/model/passes/rewriter.h"

namespace cacheinf::pass {
namespace {

// The bytes of an operator's kind, attributes and inputs: equal for two operators exactly if they
// compute the same.
class Signature {
 public:
  explicit Signature(const Operator& op) {
    Append(op.attributes.index());
    std::visit([this](const auto& fields) { VisitFields(fields, *this); }, op.attributes);
    Append(op.inputs);
  }

  void operator()(const char*, const auto& field) { Append(field); }

  const std::string& bytes() const { return bytes_; }

 private:
  void Append(const std::string& text) {
    Append(text.size());
    bytes_ += text;
  }
  void Append(const std::shared_ptr<const std::string>& archive) { Append(archive.get()); }
  template <typename T>
  void Append(const std::vector<T>& list) {
    Append(list.size());
    for (const T& element : list) Append(element);
  }
  template <typename T>
  void Append(const T& field) {
    if constexpr (std::is_scalar_v<T>) {
      bytes_.append(reinterpret_cast<const char*>(&field), sizeof(field));
    } else {
      VisitFields(field, *this);
    }
  }

  std::string bytes_;
};

}  // namespace

bool MergeCommon(Graph& graph) {
  Rewriter rewriter(graph);
  std::unordered_map<std::string, OpId> first_of_kind;
  for (OpId id = 0; id < rewriter.operator_count(); ++id) {
    const Operator& op = rewriter.op(id);
    // What LibTorch computes may be random, so it is never merged.
    if (!rewriter.is_alive(id) || op.As<op::Foreign>() != nullptr) continue;
    const auto [first, is_new] = first_of_kind.try_emplace(Signature(op).bytes(), id);
    if (is_new || !rewriter.is_alive(first->second)) {
      first->second = id;
      continue;
    }
    const ValueId same = rewriter.op(first->second).outputs[0];
    // Two graph outputs may be equal; both stay, each with its name.
    if (!rewriter.IsOutput(op.outputs[0])) rewriter.ReplaceByValue(id, same);
  }
  return rewriter.Finish();
}

}  // namespace cacheinf::pass
