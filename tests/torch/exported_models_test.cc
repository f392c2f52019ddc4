// The networks of scripts/export_models, as TorchScript and as ONNX, against LibTorch.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/testing/places.h"
#include "tests/testing/torch_module.h"
#include "tests/torch/script_file.h"

namespace cacheinf::testing {
namespace {

constexpr double kLargestError = 1e-4;  // of the output's range

nlohmann::json ListedModels() {
  return nlohmann::json::parse(std::ifstream(SourceFolder() / "tests/parity/models.json"));
}

std::vector<std::string> ListedNames() {
  std::vector<std::string> names;
  const nlohmann::json models = ListedModels();
  for (auto model = models.begin(); model != models.end(); ++model) names.push_back(model.key());
  return names;
}

std::filesystem::path ExportFolder() {
  if (const char* folder = std::getenv("CACHEINF_MODELS")) return folder;
  if (const char* cache = std::getenv("CACHEINF_CACHE")) {
    return std::filesystem::path(cache) / "models";
  }
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home ? home : ".") / ".cache/cacheinf/models";
}

class ExportedModels : public ::testing::TestWithParam<std::string> {
 protected:
  void Compare(const std::string& ending) {
    const std::filesystem::path script = ExportFolder() / (GetParam() + ".pt");
    const std::filesystem::path model = ExportFolder() / (GetParam() + ending);
    if (!std::filesystem::exists(script) || !std::filesystem::exists(model)) {
      GTEST_SKIP() << "not exported here: scripts/export_models " << GetParam() << " makes it";
    }
    const Shape shape = ListedModels()[GetParam()]["input_shape"].get<Shape>();
    // The networks' normalisation expects a picture's range; far outside it, rounding alone moves
    // a random network's answer by more than 1e-4 between LibTorch's float and double.
    const std::vector<Tensor> inputs = {RandomPicture(shape, 11)};
    const std::vector<Tensor> expected = TorchModule(script).Run(inputs);
    const OwnRun own = RunOwn(model, inputs);
    ASSERT_EQ(own.outputs.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      const double error = RelativeError(expected[i], own.outputs[i]);
      EXPECT_LE(error, kLargestError) << "output " << i;
      std::printf("%s%s %s, output %zu: relative error %.2g\n", GetParam().c_str(), ending.c_str(),
                  ToString(shape).c_str(), i, error);
    }
  }
};

TEST_P(ExportedModels, AgreesWithLibTorchAsTorchScript) { Compare(".pt"); }
TEST_P(ExportedModels, AgreesWithLibTorchAsOnnx) { Compare(".onnx"); }

INSTANTIATE_TEST_SUITE_P(All, ExportedModels, ::testing::ValuesIn(ListedNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace cacheinf::testing
