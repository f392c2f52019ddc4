#include <ATen/TensorOperators.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/script.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/rivals/engines/engines.h"

namespace cacheinf {
namespace {

// oneDNN's names of activations, as LibTorch's compiler passes them on.
struct Attribute {
  std::string name;
  std::vector<std::optional<at::Scalar>> scalars;
  std::optional<std::string> algorithm;
};

Attribute AttributeOf(const std::string& activation) {
  static const std::map<std::string, Attribute> kAttributes = {
      {"none", {"none", {}, std::nullopt}},
      {"relu", {"relu", {}, std::nullopt}},
      {"relu6", {"hardtanh", {at::Scalar(0.0), at::Scalar(6.0)}, std::nullopt}},
      {"silu", {"swish", {}, std::nullopt}},
      {"hardswish", {"hardswish", {}, std::nullopt}},
      {"gelu", {"gelu", {}, "none"}},
  };
  return kAttributes.at(activation);
}

at::Tensor Call(const char* name, torch::jit::Stack arguments) {
  const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
  op.callBoxed(&arguments);
  return arguments.front().toTensor();
}

}  // namespace

std::function<void()> OneDnnLayer(const nlohmann::json& layer) {
  const at::InferenceMode no_gradients;
  const auto number = [&](const char* key) { return layer.at(key).get<int64_t>(); };
  at::manual_seed(1);
  const at::Tensor input = torch::randn({1, number("in"), number("height"), number("width")})
                               .contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor weights = torch::rand({number("out"), number("in") / number("groups"),
                                          number("kernel"), number("kernel")}) *
                                 0.2 -
                             0.1;
  const at::Tensor bias = torch::rand({number("out")}) * 0.2 - 0.1;
  const std::vector<int64_t> pad(2, number("pad"));
  const std::vector<int64_t> stride(2, number("stride"));
  const std::vector<int64_t> dilation(2, number("dilation"));
  const int64_t groups = number("groups");
  const at::Tensor packed = Call("mkldnn::_reorder_convolution_weight",
                                 {weights, pad, stride, dilation, groups, input.sizes().vec()});
  const Attribute attribute = AttributeOf(layer.at("activation").get<std::string>());
  c10::List<std::optional<at::Scalar>> scalars;
  for (const auto& scalar : attribute.scalars) scalars.push_back(scalar);
  const torch::jit::Stack arguments = {
      input,    packed, bias,           pad,     stride,
      dilation, groups, attribute.name, scalars, attribute.algorithm};
  return [arguments] {
    const at::InferenceMode no_gradients_here;
    Call("mkldnn::_convolution_pointwise", arguments);
  };
}

}  // namespace cacheinf
