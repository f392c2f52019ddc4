#ifndef CACHEINF_COMMON_MODEL_TORCHSCRIPT_IMPORTER_H_
#define CACHEINF_COMMON_MODEL_TORCHSCRIPT_IMPORTER_H_

// Internal to the TorchScript importer, because it includes LibTorch.

#include <torch/csrc/jit/api/module.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/model/graph/graph.h"
#include "common/model/graph/load_options.h"

namespace cacheinf {

class ForeignOperator;

}  // namespace cacheinf

namespace cacheinf::torchscript {

// What a TorchScript value is during import.
struct Slot {
  enum class Kind : uint8_t {
    kConcrete,    // known now: a number, a string, a weight, a shape
    kTensor,      // computed from the picture: `value` in our graph
    kCollection,  // list, tuple or dictionary that holds something computed from the picture
  };
  Kind kind = Kind::kConcrete;
  c10::IValue concrete = {};
  ValueId value = kNone;
  std::vector<Slot> elements = {};
  std::vector<std::string> keys = {};  // of a dictionary, one per element
  int64_t identity = 0;                // of a collection: slots with equal identity are one object

  static Slot Concrete(c10::IValue value) { return {.concrete = std::move(value)}; }
  static Slot OfTensor(ValueId value) { return {.kind = Kind::kTensor, .value = value}; }
  static Slot Collection(std::vector<Slot> elements);

  bool is_concrete() const { return kind == Kind::kConcrete; }
  bool is_tensor() const { return kind == Kind::kTensor; }
};

// See libtorch.h and torchscript.h.
Graph Import(const std::filesystem::path& path, const LoadOptions& options);
std::unique_ptr<ForeignOperator> MakeForeignOperator(const Operator& op);

// The elements of a list, tuple or collection; nothing for anything else.
std::optional<std::vector<Slot>> ElementsOf(const Slot& slot);

// The text of a LibTorch exception as one sentence, without its backtrace.
std::string OneSentence(const std::exception& error);

Tensor ToTensor(const at::Tensor& tensor);

class Importer;

// A call of a TorchScript operator with resolved arguments.
class Call {
 public:
  Call(Importer& importer, const torch::jit::Node& node, std::vector<Slot> arguments);

  const torch::jit::Node& node() const { return node_; }
  const std::vector<Slot>& arguments() const { return arguments_; }
  size_t size() const { return arguments_.size(); }

  bool IsNone(size_t i) const;
  bool IsNumber(size_t i) const;  // a concrete number, or a concrete tensor of one element
  bool IsConcreteTensor(size_t i) const;
  bool IsTruth(size_t i) const;  // a tensor of truth values
  int64_t Int(size_t i) const;
  double Double(size_t i) const;
  bool Bool(size_t i) const;
  std::string String(size_t i) const;
  std::vector<int64_t> Ints(size_t i) const;  // a single number counts as a list of one
  std::vector<double> Doubles(size_t i) const;
  at::Tensor WeightTensor(size_t i) const;  // REQUIRES: IsConcreteTensor(i)
  std::optional<size_t> ArgumentIndex(const std::string& name) const;

  // The value of an argument in our graph; concrete tensors and numbers become constants.
  ValueId Value(size_t i);
  const Shape& ShapeOf(size_t i);
  int Axis(size_t i, size_t rank) const;  // negative axes count from the end

  // Elements of a list argument as values.
  std::vector<ValueId> Values(size_t i);

  ValueId Constant(Tensor tensor);
  ValueId Scalar(double number);
  ValueId Emit(Attributes attributes, std::vector<ValueId> inputs);
  // The same as a converter's result; of the first argument if no inputs are given.
  Slot Result(Attributes attributes, std::vector<ValueId> inputs = {});
  const Graph& graph() const;

 private:
  Importer& importer_;
  const torch::jit::Node& node_;
  std::vector<Slot> arguments_;
};

// Translates an operator into ours. Returns a tensor, a collection for several results, or nothing
// if our set lacks this form of the operator, which then stays a LibTorch call.
using Converter = std::optional<Slot> (*)(Call& call);

// What converters return for a form of their operator that our set lacks.
inline constexpr std::nullopt_t kStaysForeign = std::nullopt;

// REQUIRES: fits an int; throws InputError if not.
int ToInt(int64_t number);

struct NamedConverter {
  std::string_view name;
  Converter converter;
};

// The operators that compute, and those that only move or rename numbers.
std::span<const NamedConverter> ComputingConverters();
std::span<const NamedConverter> MovingConverters();

// The converter of an operator by its name ("aten::conv2d"; in-place names without their
// underscore); null if there is none.
Converter FindConverter(std::string_view name);

// A TorchScript archive whose forward() computes `node` from the arguments that are not concrete.
// `input_types` are their element types, to which the archive casts its float inputs. If there are
// several results, it returns those with `is_kept`.
std::shared_ptr<const std::string> MakeForeignArchive(
    const torch::jit::Node& node, const std::vector<Slot>& arguments,
    const std::vector<at::ScalarType>& input_types, const std::vector<bool>& is_kept);

// Removes from an inlined graph the changes to module attributes that no answer depends on
// (counters, say).
void RemoveUnreadState(torch::jit::Graph& graph);

class Importer {
 public:
  Importer(std::string model_name, std::vector<Shape> input_shapes);

