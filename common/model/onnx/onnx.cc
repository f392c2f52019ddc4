#include "common/model/onnx/onnx.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
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
constexpr int64_t kNewestOpset = 22;
constexpr size_t kLongestFile = INT32_MAX;

int64_t OperatorSet(const ModelProto& model) {
  int64_t opset = 0;
  for (const onnx::OperatorSetIdProto& import : model.opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") opset = import.version();
  }
  if (opset < kOldestOpset || opset > kNewestOpset) {
    throw InputError("its operator set ", opset, " is not one of ", kOldestOpset, " to ",
                     kNewestOpset, ", which are supported");
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
  ModelImporter(ModelProto& model, const ModelNotes& notes, std::filesystem::path folder,
                const LoadOptions& options)
      : model_(model),
        notes_(notes),
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
    try {
      ConvertGraph(graph);
      for (const onnx::ValueInfoProto& output : graph.output()) CheckOutput(output.name());
      if (replaced_batch_) CheckShapesWithoutBatch(graph);
    } catch (const InputError& error) {
      const std::string what = error.what();
      if (const std::string hint = SizeHint(what); !hint.empty()) throw InputError(what + hint);
      if (replaced_size_) {
        throw InputError(what + "; the file has a picture of " + *replaced_size_ +
                         " built in, so export the model with its size open");
      }
      if (replaced_batch_) {
        throw InputError(what, "; the file has a batch of ", *replaced_batch_,
                         " built in, so export it with a batch of 1");
      }
      throw InputError(what);
    }
    AddOutputs(graph);
    import_.graph.Validate();
    return std::move(import_.graph);
  }

  // The file's height and width, if others replace them.
  const std::optional<std::string>& replaced_size() const { return replaced_size_; }
  const std::optional<int64_t>& replaced_batch() const { return replaced_batch_; }

 private:
  // ---- Inputs ----

  void AddInputs(const GraphProto& graph) {
    std::unordered_set<std::string> initializers;
    for (const TensorProto& tensor : graph.initializer()) initializers.insert(tensor.name());
    RefuseUnknownConstants(graph, initializers);
    std::unordered_set<std::string> seen;
    size_t number = 0;
    for (const onnx::ValueInfoProto& input : graph.input()) {
      if (input.name().empty()) throw InputError("an input has no name");
      if (!seen.insert(input.name()).second) {
        throw InputError("input '", input.name(), "' appears twice");
      }
      if (initializers.count(input.name())) continue;  // a weight: old files list them here, too
      if (const auto constant = options_.constants.find(input.name());
          constant != options_.constants.end()) {
        BindInput(input, constant->second);
        continue;
      }
      const bool given = number < options_.input_shapes.size();
      AddInput(input, given ? &options_.input_shapes[number] : nullptr);
      ++number;
    }
    if (number == 0) throw InputError("it has no input");
    if (options_.input_shapes.size() > number) {
      throw InputError(options_.input_shapes.size(), " input shapes are given for ", number,
                       " input(s)");
    }
  }

  void RefuseUnknownConstants(const GraphProto& graph,
                              const std::unordered_set<std::string>& initializers) const {
    std::unordered_set<std::string> inputs;
    std::string listed;
    for (const onnx::ValueInfoProto& input : graph.input()) {
      if (initializers.count(input.name())) continue;
      inputs.insert(input.name());
      listed += (listed.empty() ? "'" : ", '") + input.name() + "'";
    }
    for (const auto& [name, constant] : options_.constants) {
      if (inputs.count(name)) continue;
      throw InputError("input '", name, "' is to be a constant, but the model has only ", listed);
    }
  }

  // Makes an input a constant.
  void BindInput(const onnx::ValueInfoProto& input, const ConstantInput& given) {
    const std::string what = "input '" + input.name() + "'";
    const onnx::TypeProto::Tensor& type = input.type().tensor_type();
    Shape shape = given.shape.value_or(Shape{});
    if (type.has_shape() && !given.shape) {
      shape = BoundShape(type.shape(), static_cast<int64_t>(given.numbers.size()));
    } else if (type.has_shape()) {
      ResolvedShape(type.shape(), &shape, what);
    } else if (!given.shape && given.numbers.size() != 1) {
      shape = {static_cast<int64_t>(given.numbers.size())};
    }
    const int64_t count = CheckedCount(shape, what);
    import_.budget.Take(count, sizeof(int64_t));
    std::vector<double> numbers = given.numbers;
    if (numbers.size() == 1) numbers.resize(static_cast<size_t>(count), numbers[0]);
    if (static_cast<int64_t>(numbers.size()) != count) {
      throw InputError(what, " has shape ", ToString(shape), ", but ", numbers.size(),
                       " number(s) are given for it");
    }
    const HostTensor::Type element = ElementType(type.elem_type());
    HostTensor constant =
        element == HostTensor::Type::kFloat
            ? HostTensor(shape, std::vector<float>(numbers.begin(), numbers.end()))
            : HostTensor(shape, WholeNumbers(numbers, what), element);
    import_.values[input.name()] = OnnxValue{kNone, std::move(constant), element};
  }

  // The shape for so many numbers: at most one open dimension takes what the others leave.
  static Shape BoundShape(const onnx::TensorShapeProto& declared, int64_t count) {
    Shape shape;
    std::optional<size_t> open;
    int64_t fixed = 1;
    for (int i = 0; i < declared.dim_size(); ++i) {
      const onnx::TensorShapeProto::Dimension& dim = declared.dim(i);
      const bool is_fixed = dim.has_dim_value() && dim.dim_value() > 0;
      if (!is_fixed) open = static_cast<size_t>(i);
      shape.push_back(is_fixed ? dim.dim_value() : 1);
      fixed *= std::min(shape.back(), kMaxElements / fixed + 1);
    }
    if (open && count % fixed == 0) shape[*open] = count / fixed;
    return shape;
  }

  static HostTensor::Type ElementType(int type) {
    switch (type) {
      case TensorProto::UNDEFINED:
      case TensorProto::FLOAT:
      case TensorProto::DOUBLE:
      case TensorProto::FLOAT16:
      case TensorProto::BFLOAT16:
        return HostTensor::Type::kFloat;
      case TensorProto::BOOL:
        return HostTensor::Type::kBool;
      default:
        return HostTensor::Type::kInteger;
    }
  }

  static std::vector<int64_t> WholeNumbers(const std::vector<double>& numbers,
                                           const std::string& what) {
    constexpr double kLargest = 9007199254740992.0;  // 2^53
    std::vector<int64_t> whole;
    for (const double number : numbers) {
      if (!(std::abs(number) <= kLargest) || number != std::floor(number)) {
        throw InputError(what, " holds integers, but ", number, " is given for it");
      }
      whole.push_back(static_cast<int64_t>(number));
    }
    return whole;
  }

  void AddInput(const onnx::ValueInfoProto& input, const Shape* given) {
    const std::string what = "input '" + input.name() + "'";
    if (!input.type().has_tensor_type() && input.type().value_case() != 0) {
      throw InputError(what, " is not a tensor");
    }
    const onnx::TypeProto::Tensor& type = input.type().tensor_type();
    // A picture's levels are exact as floats.
    const bool is_byte_picture = type.elem_type() == TensorProto::UINT8 &&
                                 import_.graph.inputs.empty() && type.shape().dim_size() == 4;
    if (ElementType(type.elem_type()) != HostTensor::Type::kFloat && !is_byte_picture) {
      throw InputError(what, " has elements of type ", ElementTypeName(type.elem_type()),
                       ", only floating-point numbers are supported; if it is the same for all ",
                       "frames, give it as a constant: --input ", input.name(), "=NUMBERS");
    }
    Shape shape;
    const std::optional<Shape> noted =
        given == nullptr ? NotedShape(type.shape(), what) : std::nullopt;
    if (type.has_shape()) {
      shape = ResolvedShape(type.shape(), noted ? &*noted : given, what);
    } else if (given != nullptr) {
      shape = *given;
    } else {
      throw InputError(what, " has no shape in the file, so it must be given, like --shape ",
                       ExampleShape(type.shape()));
    }
    if (shape.size() > TensorView::kMaxRank) {
      throw InputError(what, " has ", shape.size(), " dimensions");
    }
    if (CheckedCount(shape, what) == 0) throw InputError(what, " has a dimension of 0");
    OnnxValue& value = import_.values[input.name()];
    value.id = import_.graph.AddInput(input.name(), std::move(shape));
    value.type = ElementType(type.elem_type());
    import_.graph.notes.has_byte_picture |= is_byte_picture;
  }

  // The shape of a picture whose size is open, by the size that the file's notes name.
  std::optional<Shape> NotedShape(const onnx::TensorShapeProto& declared,
                                  const std::string& what) const {
    if (notes_.image_size.size() != 2 || declared.dim_size() != 4) return std::nullopt;
    const auto fixed = [&declared](int i) {
      return declared.dim(i).has_dim_value() ? declared.dim(i).dim_value() : kNone;
    };
    if (fixed(1) != 3 || fixed(2) >= 0 || fixed(3) >= 0) return std::nullopt;
    const int64_t batch = options_.takes_one_picture ? 1 : std::max<int64_t>(fixed(0), 1);
    const Shape shape = {batch, 3, notes_.image_size[0], notes_.image_size[1]};
    LogDebug(what + " takes " + ToString(shape) + ", the size that the file's metadata names; " +
             "--shape sets another");
    return shape;
  }

  Shape ResolvedShape(const onnx::TensorShapeProto& declared, const Shape* given,
                      const std::string& what) {
    if (given != nullptr && static_cast<int>(given->size()) != declared.dim_size()) {
      throw InputError(what, " has ", declared.dim_size(), " dimensions, but shape ",
                       ToString(*given), " is given");
    }
    Shape shape;
    for (int i = 0; i < declared.dim_size(); ++i) {
      const onnx::TensorShapeProto::Dimension& dim = declared.dim(i);
      const bool is_fixed = dim.has_dim_value() && dim.dim_value() != -1;
      const int64_t wanted = given != nullptr ? (*given)[static_cast<size_t>(i)] : kNone;
      const std::string where = "dimension " + std::to_string(i) + " of " + what;
      if (is_fixed) {
        const bool is_batch = i == 0 && dim.dim_value() > 1;
        if (is_batch && (wanted == 1 || (given == nullptr && TakesOnePicture(declared)))) {
          replaced_batch_ = dim.dim_value();
          shape.push_back(1);
          continue;
        }
        if (given != nullptr && wanted != dim.dim_value() && i >= 2 && IsPicture(declared)) {
          replaced_size_ = std::to_string(declared.dim(2).dim_value()) + "x" +
                           std::to_string(declared.dim(3).dim_value());
        } else if (given != nullptr && wanted != dim.dim_value()) {
          throw InputError(where, " is ", dim.dim_value(), " in the file, but ", wanted,
                           " is given");
        }
        shape.push_back(given != nullptr ? wanted : dim.dim_value());
      } else {
        // PaddlePaddle writes "?" for every open dimension.
        const std::string name = dim.dim_param() == "?" ? "" : dim.dim_param();
        shape.push_back(OpenDimension(name, given != nullptr, wanted, i == 0, where, declared));
      }
    }
    return shape;
  }

  // Whether a picture's channels, height and width are those of the first input.
  bool IsPicture(const onnx::TensorShapeProto& declared) const {
    const auto size = [&](int i) { return declared.dim(i).dim_value(); };
    return import_.graph.inputs.empty() && declared.dim_size() == 4 &&
           (size(1) == 1 || size(1) == 3) && size(2) > 0 && size(3) > 0;
  }

  bool TakesOnePicture(const onnx::TensorShapeProto& declared) const {
    return options_.takes_one_picture && import_.graph.inputs.empty() && declared.dim_size() == 4;
  }

  // A possible shape for what the file leaves open, and the reason for it.
  std::string ExampleShape(const onnx::TensorShapeProto& declared) const {
    Shape shape = {1, 3, 640, 640};
    std::string reason = " (an example: use the size that the network was trained for)";
    if (declared.dim_size() > 0) shape.resize(static_cast<size_t>(declared.dim_size()), 1);
    if (notes_.image_size.size() == 2 && shape.size() == 4) {
      shape = {1, 3, notes_.image_size[0], notes_.image_size[1]};
      reason = " (the size that the file's metadata names)";
    } else if (const int64_t side = SideOfCells(); side > 0 && shape.size() == 4) {
      shape = {1, 3, side, side};
      reason = " (the file has constants for that many cells of strides 8, 16 and 32)";
    }
    for (int i = 0; i < declared.dim_size(); ++i) {
      if (declared.dim(i).dim_value() > 0) {
        shape[static_cast<size_t>(i)] = declared.dim(i).dim_value();
      }
    }
    return ToString(shape) + reason;
  }

  // The side of a square that has as many cells of strides 8, 16 and 32 as a constant has rows or
  // columns of up to four numbers: a detector's places. 0: there is none.
  int64_t SideOfCells() const {
    const auto side_of = [](const TensorProto& tensor) -> int64_t {
      int64_t cells = 1;
      int64_t others = 1;
      for (const int64_t size : tensor.dims()) {
        if (size < 1 || size > kMaxElements) return 0;
        others = std::max(others, std::min(cells, size));
        cells = std::max(cells, size);
      }
      for (int64_t side = 160; side <= 2048 && others <= 4; side += 32) {
        if (21 * side * side / 1024 == cells) return side;
      }
      return 0;
    };
    int64_t side = 0;
    for (const TensorProto& tensor : model_.graph().initializer()) {
      side = std::max(side, side_of(tensor));
    }
    for (const NodeProto& node : model_.graph().node()) {
      if (node.op_type() != "Constant") continue;
      for (const onnx::AttributeProto& own : node.attribute()) {
        side = std::max(side, side_of(own.t()));
      }
    }
    return side;
  }

  // What to do if shapes do not fit each other because the given picture's sides are no multiples
  // of the network's stride; empty if they are.
  std::string SizeHint(const std::string& what) const {
    const bool is_misfit = what.find("do not line up") != std::string::npos ||
                           what.find("do not broadcast") != std::string::npos;
    if (!is_misfit) return "";
    const Value& input = import_.graph.value(import_.graph.inputs.front());
    if (!input.is_map()) return "";
    auto stride = static_cast<int64_t>(notes_.stride);
    for (const Value& value : import_.graph.values) {
      if (notes_.stride > 0 || value.is_constant() || !value.is_map() || value.shape[2] < 2) {
        continue;
      }
      const int64_t rows = value.shape[2];
      const auto times = static_cast<uint64_t>((input.shape[2] + rows - 1) / rows);
      stride = std::max(stride, static_cast<int64_t>(std::bit_ceil(times)));
    }
    if (stride == 0) return "";
    Shape below = input.shape;
    Shape above = input.shape;
    for (const size_t i : {2U, 3U}) {
      below[i] = std::max(stride, input.shape[i] / stride * stride);
      above[i] = (input.shape[i] + stride - 1) / stride * stride;
    }
    if (above == input.shape) return "";
    return "; height and width must be multiples of " + std::to_string(stride) +
           ", such as --shape " + ToString(above) +
           (below == above ? "" : " or " + ToString(below));
  }

  // Dimensions that share a name in the file share their size.
  int64_t OpenDimension(const std::string& name, bool is_given, int64_t given, bool is_batch,
                        const std::string& where, const onnx::TensorShapeProto& declared) {
    const auto known = name.empty() ? named_dimensions_.end() : named_dimensions_.find(name);
    if (known != named_dimensions_.end()) {
      if (is_given && given != known->second) {
        throw InputError(where, " is '", name, "', which is ", known->second, ", but ", given,
                         " is given");
      }
      return known->second;
    }
    if (!is_given && !is_batch) {
      throw InputError(where, (name.empty() ? "" : " ('" + name + "')"),
                       " is open in the file, so the input's shape must be given, like --shape ",
                       ExampleShape(declared));
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
        throw InputError("initializer '", tensor.name(), "' is defined twice");
      }
    }
    if (graph.sparse_initializer_size() > 0) {
      throw InputError("sparse initializer '", graph.sparse_initializer(0).values().name(),
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
      const HostTensor::Type type = constant.type();
      import_.values[tensor.name()] = OnnxValue{kNone, std::move(constant), type};
    }
  }

  void ConvertNode(NodeProto& proto) {
    const std::string what = DescribeNode(proto);
    try {
      OnnxNode node(import_, proto);
      if (!proto.domain().empty() && proto.domain() != "ai.onnx") {
        node.Fail("operators of domain '", proto.domain(), "' are not supported");
      }
      if (proto.op_type() == "If") {
        InlineIf(node);
      } else {
        ConvertOperator(node);
      }
      node.CheckAllAttributesUsed();
    } catch (const InputError& error) {
      throw InputError(what, ": ", error.what());
    }
  }

  static void ConvertOperator(OnnxNode& node) {
    const OnnxOperator* known = FindOnnxOperator(node.type());
    if (known == nullptr) node.Fail(WhyNotSupported(node.type()));
    const bool reads_shape_only = node.type() == "Shape" || node.type() == "Size";
    if (reads_shape_only || node.AllInputsConstant()) {
      // The passes fold what cannot be computed here.
      return known->fold ? known->fold(node) : known->convert(node);
    }
    if (!known->convert) node.Fail(WhyNotSupported(node.type()));
    for (int i = 0; i < node.input_count(); ++i) {
      if (node.HasInput(i) && node.InputValue(i).steps && node.type() != "DequantizeLinear") {
        node.Fail("input number ", i + 1,
                  " holds 8-bit numbers, which only DequantizeLinear may read; quantise the model "
                  "in the format QDQ");
      }
      if (node.HasInput(i) && !node.IsConstant(i) && node.IsInteger(i) && !known->takes_integers) {
        node.Fail("input number ", i + 1,
                  " holds integers, which are only supported here among constants; export the "
                  "model with floating-point numbers");
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
      const OnnxValue value = import_.values.at(name);
      node.SetOutput(i, value, value.type);
    }
    // A branch's names mean nothing outside it.
    for (const TensorProto& tensor : branch.initializer()) import_.values.erase(tensor.name());
    for (const NodeProto& inner : branch.node()) {
      for (const std::string& output : inner.output()) import_.values.erase(output);
    }
  }

  // ---- Outputs ----

  // If the file gives an output's shape, only its batch may have changed.
  void CheckShapesWithoutBatch(const GraphProto& graph) const {
    for (const onnx::ValueInfoProto& output : graph.output()) {
      if (!output.type().tensor_type().has_shape()) continue;
      const onnx::TensorShapeProto& declared = output.type().tensor_type().shape();
      const OnnxValue& value = import_.values.at(output.name());
      if (value.constant) continue;
      const Shape& shape = import_.graph.value(value.id).shape;
      bool fits = declared.dim_size() == static_cast<int>(shape.size());
      for (int i = 0; fits && i < declared.dim_size(); ++i) {
        if (!declared.dim(i).has_dim_value() || declared.dim(i).dim_value() < 1) continue;
        const int64_t size = declared.dim(i).dim_value();
        const int64_t now = shape[static_cast<size_t>(i)];
        fits = now == (i == 0 && size == *replaced_batch_ ? 1 : size) || (i > 0 && replaced_size_);
      }
      if (!fits) {
        throw InputError("output '", output.name(), "' comes out with shape ", ToString(shape));
      }
    }
  }

  void CheckOutput(const std::string& name) const {
    if (!import_.values.count(name)) {
      throw InputError("output '", name, "' is one that its node does not give here");
    }
  }

  // Every output keeps its name: a value with another name is renamed, or copied if that name is
  // needed too.
  void AddOutputs(const GraphProto& graph) {
    std::unordered_set<std::string> names;
    std::unordered_set<ValueId> taken;
    for (const onnx::ValueInfoProto& output : graph.output()) {
      if (!names.insert(output.name()).second) {
        throw InputError("output '", output.name(), "' appears twice");
      }
      const OnnxValue& value = import_.values.at(output.name());
      if (value.constant) {
        throw InputError("output '", output.name(), "' does not depend on any input");
      }
      if (value.steps) {
        throw InputError("output '", output.name(),
                         "' holds 8-bit numbers; end the model with DequantizeLinear");
      }
      if (import_.graph.value(value.id).name == output.name()) taken.insert(value.id);
    }
    for (const onnx::ValueInfoProto& output : graph.output()) {
      const OnnxValue& value = import_.values.at(output.name());
      ValueId id = value.id;
      if (value.type != HostTensor::Type::kFloat &&
          import_.graph.value(id).type == DataType::kFloat32) {
        // Integer arithmetic gave it. Marks its numbers as integers, and leaves them as they are.
        const op::Activation truncate{Function{Function::Kind::kTruncate, 0.0f, 0.0f}};
        const auto added = import_.graph.Add(output.name(), truncate, {id}, {output.name()});
        import_.graph.outputs.push_back(added.front());
        continue;
      }
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
  const ModelNotes& notes_;
  const LoadOptions& options_;
  OnnxImport import_;
  std::unordered_map<std::string, int64_t> named_dimensions_;
  std::optional<int64_t> replaced_batch_;  // the file's batch, if a batch of 1 replaces it
  std::optional<std::string> replaced_size_;
};

// The operator that keeps a size while the picture grows: `twice` is the graph for a picture of
// twice the height and width. Empty: none does.
std::string WhatKeepsSize(const Graph& once, const Graph& twice) {
  if (once.operators.size() != twice.operators.size()) return "its operators depend on the size";
  for (size_t i = 0; i < once.operators.size(); ++i) {
    const Operator& made_by = once.operators[i];
    const auto both = [&](const std::vector<ValueId>& of_once,
                          const std::vector<ValueId>& of_twice) {
      return std::pair(once.value(of_once[0]).shape, twice.value(of_twice[0]).shape);
    };
    const auto in = both(made_by.inputs, twice.operators[i].inputs);
    const auto out = both(made_by.outputs, twice.operators[i].outputs);
    const auto kept = [](const std::pair<Shape, Shape>& shapes) {
      int64_t product = 1;
      for (size_t d = 0; d < shapes.first.size(); ++d) {
        if (shapes.first[d] == shapes.second[d]) product *= shapes.first[d];
      }
      return product;
    };
    const bool is_same_rank = in.first.size() == out.first.size();
    bool keeps = made_by.As<op::Reshape>() != nullptr && kept(in) != kept(out);
    const bool has_sizes = made_by.As<op::Slice>() != nullptr ||
                           made_by.As<op::Resize>() != nullptr ||
                           made_by.As<op::Expand>() != nullptr;
    for (size_t d = 0; has_sizes && is_same_rank && d < in.first.size(); ++d) {
      keeps |= in.first[d] != in.second[d] && out.first[d] == out.second[d];
    }
    if (keeps) {
      return "operator '" + made_by.name + "' (" + KindName(made_by) + ") gives " +
             ToString(out.first) + " and with twice the height and width " + ToString(out.second);
    }
  }
  return "";
}

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

// Refuses a picture of another size than the file's if an operator depends on the file's size.
void RefuseKeptSize(ModelProto& model, const ModelNotes& notes, const std::filesystem::path& folder,
                    LoadOptions options, const Graph& graph, const std::string& size) {
  for (size_t i = 2; i < 4; ++i) options.input_shapes[0][i] *= 2;
  std::string why;
  try {
    why = WhatKeepsSize(graph, ModelImporter(model, notes, folder, options).Run());
  } catch (const InputError& error) {
    why = error.what();
  }
  const Value& input = graph.value(graph.inputs.front());
  if (!why.empty()) {
    throw InputError("input '" + input.name + "' is " + size + " in the file, but " +
                     ToString(input.shape) + " is given, and the size is built in: " + why +
                     "; export the model with the size open, or for the size that you want");
  }
  LogInfo("input '" + input.name + "' is " + size +
          " in the file, but nothing in the graph depends on that: it is run with " +
          ToString(input.shape));
}

Graph Import(ModelProto& model, const std::filesystem::path& folder, const std::string& name,
             const LoadOptions& options) {
  OnnxNotes read = ReadNotes(model);
  // An import takes the model apart.
  ModelProto copy;
  if (!options.input_shapes.empty()) copy = model;
  ModelImporter importer(model, read.notes, folder, options);
  Graph graph = importer.Run();
  if (importer.replaced_size()) {
    RefuseKeptSize(copy, read.notes, folder, options, graph, *importer.replaced_size());
  }
  if (importer.replaced_batch()) {
    LogInfo("input '" + graph.value(graph.inputs.front()).name + "' has a batch of " +
            std::to_string(*importer.replaced_batch()) +
            " in the file: it is run with a batch of 1");
  }
  read.notes.has_byte_picture = graph.notes.has_byte_picture;
  graph.notes = std::move(read.notes);
  std::string faults;
  for (const std::string& fault : read.faults) faults += (faults.empty() ? "" : "; ") + fault;
  const bool has_lost_names = std::ranges::any_of(
      read.faults, [](const std::string& fault) { return fault.starts_with("names "); });
  if (has_lost_names)
    faults += "; classes have numbers unless decoder.class_names gives them names";
  if (!faults.empty()) LogWarning(name + ": left out of the file's metadata: " + faults);
  return graph;
}

// Runs an import, and puts the file's name before what it refuses.
template <typename Importing>
Graph Named(const std::string& name, Importing import) {
  try {
    return import();
  } catch (const InputError& error) {
    throw InputError(name, ": ", Printable(error.what()));
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
