// Real networks on real clips, cut between a robot and a server over MPI.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/server/programs.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/process.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

constexpr int kFrames = 5;
constexpr std::chrono::milliseconds kVeryLong(180000);

struct RealNetwork {
  const char* name;  // of its file and configuration
  std::vector<std::string> cuts;
};

class RealNetworks : public FolderTest, public testing::WithParamInterface<RealNetwork> {
 protected:
  fs::path Model() const {
    return SharedData("models/" + std::string(GetParam().name) + "_384x640.onnx");
  }

  Arguments Robot(const std::string& outputs, const fs::path& clip, const Arguments& how) const {
    fs::remove_all(folder_ / outputs);
    return Arguments{ProgramPath("cacheinf-robot"),
                     "run",
                     "--config",
                     SourceFolder() / "configs" / (std::string(GetParam().name) + ".json"),
                     "--model",
                     Model(),
                     "--source",
                     clip,
                     "--frames",
                     std::to_string(kFrames),
                     "--threads",
                     "1",
                     "--policy",
                     "exact",
                     "--dump-outputs",
                     folder_ / outputs,
                     "--answers",
                     folder_ / "answers"} +
           how;
  }
};

INSTANTIATE_TEST_SUITE_P(
    SlowOf, RealNetworks,
    testing::Values(RealNetwork{"yolov5n",
                                {"/model.2/Concat:0.5", "/model.4/cv1/conv/Conv",
                                 "/model.9/m_2/MaxPool:0.3", "/model.20/m/m.0/cv1/conv/Conv"}},
                    RealNetwork{
                        "espnet",
                        {"/Concat:0.5", "/level2.1/Concat", "/level3.0/Add_3:0.3", "/Concat_3"}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_P(RealNetworks, WhereverTheyAreCutTheAnswerHasTheBitsOfADenseRun) {
  for (const char* const name : {"juggle", "road"}) {
    const fs::path clip = SharedData("video/" + std::string(name) + ".mp4");
    if (!fs::exists(clip) || !fs::exists(Model())) {
      GTEST_SKIP() << "there are no " << clip << " and " << Model();
    }
    Process dense(Robot("dense", clip, {"--mode", "dense"}));
    ASSERT_EQ(dense.Wait(kVeryLong), 0) << dense.output();
    const Files expected = FilesIn(folder_ / "dense");
    ASSERT_GE(expected.size(), size_t{kFrames});
    for (const std::string& cut : GetParam().cuts) {
      SCOPED_TRACE(testing::Message() << name << ", cut at " << cut);
      Process both(Together(Robot("together", clip,
                                  {"--mode", "split", "--cut", cut, "--server", "mpi",
                                   "--server-wait", "60"}),
                            Server(folder_ / "models", {"--once"})),
                   kEnvironment);
      ASSERT_EQ(both.Wait(kVeryLong), 0) << both.output();
      const Files outputs = FilesIn(folder_ / "together");
      ASSERT_EQ(outputs.size(), expected.size());
      int differing = 0;
      for (const auto& [file, bytes] : expected) differing += outputs.at(file) != bytes ? 1 : 0;
      EXPECT_EQ(differing, 0) << "of " << expected.size() << " files";
      const std::vector<std::string> lines = LinesOf(folder_ / "answers");
      EXPECT_EQ(std::count_if(lines.begin(), lines.end(), IsServed), kFrames);
    }
  }
}

}  // namespace
}  // namespace cacheinf
