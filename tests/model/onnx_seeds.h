#ifndef CACHEINF_TESTS_MODEL_ONNX_SEEDS_H_
#define CACHEINF_TESTS_MODEL_ONNX_SEEDS_H_

#include <string>
#include <vector>

#include "tests/model/onnx_builder.h"

// Small valid ONNX models for the fuzzers to damage; together they use most operators.

namespace cacheinf {

inline OnnxModel ConvolutionSeed() {
  OnnxModel model = OneInput({1, 2, 8, 8});
  model.Weights("w", {4, 2, 3, 3}).Weights("b", {4}).Weights("t", {4, 2, 2, 2});
  model.Weights("c", {2}).Floats("roi", {0}, {}).Floats("scales", {4}, {1, 1, 2, 2});
  model.Node("Conv", {"x", "w", "b"}, {"a"}).Ints("pads", {1, 1, 1, 1}).Ints("strides", {2, 2});
  model.Node("LeakyRelu", {"a"}, {"l"}).Float("alpha", 0.1f);
  model.Node("ConvTranspose", {"l", "t"}, {"u"}).Ints("strides", {2, 2});
  model.Node("BatchNormalization", {"u", "c", "c", "c", "c"}, {"n"}).Float("epsilon", 1e-3f);
  model.Node("MaxPool", {"n"}, {"m"}).Ints("kernel_shape", {3, 3}).String("auto_pad", "SAME_UPPER");
  model.Node("AveragePool", {"m"}, {"p"}).Ints("kernel_shape", {2, 2}).Int("ceil_mode", 1);
  model.Node("Resize", {"p", "roi", "scales"}, {"r"}).String("mode", "linear");
  model.Node("Concat", {"r", "r"}, {"j"}).Int("axis", 1);
  model.Node("Clip", {"j"}, {"y"});
  return model;
}

inline OnnxModel ShapeSeed() {
  OnnxModel model = OneInput({-1, 3, -1, 8});
  model.graph()
      .mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(2)
      ->set_dim_value(4);
  model.Constant(IntTensor("zero", {}, {0})).Ints("tail", {-1}).Ints("two", {2}).Ints("axes", {0});
  model.Node("Shape", {"x"}, {"s"});
  model.Node("Gather", {"s", "zero"}, {"n"}).Int("axis", 0);
  model.Node("Unsqueeze", {"n", "axes"}, {"n1"});
  model.Node("Mul", {"n1", "two"}, {"n2"});
  model.Node("Div", {"n2", "two"}, {"n3"});
  model.Node("Concat", {"n3", "tail"}, {"target"}).Int("axis", 0);
  model.Node("Reshape", {"x", "target"}, {"flat"});
  model.Node("Constant", {}, {"k"})
      .Tensor("value", FloatTensor("", {1, 96}, OnnxModel::Ramp({96})));
  model.Node("Add", {"flat", "k"}, {"y"});
  return model;
}

inline OnnxModel MovesSeed() {
  OnnxModel model = OneInput({1, 4, 6, 6});
  model.Ints("starts", {1, 0}).Ints("ends", {-1, 100}).Ints("axes", {2, 3}).Ints("steps", {1, 2});
  model.Ints("pads", {0, 0, 1, 1, 0, 0, 1, -1}).Ints("index", {3, 1}).Ints("shape", {2, 1, 1, 1});
  model.Node("Slice", {"x", "starts", "ends", "axes", "steps"}, {"a"});
  model.Node("Pad", {"a", "pads"}, {"b"}).String("mode", "reflect");
  model.Node("Transpose", {"b"}, {"c"}).Ints("perm", {0, 2, 3, 1});
  model.Node("Gather", {"c", "index"}, {"d"}).Int("axis", 3);
  model.Node("Split", {"d"}, {"e", "f"}).Int("axis", 3);
  model.Node("Expand", {"e", "shape"}, {"g"});
  model.Node("DepthToSpace", {"x"}, {"h"}).Int("blocksize", 2);
  model.Node("ReduceMean", {"h"}, {"i"}).Ints("axes", {2, 3});
  model.Node("Mul", {"g", "i"}, {"j"});
  model.Node("Softmax", {"j"}, {"k"}).Int("axis", 1);
  model.Node("ArgMax", {"k"}, {"y"}).Int("axis", 1);
  model.Node("Squeeze", {"f"}, {"z"});
  model.Output("z");
  return model;
}

inline OnnxModel MatrixSeed() {
  OnnxModel model = OneInput({2, 6});
  model.Weights("w", {6, 4}).Weights("b", {4}).Weights("v", {4, 4}).Weights("s", {4});
  model.Constant(BoolTensor("c", {}, {true}));
  model.Node("Gemm", {"x", "w", "b"}, {"a"}).Float("alpha", 0.5f).Int("transA", 0);
  model.Node("MatMul", {"a", "v"}, {"d"});
  model.Node("LayerNormalization", {"d", "s", "s"}, {"e"}).Int("axis", -1);
  OnnxModel branch;
  branch.Node("Erf", {"e"}, {"f"});
  branch.Output("f");
  model.Node("If", {"c"}, {"g"})
      .Graph("then_branch", branch.graph())
      .Graph("else_branch", branch.graph());
  model.Node("PRelu", {"g", "s"}, {"h"});
  model.Node("Pow", {"h", "s"}, {"y"});
  return model;
}

inline OnnxModel OldSeed() {
  OnnxModel model = OneInput({1, 2, 5, 5}, 9);
  model.Floats("scales", {4}, {1, 1, 2, 2});
  model.Node("Upsample", {"x", "scales"}, {"a"}).String("mode", "nearest");
  model.Node("Pad", {"a"}, {"b"}).Ints("pads", {0, 0, 1, 1, 0, 0, 1, 1}).Float("value", 1.0f);
  model.Node("Slice", {"b"}, {"c"}).Ints("starts", {1}).Ints("ends", {9}).Ints("axes", {2});
  model.Node("Clip", {"c"}, {"d"}).Float("min", 0.0f).Float("max", 6.0f);
  model.Node("Unsqueeze", {"d"}, {"e"}).Ints("axes", {0});
  model.Node("Squeeze", {"e"}, {"f"}).Ints("axes", {0});
  model.Node("Softmax", {"f"}, {"y"}).Int("axis", 1);
  return model;
}

inline onnx::TensorProto ByteTensor(const std::string& name, const std::vector<int64_t>& shape,
                                    const std::vector<int>& values,
                                    int type = onnx::TensorProto::UINT8) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const int64_t dim : shape) tensor.add_dims(dim);
  for (const int value : values) tensor.add_int32_data(value);
  return tensor;
}

