#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "common/model/passes/passes.h"
#include "tests/fuzz/mutate.h"
#include "tests/model/onnx_seeds.h"
#include "tests/testing/peak_memory.h"
#include "tests/testing/sanitized.h"

// Hostile models: each gives a graph or one InputError, and none takes much memory.

namespace cacheinf {
namespace {

constexpr uint64_t kSeed = 20240612;
constexpr size_t kLongestSentence = 600;

// Returns whether the bytes were refused.
bool TryImport(const std::string& bytes, int run) {
  try {
    Graph graph = ImportOnnxBytes(bytes, "fuzzed.onnx");
    graph.Validate();
    pass::ToEightBits(graph);
    graph.Validate();
    return false;
  } catch (const InputError& error) {
    const std::string sentence = error.what();
    EXPECT_TRUE(sentence.starts_with("fuzzed.onnx: ")) << sentence << " run " << run;
    EXPECT_LT(sentence.size(), kLongestSentence) << sentence << " run " << run;
    EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence << " run " << run;
    return true;
  }
}

// Damages the model's meaning rather than its bytes, so that it still parses.
class ModelMutator {
 public:
  ModelMutator(std::vector<std::string> seeds, uint64_t seed)
      : seeds_(std::move(seeds)), random_(seed) {}

  std::string Next() {
    onnx::ModelProto model;
    model.ParseFromString(seeds_[Below(seeds_.size())]);
    for (size_t i = 1 + Below(4); i > 0; --i) ChangeOnce(*model.mutable_graph());
    if (Below(8) == 0) model.mutable_opset_import(0)->set_version(AbsurdInteger());
    return model.SerializeAsString();
  }

 private:
  size_t Below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  int64_t AbsurdInteger() {
    static constexpr int64_t kValues[] = {0,         1,         -1,        2,          3,
                                          7,         13,        -2,        255,        65536,
                                          1 << 24,   INT32_MAX, INT32_MIN, INT64_MAX,  INT64_MIN,
                                          1LL << 31, 1LL << 32, 1LL << 40, -(1 << 20), 4};
    return kValues[Below(std::size(kValues))];
  }

  float AbsurdFloat() {
    static constexpr float kValues[] = {0.0f, -1.0f, 1e38f, 1e-40f, INFINITY, -INFINITY, NAN, 0.5f};
    return kValues[Below(std::size(kValues))];
  }

  std::string AnyName(onnx::GraphProto& graph) {
    const onnx::NodeProto& node = graph.node(static_cast<int>(Below(graph.node_size())));
    const int names = node.input_size() + node.output_size();
    if (names == 0) return "";
    const int at = static_cast<int>(Below(static_cast<size_t>(names)));
    return at < node.input_size() ? node.input(at) : node.output(at - node.input_size());
  }

  void ChangeAttribute(onnx::NodeProto& node) {
    if (node.attribute_size() == 0) return;
    onnx::AttributeProto& attribute =
        *node.mutable_attribute(static_cast<int>(Below(node.attribute_size())));
    switch (Below(5)) {
      case 0:
        attribute.set_i(AbsurdInteger());
        attribute.set_f(AbsurdFloat());
        break;
      case 1:
        if (attribute.ints_size() > 0) {
          attribute.set_ints(static_cast<int>(Below(attribute.ints_size())), AbsurdInteger());
        }
        break;
      case 2:
        attribute.add_ints(AbsurdInteger());
        break;
      case 3:
        attribute.set_type(static_cast<onnx::AttributeProto::AttributeType>(Below(9)));
        break;
      default:
        attribute.set_s("NOTSET");
    }
  }

