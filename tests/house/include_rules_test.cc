// Read this first: which folder may include which.

#include "tests/house/include_rules.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/testing/places.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(IncludeRulesTest, NoFileOfThisRepositoryIncludesWhatItMustNotKnow) {
  const fs::path root = SourceFolder();
  int checked = 0;
  const auto violations = IncludeViolations(root, TorchSources(root), &checked);
  EXPECT_TRUE(violations.empty()) << Joined(violations);
  EXPECT_GT(checked, 20);
}

TEST(IncludeRulesTest, FindsTheListOfFilesCompiledWithLibTorch) {
  const auto sources = TorchSources(SourceFolder());
  EXPECT_TRUE(sources.contains("common/model/torchscript/foreign_operator.cc"));
  for (const std::string& source : sources) {
    EXPECT_TRUE(fs::exists(SourceFolder() / source)) << source;
  }
}

// A tree of one file with one include, in a folder of its own.
class PlantedIncludeTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) /
            ("include_rules_" +
             std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void Plant(const std::string& file, const std::string& include) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << "#include " << include << "\n";
  }

  std::vector<std::string> Check(int expected_files) {
    int checked = 0;
    auto violations =
        IncludeViolations(root_, {"common/model/torchscript/foreign_operator.cc"}, &checked);
    EXPECT_EQ(checked, expected_files);
    return violations;
  }

  std::vector<std::string> CheckOne(const std::string& file, const std::string& include) {
    fs::remove_all(root_);
    Plant(file, include);
    return Check(1);
  }

 private:
  fs::path root_;
};

TEST_F(PlantedIncludeTest, EveryWrongDirectionIsFound) {
  const std::pair<const char*, const char*> wrong[] = {
      {"sparse_ops/a.h", "\"common/model/graph/graph.h\""},
      {"common/model/a.cc", "\"profiler/machine.h\""},
      {"common/model/a.cc", "\"client/robot.h\""},
      {"profiler/a.cc", "\"scheduler/planner.h\""},
      {"scheduler/a.cc", "\"profiler/measure.h\""},
      {"profiler/a.cc", "\"client/robot.h\""},
      {"profiler/main.cc", "\"client/robot.h\""},
      {"client/a.cc", "\"server/server.h\""},
      {"server/deep/er/a.h", "\"client/robot.h\""},
      {"client/a.cc", "\"robot.h\""},
      {"client/a.cc", "\"../common/model/graph.h\""},
      {"sparse_ops/a.cc", "<opencv2/core.hpp>"},
      {"sparse_ops/a.cc", "<nlohmann/json.hpp>"},
      {"sparse_ops/a.cc", "<torch/script.h>"},
      {"common/exec/a.cc", "<torch/script.h>"},
      {"client/a.h", "<ATen/ATen.h>"},
      {"client/main.cc", "\"robot.h\""},
      {"client/main.cc", "<torch/script.h>"},
  };
  for (const auto& [file, include] : wrong) {
    EXPECT_EQ(CheckOne(file, include).size(), 1u) << file << " " << include;
  }
}

TEST_F(PlantedIncludeTest, EveryRightDirectionPasses) {
  const std::pair<const char*, const char*> right[] = {
      {"sparse_ops/a.h", "\"sparse_ops/views.h\""},
      {"sparse_ops/a.cc", "<hwy/highway.h>"},
      {"sparse_ops/a.cc", "\"hwy/foreach_target.h\""},
      {"sparse_ops/a.cu", "<cuda_runtime_api.h>"},
      {"common/base/a.cc", "\"sparse_ops/views.h\""},
      {"common/base/a.cc", "<opencv2/core.hpp>"},
      {"common/model/torchscript/foreign_operator.cc", "<torch/script.h>"},
      {"client/a.cc", "\"profiler/machine.h\""},
      {"server/a.cc", "\"scheduler/planner.h\""},
  };
  for (const auto& [file, include] : right) {
    EXPECT_TRUE(CheckOne(file, include).empty()) << file << " " << include;
  }
}

