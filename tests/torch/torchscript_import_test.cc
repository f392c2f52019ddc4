// Read this first: a TorchScript file becomes a graph. Which operators stay LibTorch calls, what is
// refused, and how the importer says so.

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/import.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include "common/base/error.h"
#include "common/model/torchscript/torchscript.h"
#include "tests/testing/places.h"
#include "tests/testing/refusal.h"
#include "tests/testing/torch_module.h"
#include "tests/torch/script_file.h"

namespace cacheinf::testing {
namespace {

std::string Refusal(const std::filesystem::path& path, const std::vector<Shape>& shapes) {
  return RefusalOf([&] { ImportTorchScript(path, {shapes, true}); });
}

int CountForeign(const Graph& graph) {
  return static_cast<int>(std::count_if(graph.operators.begin(), graph.operators.end(),
                                        [](const Operator& op) { return op.As<op::Foreign>(); }));
}

struct ForeignCase {
  const char* name;
  const char* body;
};
void PrintTo(const ForeignCase& c, std::ostream* out) { *out << c.name; }

class ForeignOperators : public ::testing::TestWithParam<ForeignCase> {};

TEST_P(ForeignOperators, StayALibTorchCallAndAgree) {
  const ScriptFile file("def forward(self, x):\n  y = torch.relu(x)\n  " +
                        std::string(GetParam().body) + "\n");
  const std::vector<Tensor> inputs = {RandomTensor({1, 4, 6, 5}, 3)};
  const OwnRun own = RunOwn(file.path(), inputs);
  EXPECT_GE(CountForeign(own.graph), 1);
  const std::vector<Tensor> expected = TorchModule(file.path()).Run(inputs);
  ASSERT_EQ(own.outputs.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_LE(RelativeError(expected[i], own.outputs[i]), 1e-6) << "output " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ForeignOperators,
    ::testing::Values(
        ForeignCase{"one_tensor", "return torch.cumsum(y, 1) + x"},
        ForeignCase{"two_outputs", "a, b = torch.sort(y, 3)\n  return a, b"},
        ForeignCase{"list_argument", "return torch.hstack([y, x])"},
        ForeignCase{"list_result", "return torch.tensor_split(y, 3, 3)[1]"},
        ForeignCase{"mask", "return torch.where(x > 0.0, y, x * 2.0)"},
        ForeignCase{"integers", "return torch.gather(y, 3, torch.argmax(x, 3, True))"},
        ForeignCase{"type_of_integers", "return (y * 2.5).type_as(torch.argmax(x, 1, True))"},
        ForeignCase{"moved_mask", "return x * ~((x > 0.0).unsqueeze(1).squeeze(1))"},
        ForeignCase{"part_of_a_mask", "return torch.where((x > 0.0)[:, 0:1], y, y * 2.0)"},
        ForeignCase{"either_of_masks", "return x * ((x > -1.0) + (x < 1.0))"},
        ForeignCase{"to_other_type", "return (y * 2.5).to(torch.argmax(x, 1, True))"},
        ForeignCase{"sum_of_integers", "return torch.sum(y * 3.0, [1], False, dtype=4)"},
        ForeignCase{"type_of_floats", "return torch.argmax(x, 1, True).type_as(y)"},
        ForeignCase{"kept_constant", "return torch.repeat_interleave(y, 2, 1)"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(TorchScriptImport, InPlaceOperatorChangesEveryNameOfItsTarget) {
  const ScriptFile file(
      "def forward(self, x):\n  y = x * 2.0\n  z = y\n  y.cumsum_(1)\n  return z + 1.0\n");
  const std::vector<Tensor> inputs = {RandomTensor({1, 4, 3, 3}, 5)};
  const OwnRun own = RunOwn(file.path(), inputs);
  EXPECT_LE(RelativeError(TorchModule(file.path()).Run(inputs)[0], own.outputs[0]), 1e-6);
}

TEST(TorchScriptImport, NamesOutputsByTheirDictionaryKeys) {
  const ScriptFile file("def forward(self, x):\n  return {\"out\": x + 1.0, \"aux\": x * 2.0}\n");
  const Graph graph = ImportTorchScript(file.path(), {{{1, 2, 3, 3}}, true});
  ASSERT_EQ(graph.outputs.size(), 2u);
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "out");
  EXPECT_EQ(graph.value(graph.outputs[1]).name, "aux");
}

TEST(TorchScriptImport, LeavesOutWhatIsNone) {
  const ScriptFile file("def forward(self, x):\n  return x + 1.0, None, (x * 2.0, None)\n");
  const Graph graph = ImportTorchScript(file.path(), {{{1, 2, 3, 3}}, true});
  ASSERT_EQ(graph.outputs.size(), 2u);
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "output_0");
  EXPECT_EQ(graph.value(graph.outputs[1]).name, "output_2_0");
}

TEST(TorchScriptImport, LeavesOutWhatAForeignOperatorDoesNotGive) {
  const ScriptFile file(
      "def forward(self, x):\n"
      "  y, weights = torch._native_multi_head_attention(x, x, x, 4, 2, self.p, self.q, self.r, "
      "self.s, None, False, True, None)\n"
      "  pair = (y, weights)\n  return pair[0]\n",
      {{"p", RandomWeights({12, 4}, 1)},
       {"q", RandomWeights({12}, 2)},
       {"r", RandomWeights({4, 4}, 3)},
       {"s", RandomWeights({4}, 4)}});
  const std::vector<Tensor> inputs = {RandomTensor({1, 6, 4}, 3)};
  const OwnRun own = RunOwn(file.path(), inputs);
  EXPECT_LE(RelativeError(TorchModule(file.path()).Run(inputs)[0], own.outputs[0]), 1e-6);
}

TEST(TorchScriptImport, KnowsWhichTensorIsWhich) {
  const ScriptFile file(
      "def forward(self, x):\n  y = x * 2.0\n  z = y\n  a = x + 1.0 if z is y else x\n"
      "  b = x + 2.0 if x is y else x\n  c = x + 4.0 if self.w is not x else x\n"
      "  return a + b + c\n",
      {{"w", at::ones({1})}});
  const std::vector<Tensor> inputs = {RandomTensor({1, 2, 3, 3}, 3)};
  const OwnRun own = RunOwn(file.path(), inputs);
  EXPECT_LE(RelativeError(TorchModule(file.path()).Run(inputs)[0], own.outputs[0]), 1e-6);
}

TEST(TorchScriptImport, RefusesAModuleThatGivesNothing) {
  const ScriptFile file("def forward(self, x):\n  return None\n");
  EXPECT_NE(Refusal(file.path(), {{1, 2, 3, 3}}).find("returns nothing"), std::string::npos);
}

// Weights with gradients are parameters of a module, which LibTorch does not make constants.
TEST(TorchScriptImport, GivesForeignOperatorsWeightsThatHadGradients) {
  const ScriptFile file(
      "def forward(self, x):\n  return torch.tensordot(x, self.w, [1], [0]) + self.w[0, 0]\n",
      {{"w", RandomWeights({4, 3}, 2).requires_grad_()}});
  const std::vector<Tensor> inputs = {RandomTensor({1, 4, 6, 5}, 3)};
  const OwnRun own = RunOwn(file.path(), inputs);
  EXPECT_EQ(CountForeign(own.graph), 1);
  EXPECT_LE(RelativeError(TorchModule(file.path()).Run(inputs)[0], own.outputs[0]), 1e-6);
}

TEST(TorchScriptImport, AsksForTheShapesItNeeds) {
  const ScriptFile file("def forward(self, x):\n  return x\n");
  EXPECT_NE(Refusal(file.path(), {}).find("takes 1 input(s)"), std::string::npos);
}

TEST(TorchScriptImport, RefusesControlFlowThatDependsOnThePicture) {
  const ScriptFile file(
      "def forward(self, x):\n  if bool(torch.sum(x) > 0.0):\n    x = x + 1.0\n  return x\n");
  const std::string refusal = Refusal(file.path(), {{1, 2, 3, 3}});
  EXPECT_NE(refusal.find("depends on what the picture shows"), std::string::npos) << refusal;
}

TEST(TorchScriptImport, RefusesToDrawRandomNumbers) {
  const ScriptFile file("def forward(self, x):\n  return x + torch.rand([3])\n");
  EXPECT_NE(Refusal(file.path(), {{1, 2, 3, 3}}).find("random"), std::string::npos);
}

// Damaged copies of a small file. The format is trusted, so nothing more is promised than one
// sentence about a flipped bit or a lost end.
class DamagedTorchScript : public ::testing::Test {
 protected:
  DamagedTorchScript() {
    const ScriptFile file("def forward(self, x):\n  return torch.conv2d(x, self.w)\n",
                          {{"w", RandomWeights({8, 4, 3, 3}, 1)}});
    std::ostringstream bytes;  // a stream, so that the module does not contain a file's name
    torch::jit::load(file.path().string()).save(bytes);
    whole_ = std::move(bytes).str();
  }
  ~DamagedTorchScript() override { std::filesystem::remove(path_); }

  // Returns whether the bytes were refused.
  bool Try(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary) << bytes;
    const std::string refusal = Refusal(path_, {{1, 4, 5, 5}});
    if (refusal.empty()) return false;
    EXPECT_EQ(refusal.find('\n'), std::string::npos) << refusal;
    EXPECT_NE(refusal.find(path_.filename().string()), std::string::npos) << refusal;
    return true;
  }

  std::string whole_;
  const std::filesystem::path path_ = std::filesystem::temp_directory_path() /
                                      ("cacheinf_damaged_" + std::to_string(getpid()) + ".pt");
};

TEST_F(DamagedTorchScript, IsRefusedInOneSentenceWhereverItEnds) {
  EXPECT_FALSE(Try(whole_));
  constexpr size_t kEnds = 60;
  for (size_t i = 0; i < kEnds; ++i) EXPECT_TRUE(Try(whole_.substr(0, whole_.size() * i / kEnds)));
  EXPECT_TRUE(Try(whole_.substr(0, whole_.size() - 1)));
}

TEST_F(DamagedTorchScript, IsReadOrRefusedInOneSentenceWhicheverBitsAreFlipped) {
  constexpr uint64_t kSeed = 20240613;
  constexpr int kFlips = 300;
  RecordProperty("seed", std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  int refused = 0;
  for (int i = 0; i < kFlips; ++i) {
    std::string bytes = whole_;
    bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    refused += Try(bytes);
  }
  EXPECT_GT(refused, kFlips / 10);
  EXPECT_LT(refused, kFlips);
}

TEST(TorchScriptImport, FollowsASubmoduleThatIsKnownByItsInterface) {
  const std::filesystem::path path = SourceFolder() / "tests/torch/files/interface_submodule.pt";
  const std::vector<Tensor> inputs = {RandomTensor({1, 3, 5, 4}, 11)};
  const OwnRun own = RunOwn(path, inputs);
  EXPECT_EQ(CountForeign(own.graph), 0);
  EXPECT_LE(RelativeError(TorchModule(path).Run(inputs)[0], own.outputs[0]), 1e-6);
}

TEST(TorchScriptImport, NamesAMissingFile) {
  EXPECT_NE(Refusal("/nowhere/net.pt", {}).find("no such file"), std::string::npos);
}

}  // namespace
}  // namespace cacheinf::testing
