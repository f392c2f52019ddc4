#include "common/model/onnx/onnx.h"

#include <onnx/onnx_pb.h>

#include <unordered_set>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/model/onnx/node.h"
#include "common/model/onnx/notes.h"
#include "common/model/onnx/operators.h"
#include "common/model/onnx/order.h"
#include "common/model/onnx/size.h"
#include "common/model/onnx/tensor.h"

namespace cacheinf {
namespace {

using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::TensorProto;

constexpr int64_t kOldestOpset = 9;
constexpr int64_t kNewestOpset = 18;
constexpr size_t kLongestFile = INT32_MAX;

int64_t OperatorSet(const ModelProto& model) {
  int64_t opset = 0;
  for (const onnx::OperatorSetIdProto& import : model.opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") opset = import.version();
  }
  if (opset < kOldestOpset || opset > kNewestOpset) {
    throw InputError("its operator set " + std::to_string(opset) + " is not one of " +
                     std::to_string(kOldestOpset) + " to " + std::to_string(kNewestOpset) +
                     ", which are supported");
  }
  return opset;
}

// Sizes of the files beside the model that hold its weights.
int64_t ExternalBytes(const GraphProto& graph, const std::filesystem::path& folder) {
  std::unordered_set<std::string> locations;
  for (const TensorProto& tensor : graph.initializer()) {
    if (tensor.data_location() != TensorProto::EXTERNAL) continue;
    for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
      if (entry.key() == "location") locations.insert(entry.value());
    }
  }
  int64_t bytes = 0;
  for (const std::string& location : locations) {
    std::error_code error;
    const auto size = std::filesystem::file_size(folder / location, error);
    if (!error) bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

class ModelImporter {
 public:
  ModelImporter(ModelProto& model, std::filesystem::path folder, const LoadOptions& options)
      : model_(model),
        options_(options),
        import_{Graph{}, OperatorSet(model), std::move(folder), ByteBudget(0), {}} {
    const int64_t bytes =
        static_cast<int64_t>(model.ByteSizeLong()) + ExternalBytes(model.graph(), import_.folder);
    import_.budget = ByteBudget(kFreeBytes + 4 * bytes);
  }

  Graph Run() {
    GraphProto& graph = *model_.mutable_graph();
    import_.graph.name = graph.name();
    if (graph.output_size() == 0) throw InputError("it has no output");
    AddInputs(graph);
    ConvertGraph(graph);
    for (const onnx::ValueInfoProto& output : graph.output()) CheckOutput(output.name());
    AddOutputs(graph);
    import_.graph.Validate();
    return std::move(import_.graph);
  }

 private:
  // ---- Inputs ----

  void AddInputs(const GraphProto& graph) {
    std::unordered_set<std::string> initializers;
    for (const TensorProto& tensor : graph.initializer()) initializers.insert(tensor.name());
    std::unordered_set<std::string> seen;
    size_t number = 0;
    for (const onnx::ValueInfoProto& input : graph.input()) {
      if (input.name().empty()) throw InputError("an input has no name");
      if (!seen.insert(input.name()).second) {
        throw InputError("input '" + input.name() + "' appears twice");
      }
      if (initializers.count(input.name())) continue;  // a weight: old files list them here, too
      const bool given = number < options_.input_shapes.size();
      AddInput(input, given ? &options_.input_shapes[number] : nullptr);
      ++number;
    }
    if (number == 0) throw InputError("it has no input");
    if (options_.input_shapes.size() > number) {
      throw InputError(std::to_string(options_.input_shapes.size()) +
                       " input shapes are given for " + std::to_string(number) + " input(s)");
    }
  }

  void AddInput(const onnx::ValueInfoProto& input, const Shape* given) {
    const std::string what = "input '" + input.name() + "'";
    if (!input.type().has_tensor_type() && input.type().value_case() != 0) {
      throw InputError(what + " is not a tensor");
    }
    const onnx::TypeProto::Tensor& type = input.type().tensor_type();
    switch (type.elem_type()) {
      case TensorProto::UNDEFINED:
      case TensorProto::FLOAT:
      case TensorProto::DOUBLE:
      case TensorProto::FLOAT16:
      case TensorProto::BFLOAT16:
        break;
      default:
        throw InputError(what + " has elements of type " + ElementTypeName(type.elem_type()) +
                         ", only floating-point numbers are supported");
    }
    Shape shape;
    if (type.has_shape()) {
      shape = ResolvedShape(type.shape(), given, what);
    } else if (given != nullptr) {
      shape = *given;
    } else {
      throw InputError(what + " has no shape in the file, so it must be given");
    }
    if (shape.size() > TensorView::kMaxRank) {
      throw InputError(what + " has " + std::to_string(shape.size()) + " dimensions");
    }
    if (CheckedCount(shape, what) == 0) throw InputError(what + " has a dimension of 0");
    import_.values[input.name()].id = import_.graph.AddInput(input.name(), std::move(shape));
  }

  Shape ResolvedShape(const onnx::TensorShapeProto& declared, const Shape* given,
                      const std::string& what) {
    if (given != nullptr && static_cast<int>(given->size()) != declared.dim_size()) {
      throw InputError(what + " has " + std::to_string(declared.dim_size()) +
                       " dimensions, but shape " + ToString(*given) + " is given");
    }
    Shape shape;
    for (int i = 0; i < declared.dim_size(); ++i) {
      const onnx::TensorShapeProto::Dimension& dim = declared.dim(i);
      const bool is_fixed = dim.has_dim_value() && dim.dim_value() != -1;
      const int64_t wanted = given != nullptr ? (*given)[static_cast<size_t>(i)] : kNone;
      const std::string where = "dimension " + std::to_string(i) + " of " + what;
      if (is_fixed) {
        if (given != nullptr && wanted != dim.dim_value()) {
          throw InputError(where + " is " + std::to_string(dim.dim_value()) + " in the file, but " +
                           std::to_string(wanted) + " is given");
        }
        shape.push_back(dim.dim_value());
      } else {
        // PaddlePaddle writes "?" for every open dimension.
        const std::string name = dim.dim_param() == "?" ? "" : dim.dim_param();
        shape.push_back(OpenDimension(name, given != nullptr, wanted, i == 0, where));
      }
    }
    return shape;
  }

  // Dimensions that share a name in the file share their size.
  int64_t OpenDimension(const std::string& name, bool is_given, int64_t given, bool is_batch,
                        const std::string& where) {
    const auto known = name.empty() ? named_dimensions_.end() : named_dimensions_.find(name);
    if (known != named_dimensions_.end()) {
      if (is_given && given != known->second) {
        throw InputError(where + " is '" + name + "', which is " + std::to_string(known->second) +
                         ", but " + std::to_string(given) + " is given");
      }
      return known->second;
    }
    if (!is_given && !is_batch) {
      throw InputError(where + (name.empty() ? "" : " ('" + name + "')") +
                       " is open in the file, so the input's shape must be given");
    }
    const int64_t size = is_given ? given : 1;
    if (!name.empty()) named_dimensions_[name] = size;
    return size;
  }

  // ---- Nodes ----

  void ConvertGraph(GraphProto& graph) {
    std::unordered_set<std::string> initializers;
    for (const TensorProto& tensor : graph.initializer()) {
      if (tensor.name().empty()) throw InputError("an initializer has no name");
      if (import_.values.count(tensor.name()) || !initializers.insert(tensor.name()).second) {
        throw InputError("initializer '" + tensor.name() + "' is defined twice");
      }
    }
    if (graph.sparse_initializer_size() > 0) {
      throw InputError("sparse initializer '" + graph.sparse_initializer(0).values().name() +
                       "' is not supported");
    }
    const auto is_known = [this, &initializers](const std::string& name) {
      return import_.values.count(name) > 0 || initializers.count(name) > 0;
    };
    const std::vector<int> order = NodesInOrder(graph, is_known);
    ReadInitializers(graph, order);
    for (int index : order) ConvertNode(*graph.mutable_node(index));
  }

  // Reads the weights that the nodes in `order`, or the outputs, need.
  void ReadInitializers(GraphProto& graph, const std::vector<int>& order) {
    std::unordered_set<std::string> needed;
    for (int index : order) {
      for (std::string& name : NamesRead(graph.node(index))) needed.insert(std::move(name));
    }
    for (const onnx::ValueInfoProto& output : graph.output()) needed.insert(output.name());
    for (TensorProto& tensor : *graph.mutable_initializer()) {
      if (!needed.count(tensor.name())) continue;
      HostTensor constant = ReadTensor(tensor, import_.folder, import_.budget);
      import_.values[tensor.name()] = OnnxValue{kNone, std::move(constant)};
    }
  }

  void ConvertNode(NodeProto& proto) {
    const std::string what = DescribeNode(proto);
    try {
      OnnxNode node(import_, proto);
      if (!proto.domain().empty() && proto.domain() != "ai.onnx") {
        node.Fail("operators of domain '" + proto.domain() + "' are not supported");
      }
      if (proto.op_type() == "If") {
        InlineIf(node);
      } else {
        ConvertOperator(node);
      }
      node.CheckAllAttributesUsed();
    } catch (const InputError& error) {
      throw InputError(what + ": " + error.what());
    }
  }

  static void ConvertOperator(OnnxNode& node) {
    const OnnxOperator* known = FindOnnxOperator(node.type());
    if (known == nullptr) node.Fail("an operator of this type is not supported");
    const bool reads_shape_only = node.type() == "Shape" || node.type() == "Size";
    if (reads_shape_only || node.AllInputsConstant()) {
      if (!known->fold) node.Fail("all its inputs are constants, which is not supported");
      return known->fold(node);
    }
    if (!known->convert) node.Fail("an operator of this type is only supported among constants");
    for (int i = 0; i < node.input_count(); ++i) {
      if (node.HasInput(i) && !node.IsConstant(i) && node.IsInteger(i) && !known->takes_integers) {
        node.Fail("input number " + std::to_string(i + 1) +
                  " holds integers, and arithmetic on integers is only supported among constants");
      }
    }
    known->convert(node);
  }

  // Replaces an If by the nodes of the branch that is taken.
  void InlineIf(OnnxNode& node) {
    if (!node.IsConstant(0)) node.Fail("its condition is not a constant");
    const HostTensor& condition = node.Constant(0);
    if (condition.type() != HostTensor::Type::kBool || condition.count() != 1) {
      node.Fail("its condition is not one truth value");
    }
    const bool is_true = condition.integers()[0] != 0;
    GraphProto& branch = node.GraphAttribute(is_true ? "then_branch" : "else_branch");
    node.Ignore(is_true ? "else_branch" : "then_branch");
    if (branch.output_size() != node.output_count()) node.Fail("its branch has other outputs");
    ConvertGraph(branch);
    for (int i = 0; i < branch.output_size(); ++i) {
      const std::string& name = branch.output(i).name();
      CheckOutput(name);
      node.SetOutput(i, OnnxValue(import_.values.at(name)));
    }
    // A branch's names mean nothing outside it.
    for (const TensorProto& tensor : branch.initializer()) import_.values.erase(tensor.name());
    for (const NodeProto& inner : branch.node()) {
      for (const std::string& output : inner.output()) import_.values.erase(output);
    }
  }

  // ---- Outputs ----

  void CheckOutput(const std::string& name) const {
    if (!import_.values.count(name)) {
      throw InputError("output '" + name + "' is one that its node does not give here");
    }
  }

  // Every output keeps its name: a value with another name is renamed, or copied if that name is
  // needed too.
  void AddOutputs(const GraphProto& graph) {
    std::unordered_set<std::string> names;
    std::unordered_set<ValueId> taken;
    for (const onnx::ValueInfoProto& output : graph.output()) {
      if (!names.insert(output.name()).second) {
        throw InputError("output '" + output.name() + "' appears twice");
      }
      const OnnxValue& value = import_.values.at(output.name());
      if (value.constant) {
        throw InputError("output '" + output.name() + "' does not depend on any input");
      }
      if (import_.graph.value(value.id).name == output.name()) taken.insert(value.id);
    }
    for (const onnx::ValueInfoProto& output : graph.output()) {
      ValueId id = import_.values.at(output.name()).id;
      const bool is_input = import_.graph.value(id).producer == kNone;
      const bool is_free = !is_input && taken.insert(id).second;
      if (is_free) {
        import_.graph.values[static_cast<size_t>(id)].name = output.name();
      } else if (is_input || import_.graph.value(id).name != output.name()) {
        id = import_.graph.Add(output.name(), op::Activation{}, {id}, {output.name()}).front();
      }
      import_.graph.outputs.push_back(id);
    }
  }

  ModelProto& model_;
  const LoadOptions& options_;
  OnnxImport import_;
  std::unordered_map<std::string, int64_t> named_dimensions_;
};

// A message on one line of limited length, whatever names the file puts into it.
std::string Printable(std::string text) {
  constexpr size_t kLongest = 400;
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) c = '?';
  }
  if (text.size() > kLongest) {
    text = text.substr(0, kLongest / 2) + " ... " + text.substr(text.size() - kLongest / 2);
  }
  return text;
}

ModelProto Parse(std::string_view bytes) {
  if (bytes.size() > kLongestFile) throw InputError("is longer than 2 GiB, the most ONNX allows");
  CheckParsedSize(bytes);
  ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !model.has_graph()) {
    throw InputError("is not an ONNX model, or is damaged");
  }
  return model;
}