  Graph Run(const torch::jit::Graph& source, const torch::jit::Module& module);

  Graph& graph() { return graph_; }
  std::string NameOf(const torch::jit::Node& node);

  at::ScalarType TypeOf(ValueId value) const;  // as LibTorch sees it

 private:
  using Block = torch::jit::Block;
  using Node = torch::jit::Node;

  void RunBlock(const Block& block);
  void RunNode(const Node& node);
  void RunIf(const Node& node);
  void RunLoop(const Node& node);
  bool RunMethod(const Node& node, const std::vector<Slot>& arguments);
  void RunAtenCall(const Node& node, std::vector<Slot> arguments);
  void RunForeign(const Node& node, const std::vector<Slot>& arguments);
  bool RunStructural(const Node& node, const std::vector<Slot>& arguments);
  bool RunContainerQuery(const Node& node, const std::vector<Slot>& arguments);
  bool RunQuery(const Node& node, const std::vector<Slot>& arguments);
  bool RunConcrete(const Node& node, const std::vector<Slot>& arguments);

  // The module's attributes (torchscript_state.cc).
  Slot ReadAttribute(const Node& node, const c10::IValue& object);
  void WriteAttribute(const Node& node, const std::vector<Slot>& arguments);
  // Throws InputError if an operator changes in place anything that the module keeps between
  // frames.
  void RefuseToChangeState(const Node& node, const std::vector<Slot>& arguments) const;

  // Writing in place (torchscript_writes.cc).
  bool RunListWrite(const Node& node, const std::vector<Slot>& arguments);
  // Remembers the tensors of `result` that show the memory of `source` as its views.
  void NoteViews(const Node& node, const Slot& source, Slot& result);
  // Makes `result` the value of `target`, and updates its other names, its views, and the value
  // that it is a view of. Returns the value that replaces it.
  ValueId Overwrite(const Node& node, const Slot& target, ValueId result);
  ValueId Update(const Node& node, ValueId old, ValueId fresh);
  void UpdateViews(const Node& node, ValueId old, ValueId fresh);
  void Rename(ValueId old, ValueId fresh);
  std::optional<std::vector<OpId>> ViewPath(ValueId view) const;
  ValueId Reapply(const Node& node, const std::vector<OpId>& path, ValueId parent);
  std::optional<ValueId> WriteBack(const Node& node, const std::vector<OpId>& path, ValueId view);
  std::vector<ValueId> FamilyOf(ValueId value) const;
  bool IsWritable(ValueId member) const;
  bool LiesInOrder(ValueId value) const;
  bool IsReadAfter(ValueId value, const Node& node) const;

  void Bind(const Node& node, Slot slot);
  void AddOutputs(const Slot& slot, const std::string& name);

  const Slot& Find(const torch::jit::Value& value) const;
  [[noreturn]] void Refuse(const Node& node, const std::string& why) const;

  std::vector<Shape> input_shapes_;
  Graph graph_;
  std::unordered_map<const torch::jit::Value*, Slot> slots_;
  std::unordered_map<ValueId, at::ScalarType>
      foreign_types_;  // of results of LibTorch calls that are not floats
  std::unordered_map<std::string, int> name_counts_;

  using AttributeKey = std::pair<const c10::ivalue::Object*, std::string>;
  std::map<AttributeKey, Slot> written_attributes_;
  std::set<AttributeKey> read_attributes_;                  // read before they were written
  c10::IValue::HashAliasedIValues state_;                   // everything in the module's memory
  std::vector<std::shared_ptr<torch::jit::Graph>> called_;  // methods that could not be inlined

  struct View {
    ValueId parent;
    bool is_certain;  // false: LibTorch may have made a copy instead
  };
  std::unordered_map<ValueId, View> views_;
};

}  // namespace cacheinf::torchscript

#endif  // CACHEINF_COMMON_MODEL_TORCHSCRIPT_IMPORTER_H_
