// Every operator form that the TorchScript importer knows, one expression each. It must become an
// operator of our set and give LibTorch's numbers.

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "tests/testing/torch_module.h"
#include "tests/torch/script_file.h"

namespace cacheinf::testing {
namespace {

struct Case {
  const char* name;
  const char* body;  // statements over x (and self.w, self.b, …) that end in `return`
  Shape input = {1, 6, 9, 11};
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

const Case kCases[] = {
    {"conv2d", "return torch.conv2d(x, self.w, self.b, [1, 1], [1, 1], [1, 1], 1)"},
    {"conv2d_stride_dilation", "return torch.conv2d(x, self.w, None, [2, 1], [0, 2], [1, 2], 1)"},
    {"conv2d_same", "return torch.conv2d(x, self.w, self.b, [1, 1], \"same\", [1, 1], 1)"},
    {"conv2d_groups", "return torch.conv2d(x, self.wg, self.b, [1], [1], [1], 2)"},
    {"conv2d_depthwise", "return torch.conv2d(x, self.wd, None, [1], [1], [1], 6)"},
    {"conv_transpose2d",
     "return torch.conv_transpose2d(x, self.wt, self.b, [2, 2], [1, 1], [1, 1], 1, [1, 1])"},
    {"conv_transpose2d_groups",
     "return torch.conv_transpose2d(x, self.wtg, None, [2, 1], [1, 0], [0, 0], 2, [1, 2])"},
    {"linear", "return torch.linear(x, self.wl, self.bl)", {1, 3, 6}},
    {"linear_on_map", "return torch.linear(x.permute([0, 2, 3, 1]), self.wl, self.bl)"},
    {"addmm", "return torch.addmm(self.bl, x, self.wl.t())", {3, 6}},
    {"matmul_weights", "return torch.matmul(x, self.wl.t())", {2, 3, 6}},
    {"matmul_values", "return torch.matmul(x, x.transpose(2, 3))"},
    {"bmm", "return torch.bmm(x, x.transpose(1, 2))", {3, 4, 5}},
    {"batch_norm",
     "return torch.batch_norm(x, self.s, self.t, self.m, self.v, False, 0.1, 1e-5, False)"},
    {"layer_norm_channels",
     "y = torch.layer_norm(x.permute([0, 2, 3, 1]), [6], self.s, self.t, 1e-6)\n"
     "  return y.permute([0, 3, 1, 2])"},
    {"layer_norm_whole", "return torch.layer_norm(x, [6, 9, 11], None, None, 1e-5)"},
    {"group_norm", "return torch.group_norm(x, 3, self.s, self.t, 1e-5)"},
    {"instance_norm",
     "return torch.instance_norm(x, self.s, self.t, None, None, True, 0.1, 1e-5, False)"},
    {"relu", "return torch.relu(x)"},
    {"relu_in_place", "y = x * 2.0\n  torch.relu_(y)\n  return y + 1.0"},
    {"relu6", "return torch.relu6(x * 4.0)"},
    {"leaky_relu", "return torch.leaky_relu(x, 0.2)"},
    {"prelu", "return torch.prelu(x, self.s)"},
    {"elu", "return torch.elu(x, 0.7)"},
    {"silu", "return torch.silu(x)"},
    {"gelu", "return torch.gelu(x)"},
    {"gelu_tanh", "return torch.gelu(x, approximate=\"tanh\")"},
    {"sigmoid", "return torch.sigmoid(x)"},
    {"hardswish", "return torch.hardswish(x * 3.0)"},
    {"hardsigmoid", "return torch.hardsigmoid(x * 3.0)"},
    {"hardtanh", "return torch.hardtanh(x, -0.5, 0.8)"},
    {"tanh", "return torch.tanh(x)"},
    {"mish", "return torch.mish(x)"},
    {"softplus", "return torch.softplus(x)"},
    {"clamp", "return torch.clamp(x, -0.3, 0.6)"},
    {"clamp_min", "return torch.clamp_min(x, 0.1)"},
    {"clamp_max_only", "return torch.clamp(x, None, 0.1)"},
    {"exp_log", "return torch.log(torch.exp(x) + 1.0)"},
    {"sqrt_rsqrt", "y = x * x + 0.5\n  return torch.sqrt(y) + torch.rsqrt(y)"},
    {"erf_abs_neg", "return torch.erf(x) + torch.abs(x) - torch.neg(x)"},
    {"floor_ceil_round", "return torch.floor(x * 3.0) + torch.ceil(x) + torch.round(x * 2.0)"},
    {"sin_cos", "return torch.sin(x) * torch.cos(x)"},
    {"reciprocal", "return torch.reciprocal(x * x + 1.0)"},
    {"add_alpha", "return torch.add(x, torch.relu(x), alpha=2)"},
    {"rsub", "return torch.rsub(x, 2.0) + torch.rsub(x, torch.relu(x))"},
    {"scalar_arithmetic", "return (2.0 - x) / 3.0 + 1.0 / (x * x + 2.0)"},
    {"pow", "return torch.pow(torch.abs(x) + 0.1, 1.5) + x ** 2"},
    {"broadcast_gate", "return x * torch.mean(x, [2, 3], True)"},
    {"broadcast_constant", "return x * self.gate + self.gate"},
    {"max_min_of_two", "return torch.maximum(x, -x) + torch.minimum(x, 0.5 * x)"},
    {"max_pool", "return torch.max_pool2d(x, [3, 3], [2, 2], [1, 1], [1, 1], False)"},
    {"max_pool_ceil", "return torch.max_pool2d(x, [2, 2], [2, 2], [0, 0], [1, 1], True)"},
    {"max_pool_by_its_kernel", "return torch.max_pool2d(x, [3, 2])"},
    {"max_pool_dilated", "return torch.max_pool2d(x, [3], [1], [1], [2], False)"},
    {"avg_pool", "return torch.avg_pool2d(x, [3, 3], [2, 2], [1, 1])"},
    {"avg_pool_ceil", "return torch.avg_pool2d(x, [3, 2], [2, 2], [1, 1], True, True)"},
    {"avg_pool_ceil_uncounted", "return torch.avg_pool2d(x, [3, 2], [2, 2], [1, 1], True, False)"},
    {"avg_pool_divisor", "return torch.avg_pool2d(x, [2, 2], [2, 2], [0, 0], False, True, 3)"},
    {"adaptive_avg_pool", "return torch.adaptive_avg_pool2d(x, [4, 3])"},
    {"adaptive_avg_pool_one", "return torch.adaptive_avg_pool2d(x, [1, 1])"},
    {"adaptive_max_pool", "y, i = torch.adaptive_max_pool2d(x, [4, 3])\n  return y"},
    {"nearest_scale", "return torch.upsample_nearest2d(x, None, [2.0, 2.0])"},
    {"nearest_size", "return torch.upsample_nearest2d(x, [5, 17])"},
    {"bilinear", "return torch.upsample_bilinear2d(x, [18, 22], False)"},
    {"bilinear_odd_scale", "return torch.upsample_bilinear2d(x, None, False, [1.7, 0.6])"},
    {"bilinear_align_corners", "return torch.upsample_bilinear2d(x, [13, 7], True)"},
    {"bicubic", "return torch.upsample_bicubic2d(x, [18, 15], False)"},
    {"pixel_shuffle", "return torch.pixel_shuffle(x, 2)", {1, 8, 5, 3}},
    {"pixel_unshuffle", "return torch.pixel_unshuffle(x, 3)", {1, 2, 6, 9}},
    {"channel_shuffle", "return torch.channel_shuffle(x, 3)"},
    {"pad_constant", "return torch.pad(x, [1, 2, 3, 0], \"constant\", 0.5)"},
    {"pad_crop", "return torch.pad(x, [-1, 2, 0, -3])"},
    {"pad_reflect", "return torch.pad(x, [1, 2, 3, 1], \"reflect\")"},
    {"pad_replicate", "return torch.pad(x, [1, 2, 3, 1], \"replicate\")"},
    {"view_from_size", "return x.view([x.size(0), -1, x.size(3)])"},
    {"flatten", "return torch.flatten(x, 1)"},
    {"flatten_rows", "return torch.flatten(x, 1, -2)"},
    {"unflatten", "return x.unflatten(1, [2, 3])"},
    {"squeeze_unsqueeze", "return torch.unsqueeze(torch.squeeze(x, 0), 2)"},
    {"squeeze_of_many", "return torch.squeeze(torch.squeeze(x, 1), 0)"},
    {"transpose", "return torch.transpose(x, 1, -1)"},
    {"expand", "return torch.mean(x, [2, 3], True).expand([-1, -1, 4, 5])"},
    {"slice_steps", "return x[:, 1:5, ::2, 3:-1]"},
    {"select", "return x[:, 2] + x[:, -1]"},
    {"narrow", "return torch.narrow(x, 3, 2, 5)"},
    {"chunk", "a, b = torch.chunk(x, 2, 1)\n  return a * torch.sigmoid(b)"},
    {"split", "y = torch.split(x, 4, 1)\n  return torch.cat([y[1], y[0]], 1)"},
    {"split_sizes", "a, b = torch.split_with_sizes(x, [2, 4], 1)\n  return torch.cat([b, a], 1)"},
    {"unbind_stack", "return torch.stack(torch.unbind(x, 1), 2)"},
    {"index_select", "return torch.index_select(x, 1, self.order)"},
    {"cat_rows", "return torch.cat([x, torch.relu(x)], 2)"},
    {"softmax", "return torch.softmax(x, 1)"},
    {"log_softmax", "return torch.log_softmax(x, -1)"},
    {"argmax", "return torch.argmax(x, 1)"},
    {"mean_sum", "return torch.mean(x, [2, 3], False) + torch.sum(x, [3, 2]) * 0.01"},
    {"mean_all", "return torch.mean(x) * x"},
    {"amax_amin", "return torch.amax(x, [1], True) - torch.amin(x, [1], True)"},
    {"max_dim", "y, i = torch.max(x, 1)\n  return y"},
    {"to_float_dropout", "return torch.dropout(x.contiguous().to(6), 0.5, False)"},
    {"type_as", "return x.type_as(self.s) + torch.relu(x).type_as(x)"},
    {"branch_by_shape", "if x.size(1) > 3:\n    y = x * 2.0\n  else:\n    y = x\n  return y"},
    {"loop_by_shape", "y = x\n  for i in range(x.size(0) + 2):\n    y = y + float(i)\n  return y"},
    {"several_outputs", "return (x + 1.0, [torch.relu(x), x])"},
    {"dictionary", "return {\"out\": x + 1.0, \"aux\": x * 2.0}"},
};

std::vector<std::pair<std::string, at::Tensor>> Weights() {
  return {{"w", RandomWeights({4, 6, 3, 3}, 1)},
          {"wg", RandomWeights({4, 3, 3, 3}, 2)},
          {"wd", RandomWeights({6, 1, 3, 3}, 3)},
          {"wt", RandomWeights({6, 4, 3, 3}, 4)},
          {"wtg", RandomWeights({6, 2, 2, 3}, 5)},
          {"b", RandomWeights({4}, 6)},
          {"wl", RandomWeights({5, 6}, 7)},
          {"bl", RandomWeights({5}, 8)},
          {"s", RandomWeights({6}, 9)},
          {"t", RandomWeights({6}, 10)},
          {"m", RandomWeights({6}, 11)},
          {"v", RandomWeights({6}, 12).abs() + 0.5},
          {"gate", RandomWeights({1, 6, 1, 1}, 13)},
          {"order", at::tensor({4, 0, 3, 3}, at::kLong)}};
}

class TorchScriptOperators : public ::testing::TestWithParam<Case> {};

TEST_P(TorchScriptOperators, BecomesOursAndAgreesWithLibTorch) {
  const Case& c = GetParam();
  const ScriptFile file("def forward(self, x):\n  " + std::string(c.body) + "\n", Weights());
  const std::vector<Tensor> inputs = {RandomTensor(c.input, 42)};
  const OwnRun own = RunOwn(file.path(), inputs);
  for (const Operator& op : own.graph.operators) {
    EXPECT_EQ(op.As<op::Foreign>(), nullptr) << KindName(op) << " stayed a LibTorch call";
  }
  const std::vector<Tensor> expected = TorchModule(file.path()).Run(inputs);
  ASSERT_EQ(own.outputs.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_LE(RelativeError(expected[i], own.outputs[i]), 1e-5) << "output " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, TorchScriptOperators, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace cacheinf::testing
