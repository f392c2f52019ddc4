#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/testing/torch_module.h"
#include "tests/torch/script_file.h"

// In-place operators on tensors that have views, are views, or lie in lists.

namespace cacheinf::testing {
namespace {

struct WriteCase {
  const char* name;
  const char* body;  // of forward(self, x), x being 1x3x6x8
};

constexpr WriteCase kWritingCases[] = {
    {"ToAFlatView", "  y = x * 2.0\n  z = y.flatten(2)\n  z.relu_()\n  return y\n"},
    {"UnderAFlatView", "  y = x * 2.0\n  z = y.view(1, -1)\n  y.relu_()\n  return z\n"},
    {"UnderAPermutedView",
     "  y = x * 2.0\n  z = y.permute(0, 2, 3, 1)\n  y.mul_(3.0)\n  return z\n"},
    {"ToAPermutedView", "  y = x * 2.0\n  z = y.permute(0, 2, 3, 1)\n  z.mul_(3.0)\n  return y\n"},
    {"ToAChunk", "  y = x * 2.0\n  a, b, c = y.chunk(3, 1)\n  b.relu_()\n  return y\n"},
    {"ToASlice", "  y = x * 2.0\n  y[:, 1:3] = x[:, 0:2]\n  return y\n"},
    {"ToOneEntry", "  y = x * 2.0\n  y[:, 0] = 0.5\n  return y\n"},
    {"ToAViewOfAView",
     "  y = x * 2.0\n  z = y.transpose(1, 2)\n  z[:, 1:4] += 1.0\n  y[:, 0] = 0.5\n  return z + "
     "1.0\n"},
    {"ToManyInTurn",
     "  y = x * 2.0\n  y[:, 0] = 0.0\n  y[:, 1:2] += 1.0\n  y.clamp_(0.0, 1.0)\n  return y\n"},
    {"NotToACopy",
     "  y = x * 2.0\n  z = y.permute(0, 2, 3, 1).contiguous()\n  z.mul_(3.0)\n  return y\n"},
    {"NotToAConcatenationOfOne",
     "  y = x * 2.0\n  z = torch.cat([y], 1)\n  z.mul_(3.0)\n  return y + z\n"},
    {"NotToACopyOfTheSameType",
     "  y = x * 2.0\n  z = y.to(6, False, True)\n  z.mul_(3.0)\n  return y + z\n"},
    {"NotToWhatLibTorchReads",
     "  y = x.mean([2, 3])\n  z = y.clone()\n  z.square_()\n  return y + z\n"},
    {"NotToAClone", "  y = x * 2.0\n  z = y.clone()\n  z.relu_()\n  return y\n"},
    {"ToAPartOfAList",
     "  y = x * 2.0\n  l = [y, y * 2.0]\n  y.cumsum_(1)\n  return torch.cat(l, 1)\n"},
    {"ToAPartOfAListThatFreezingLoses",
     "  y = x * 2.0\n  l = [y, y * 2.0]\n  y.sigmoid_()\n  return torch.cat(l, 1)\n"},
    {"BeforeAnIdleDropout",
     "  y = x * 2.0\n  z = torch.dropout(y, 0.5, False)\n  y.sigmoid_()\n  return z\n"},
    {"BehindAnIdleDropout",
     "  y = x * 2.0\n  z = torch.dropout(y, 0.5, False)\n  z.sigmoid_()\n  return y\n"},
    {"ToAListThatGrows",
     "  l = [x]\n  for i in range(3):\n    l.append(l[-1] * 2.0)\n  l += [x + 1.0]\n"
     "  return torch.cat(l, 1)\n"},
    {"ToADictionary",
     "  d: Dict[str, Tensor] = {}\n  d[\"a\"] = x * 2.0\n  d[\"b\"] = d[\"a\"] + 1.0\n"
     "  return d[\"b\"] * d[\"a\"]\n"},
    {"AndAskADictionary",
     "  d: Dict[str, Tensor] = {}\n  d[\"a\"] = x * 2.0\n  d[\"b\"] = x + 1.0\n  s = x\n"
     "  for k in d.keys():\n    s = s * 0.5 + d[k]\n  for v in d.values():\n    s = s * 0.5 + v\n"
     "  for k, v in d.items():\n    s = s * 0.5 + v\n  return s if \"b\" in d else x\n"},
};

class TorchScriptWrites : public ::testing::TestWithParam<WriteCase> {};

TEST_P(TorchScriptWrites, GiveLibTorchsAnswer) {
  const ScriptFile file(std::string("def forward(self, x):\n") + GetParam().body);
  const std::vector<Tensor> inputs = {RandomTensor({1, 3, 6, 8}, 5)};
  const OwnRun own = RunOwn(file.path(), inputs);
  const std::vector<Tensor> expected = TorchModule(file.path()).Run(inputs);
  ASSERT_EQ(own.outputs.size(), expected.size());
  EXPECT_LE(RelativeError(expected[0], own.outputs[0]), 1e-6);
}

// LibTorch's executor forgets that a part of a list holds the list's tensors.
TEST(TorchScriptListWrites, ReachAPartOfAPartOfAList) {
  const ScriptFile file(
      "def forward(self, x):\n  y = x * 2.0\n  l = [x, y, y * 2.0]\n  m = l[1:]\n"
      "  y.sigmoid_()\n  return torch.cat(m, 1)\n");
  const ScriptFile plain(
      "def forward(self, x):\n  y = x * 2.0\n  return torch.cat([torch.sigmoid(y), y * 2.0], 1)\n");
  const std::vector<Tensor> inputs = {RandomTensor({1, 3, 6, 8}, 5)};
  const OwnRun own = RunOwn(file.path(), inputs);
  EXPECT_LE(RelativeError(TorchModule(plain.path()).Run(inputs)[0], own.outputs[0]), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(All, TorchScriptWrites, ::testing::ValuesIn(kWritingCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace cacheinf::testing