  void ChangeTensor(onnx::TensorProto& tensor) {
    switch (Below(6)) {
      case 0:
        if (tensor.dims_size() > 0) {
          tensor.set_dims(static_cast<int>(Below(tensor.dims_size())), AbsurdInteger());
        }
        break;
      case 1:
        tensor.set_data_type(static_cast<int>(Below(18)));
        break;
      case 2:
        if (tensor.int64_data_size() > 0) {
          tensor.set_int64_data(static_cast<int>(Below(tensor.int64_data_size())), AbsurdInteger());
        }
        break;
      case 3:  // a scale, say
        if (tensor.data_type() == onnx::TensorProto::FLOAT && !tensor.raw_data().empty()) {
          std::string& bytes = *tensor.mutable_raw_data();
          const float number = AbsurdFloat();
          std::memcpy(&bytes[Below(bytes.size() / sizeof(number)) * sizeof(number)], &number,
                      sizeof(number));
        }
        break;
      case 4:  // a zero point, say
        if (tensor.int32_data_size() > 0) {
          tensor.set_int32_data(static_cast<int>(Below(tensor.int32_data_size())),
                                static_cast<int32_t>(AbsurdInteger()));
        }
        break;
      default:
        tensor.add_dims(AbsurdInteger());
    }
  }

  void ChangeOnce(onnx::GraphProto& graph) {
    if (graph.node_size() == 0) return;
    onnx::NodeProto& node = *graph.mutable_node(static_cast<int>(Below(graph.node_size())));
    switch (Below(9)) {
      case 0:
        ChangeAttribute(node);
        break;
      case 1:  // cycles, wrong operands
        if (node.input_size() > 0) {
          node.set_input(static_cast<int>(Below(node.input_size())), AnyName(graph));
        }
        break;
      case 2:
        if (graph.initializer_size() > 0) {
          ChangeTensor(
              *graph.mutable_initializer(static_cast<int>(Below(graph.initializer_size()))));
        }
        break;
      case 3: {  // another operator with these operands
        static const char* const kTypes[] = {
            "Conv",   "Gather", "Reshape", "ConstantOfShape", "Expand", "Tile",  "Range",
            "Concat", "Slice",  "Split",   "ReduceSum",       "Resize", "Where", "Cast",
            "MatMul", "Gemm",   "Flatten", "NonZero",         "Pad",    "Shape", "DepthToSpace"};
        node.set_op_type(kTypes[Below(std::size(kTypes))]);
        break;
      }
      case 4: {
        auto* shape =
            graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
        if (shape->dim_size() > 0) {
          shape->mutable_dim(static_cast<int>(Below(shape->dim_size())))
              ->set_dim_value(AbsurdInteger());
        }
        break;
      }
      case 5:
        node.add_input(AnyName(graph));
        break;
      case 6:
        node.add_output("extra" + std::to_string(Below(3)));
        break;
      case 7:
        graph.mutable_output(0)->set_name(AnyName(graph));
        break;
      default:
        if (node.input_size() > 0) node.mutable_input()->RemoveLast();
    }
  }

  std::vector<std::string> seeds_;
  std::mt19937_64 random_;
};

class OnnxRobustnessTest : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Of, OnnxRobustnessTest, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "quantised" : "any");
});

TEST_P(OnnxRobustnessTest, AbsurdModelsAreReadOrRefusedInOneSentence) {
  RecordProperty("seed", std::to_string(kSeed));
  ModelMutator mutator(GetParam() ? std::vector<std::string>{EightBitSeed().Bytes()} : OnnxSeeds(),
                       kSeed);
  const int64_t before = PeakMebibytes();
  const int runs = FuzzRuns(GetParam() ? 2000 : 4000);
  int refused = 0;
  for (int run = 0; run < runs && !HasFailure(); ++run) refused += TryImport(mutator.Next(), run);
  EXPECT_GT(refused, runs / 2);
  EXPECT_LT(refused, runs);
  EXPECT_LT(PeakMebibytes() - before, 1024) << "MiB taken";
}

// Folding never multiplies a file's size without bound, however often the file asks for it.
TEST(OnnxHostileSizesTest, ManySmallRequestsDoNotAddUp) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer's own memory would be measured";
  OnnxModel model = OneInput({1});
  model.Ints("shape", {1 << 22});
  std::vector<std::string> parts = {"x"};
  for (int i = 0; i < 200; ++i) {
    parts.push_back("c" + std::to_string(i));
    model.Node("ConstantOfShape", {"shape"}, {parts.back()});
  }
  model.Node("Concat", parts, {"y"}).Int("axis", 0);
  const int64_t before = PeakMebibytes();
  EXPECT_NE(model.Refusal().find("take more than 256 MiB"), std::string::npos) << model.Refusal();
  EXPECT_LT(PeakMebibytes() - before, 512);
}

}  // namespace
}  // namespace cacheinf