inline OnnxModel EightBitSeed() {
  OnnxModel model = OneInput({1, 2, 4, 4});
  model.Floats("s", {}, {0.25f}).Constant(ByteTensor("z", {}, {100})).Floats("ws", {2}, {0.5f, 1});
  model.Constant(ByteTensor("wz", {2}, {0, 0}, onnx::TensorProto::INT8));
  model.Constant(ByteTensor("wq", {2, 2, 1, 1}, {1, -2, 3, 4}, onnx::TensorProto::INT8));
  const auto round = [&](const std::string& x, const std::string& y) {
    model.Node("QuantizeLinear", {x, "s", "z"}, {y + ".q"});
    model.Node("DequantizeLinear", {y + ".q", "s", "z"}, {y});
  };
  model.Node("DequantizeLinear", {"wq", "ws", "wz"}, {"w"}).Int("axis", 0);
  round("x", "a");
  model.Node("Conv", {"a", "w"}, {"b"});
  round("b", "c");
  model.Node("Sigmoid", {"c"}, {"d"});
  round("d", "e");
  model.Node("Mul", {"c", "e"}, {"f"});
  model.Node("Add", {"f", "a"}, {"g"});
  round("g", "h");
  model.Node("MaxPool", {"h"}, {"i"}).Ints("kernel_shape", {2, 2});
  round("i", "y");
  return model;
}

inline std::vector<std::string> OnnxSeeds() {
  return {ConvolutionSeed().Bytes(), ShapeSeed().Bytes(), MovesSeed().Bytes(),
          MatrixSeed().Bytes(),      OldSeed().Bytes(),   EightBitSeed().Bytes()};
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_MODEL_ONNX_SEEDS_H_