// From below to above, once for each room but the highest, and between rooms side by side.
TEST_F(PlantedIncludeTest, EveryWrongDirectionBetweenRoomsIsFound) {
  const std::pair<const char*, const char*> wrong[] = {
      {"sparse_ops/ops.h", "sparse_ops/mask/mask.h"},
      {"sparse_ops/mask/a.h", "sparse_ops/warp.h"},
      {"sparse_ops/warp.h", "sparse_ops/reference/warp.h"},
      {"sparse_ops/reference/a.cc", "sparse_ops/cpu/cpu.h"},
      {"sparse_ops/cpu/a.cc", "sparse_ops/cuda/device.h"},
      {"sparse_ops/cuda/a.cu", "sparse_ops/cpu/cpu.h"},
      {"common/base/a.h", "common/model/graph/graph.h"},
      {"common/model/graph/a.cc", "common/model/picture.h"},
      {"common/model/picture.cc", "common/model/load.h"},
      {"common/model/onnx/a.cc", "common/model/load.h"},
      {"common/model/onnx/a.cc", "common/exec/model_state.h"},
      {"common/model/torchscript/a.cc", "common/exec/model_state.h"},
      {"common/model/torchscript/a.cc", "common/model/onnx/onnx.h"},
      {"common/backend/a.cc", "common/backend/host/cpu_backend.h"},
      {"common/backend/device/a.cc", "common/backend/host/cpu_backend.h"},
      {"common/backend/host/a.cc", "common/exec/layout.h"},
      {"common/exec/a.cc", "common/backend/host/cpu_backend.h"},
      {"common/exec/a.cc", "common/backend/device/device_queue.h"},
      {"common/model/passes/a.cc", "common/exec/model_state.h"},
      {"common/exec/a.cc", "common/model/passes/passes.h"},
      {"common/exec/a.cc", "common/plan/plan.h"},
      {"common/exec/a.cc", "common/config/cache_config.h"},
      {"common/exec/a.cc", "common/reuse/inset.h"},
      {"common/model/passes/a.cc", "common/model/load.h"},
      {"common/model/load.cc", "common/config/fields.h"},
      {"common/config/a.cc", "common/exec/model_state.h"},
      {"common/config/a.cc", "common/reuse/inset.h"},
      {"common/plan/a.cc", "common/reuse/inset.h"},
      {"common/plan/a.cc", "common/link/link.h"},
      {"common/link/a.cc", "common/reuse/inset.h"},
      {"common/reuse/a.cc", "common/source/frame_source.h"},
      {"common/reuse/a.cc", "common/guard/guard.h"},
      {"common/reuse/a.cc", "common/answer/answers.h"},
      {"common/source/a.cc", "common/exec/model_state.h"},
      {"common/tracker/a.cc", "common/reuse/inset.h"},
      {"common/tracker/a.cc", "common/exec/scroll.h"},
      {"common/answer/a.cc", "common/reuse/inset.h"},
      {"common/answer/a.cc", "common/pair/messages.h"},
      {"client/answer/a.cc", "client/robot.h"},
      {"client/robot.cc", "client/record/recorder.h"},
      {"client/robot.cc", "client/run/run.h"},
      {"client/record/a.cc", "client/run/run.h"},
      {"client/record/a.cc", "client/calibrate/calibrate.h"},
      {"client/calibrate/a.cc", "client/run/run.h"},
      {"client/live_robot.cc", "client/ros/robot_node.h"},
      {"client/ros/a.cc", "client/run/run.h"},
      {"client/ros/a.cc", "client/ros/ros2/node.h"},
      {"client/ros/ros2/a.cc", "client/record/recorder.h"},
      {"client/python/a.cc", "client/run/run.h"},
      {"client/python/a.cc", "client/ros/robot_node.h"},
  };
  for (const auto& [file, included] : wrong) {
    const auto violations = CheckOne(file, "\"" + std::string(included) + "\"");
    ASSERT_EQ(violations.size(), 1u) << file << " " << included;
    EXPECT_NE(violations[0].find(" must not know "), std::string::npos) << violations[0];
  }
}

TEST_F(PlantedIncludeTest, EveryRightDirectionBetweenRoomsPasses) {
  const std::pair<const char*, const char*> right[] = {
      {"sparse_ops/cpu/a.cc", "sparse_ops/views.h"},
      {"sparse_ops/reference/warp.h", "sparse_ops/warp.h"},
      {"common/exec/a.cc", "common/base/clock.h"},
      {"common/exec/a.cc", "common/model/graph/graph.h"},
      {"common/exec/a.cc", "common/backend/backend.h"},
      {"common/guard/a.cc", "common/reuse/reuse.h"},
      {"common/reuse/a.cc", "common/tracker/loss.h"},
      {"common/source/a.cc", "common/model/picture.h"},
      {"client/robot.cc", "common/tracker/tracker.h"},
      {"client/run/main.cc", "client/record/replay.h"},
      {"client/run/run.cc", "client/robot.h"},
  };
  for (const auto& [file, included] : right) {
    EXPECT_TRUE(CheckOne(file, "\"" + std::string(included) + "\"").empty())
        << file << " " << included;
  }
}

TEST_F(PlantedIncludeTest, AFileInNoRoomIsFound) {
  EXPECT_EQ(CheckOne("common/a.cc", "\"common/base/clock.h\"").size(), 1u);
  EXPECT_EQ(CheckOne("common/utils/a.cc", "\"common/base/clock.h\"").size(), 1u);
  EXPECT_EQ(CheckOne("common/tracker/deeper/a.cc", "\"common/tracker/tracker.h\"").size(), 1u);
}

TEST_F(PlantedIncludeTest, AHeaderThatBringsLibTorchStaysAmongTheFilesCompiledWithIt) {
  Plant("common/model/graph/importer.h", "<torch/script.h>");
  Plant("common/model/torchscript/foreign_operator.cc", "\"common/model/graph/importer.h\"");
  EXPECT_TRUE(Check(2).empty());
  Plant("common/exec/state.cc", "\"common/model/graph/importer.h\"");
  EXPECT_EQ(Check(3).size(), 1u);
}

}  // namespace
}  // namespace cacheinf
