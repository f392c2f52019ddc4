#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/testing/command.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/places.h"

// scripts/quantize on the demo's network, from its frames to a run of what it makes.

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

constexpr const char* kClip = "generated:seed=7,width=320,height=240,frames=18,shapes=12";

fs::path PythonWithOnnxRuntime() {
  const char* const cache = std::getenv("CACHEINF_CACHE");
  const char* const home = std::getenv("HOME");
  const fs::path folder = cache != nullptr
                              ? fs::path(cache)
                              : fs::path(home != nullptr ? home : "") / ".cache/cacheinf";
  return folder / "parity-venv/bin/python";
}

class QuantizeTest : public FolderTest {
 protected:
  void SetUp() override {
    if (fs::exists(PythonWithOnnxRuntime())) return;
    GTEST_SKIP() << "no environment with ONNX Runtime yet: scripts/quantize or scripts/test "
                    "installs it";
  }

  CommandResult Quantize(const fs::path& model, const std::vector<std::string>& more = {}) {
    std::vector<std::string> command = {
        (SourceFolder() / "scripts/quantize").string(),
        model.string(),
        kClip,
        "--config",
        config_.string(),
        "--programs",
        fs::path(ProgramPath("cacheinf-robot")).parent_path().string(),
        "--out",
        quantised_.string(),
        "--frames",
        "12",
        "--rounds",
        "1"};
    command.insert(command.end(), more.begin(), more.end());
    return RunCommand(command);
  }

  const fs::path demo_ = SourceFolder() / "configs/models/demo_segmentation.onnx";
  const fs::path config_ = SourceFolder() / "configs/demo.json";
  const fs::path quantised_ = folder_ / "demo.int8.onnx";
};

TEST_F(QuantizeTest, TheDemosNetworkAgreesAndRunsInEightBits) {
  const CommandResult made = Quantize(demo_, {"--agreement", ".9"});
  ASSERT_EQ(made.exit_code, 0) << made.out << made.error;
  EXPECT_NE(made.out.find("are held out"), std::string::npos) << made.out;
  EXPECT_TRUE(fs::exists(folder_ / "demo.int8.svg"));
  EXPECT_TRUE(fs::exists(folder_ / "demo.int8.json"));

  const fs::path summary = folder_ / "summary.json";
  const CommandResult ran = RunCommand({ProgramPath("cacheinf-robot"),
                                        "run",
                                        "--config",
                                        config_.string(),
                                        "--model",
                                        quantised_.string(),
                                        "--against",
                                        demo_.string(),
                                        "--source",
                                        kClip,
                                        "--frames",
                                        "8",
                                        "--check",
                                        "2",
                                        "--shape",
                                        "1x3x240x320",
                                        "--mode",
                                        "cache",
                                        "--policy",
                                        "exact",
                                        "--summary",
                                        summary.string()});
  ASSERT_EQ(ran.exit_code, 0) << ran.error;
  std::ifstream stream(summary);
  const auto agreement = nlohmann::json::parse(stream)["agreement"];
  EXPECT_EQ(agreement["frames"], 4);
  EXPECT_GT(agreement["value"], 0.9);
  EXPECT_LT(agreement["value"], 1.0) << "the original is compared with itself";

  const CommandResult inspected = RunCommand(
      {ProgramPath("cacheinf-profile"), "inspect", quantised_.string(), "--shape", "1x3x240x320"});
  EXPECT_NE(inspected.out.find("quant_conv"), std::string::npos) << inspected.out;
  const CommandResult checked = RunCommand(
      {ProgramPath("cacheinf-profile"), "check", quantised_.string(), "--config", config_.string(),
       "--shape", "1x3x240x320", "--source", kClip, "--picture", folder_ / "drawn.png"});
  EXPECT_EQ(checked.exit_code, 0) << checked.error;
  EXPECT_NE(checked.out.find("a map of 240x320"), std::string::npos) << checked.out;
  // Quantising it again is refused.
  const CommandResult again = Quantize(quantised_);
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_NE(again.error.find("is quantised already"), std::string::npos) << again.error;
}

TEST_F(QuantizeTest, SaysWhatItReachedWhereThatIsTooLittle) {
  const CommandResult made =
      Quantize(demo_, {"--agreement", "1", "--most-float", "0", "--shape", "1x3x96x128"});
  EXPECT_EQ(made.exit_code, 1) << made.out << made.error;
  EXPECT_NE(made.error.find("an agreement of 1.0 is not reached: with "), std::string::npos)
      << made.error;
  EXPECT_NE(made.error.find("(--most-float, "), std::string::npos) << made.error;
  std::ifstream stream(folder_ / "demo.int8.json");
  const auto table = nlohmann::json::parse(stream);
  ASSERT_EQ(table["tried"].size(), 1u);
  EXPECT_GT(table["tried"][0]["ms"], 0.0);
  EXPECT_GT(table["original_ms"], 0.0);
}

TEST_F(QuantizeTest, RefusesWhatItCannotQuantise) {
  const fs::path text = folder_ / "text.onnx";
  std::ofstream(text) << "no network";
  const CommandResult damaged = Quantize(text);
  EXPECT_EQ(damaged.exit_code, 2);
  EXPECT_NE(damaged.error.find("text.onnx is no ONNX file"), std::string::npos) << damaged.error;
  const CommandResult nowhere = Quantize(demo_, {"--out", folder_ / "none" / "out.onnx"});
  EXPECT_EQ(nowhere.exit_code, 2);
  EXPECT_NE(nowhere.error.find("name another file with --out"), std::string::npos) << nowhere.error;
  const CommandResult shapeless = Quantize(demo_, {"--shape", "1x7x240x320"});
  EXPECT_EQ(shapeless.exit_code, 2) << shapeless.out << shapeless.error;
  EXPECT_FALSE(fs::exists(quantised_));
}

}  // namespace
}  // namespace cacheinf