Graph Import(ModelProto& model, std::filesystem::path folder, const std::string& name,
             const LoadOptions& options) {
  Graph graph = ModelImporter(model, std::move(folder), options).Run();
  OnnxNotes read = ReadNotes(model);
  graph.notes = std::move(read.notes);
  std::string faults;
  for (const std::string& fault : read.faults) faults += (faults.empty() ? "" : "; ") + fault;
  if (!faults.empty()) LogWarning(name + ": left out of the file's metadata: " + faults);
  return graph;
}

// Runs an import, and puts the file's name before what it refuses.
template <typename Importing>
Graph Named(const std::string& name, Importing import) {
  try {
    return import();
  } catch (const InputError& error) {
    throw InputError(name + ": " + Printable(error.what()));
  }
}

}  // namespace

Graph ImportOnnx(const std::filesystem::path& path, const LoadOptions& options) {
  MappedFile file = MapFile(path);
  return Named(path.string(), [&] {
    ModelProto model = Parse({reinterpret_cast<const char*>(file.data.get()), file.size});
    file = {};
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    return Import(model, folder, path.string(), options);
  });
}

Graph ImportOnnxBytes(std::string_view bytes, const std::string& name, const LoadOptions& options) {
  return Named(name, [&] {
    ModelProto model = Parse(bytes);
    return Import(model, {}, name, options);
  });
}

}  // namespace cacheinf
