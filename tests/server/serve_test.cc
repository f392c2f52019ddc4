// Robot and server as programs, over MPI: whatever travels between them, lossless codecs and the
// exact policy give the bits of a robot that computes every frame alone.

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/file.h"
#include "common/model/graph/pack.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/networks.h"
#include "tests/testing/places.h"
#include "tests/testing/process.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using Words = std::vector<std::string>;

const milliseconds kLong(30000);
const std::map<std::string, std::string> kEnvironment = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                                         {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};

std::map<std::string, std::string> OutputsIn(const fs::path& folder) {
  std::map<std::string, std::string> outputs;
  for (const auto& file : fs::directory_iterator(folder)) {
    outputs[file.path().filename()] = ReadFile(file.path());
  }
  return outputs;
}

class Serve : public FolderTest {
 protected:
  void SetUp() override {
    graph_ = MakeNetwork(TenNetworks().front(), 64, 96);
    WritePack(*graph_, folder_ / "model");
    Process dense(Robot("dense", {"--mode", "dense"}));
    ASSERT_EQ(dense.Wait(kLong), 0) << dense.output();
    dense_ = OutputsIn(folder_ / "dense");
    ASSERT_EQ(dense_.size(), 12 * graph_->outputs.size());
  }

  Words Robot(const std::string& outputs, const Words& more) const {
    Words words = {ProgramPath("cacheinf-robot"),
                   "run",
                   "--model",
                   folder_ / "model",
                   "--source",
                   "generated:seed=3,frames=12,width=96,height=64",
                   "--threads",
                   "1",
                   "--policy",
                   "exact",
                   "--dump-outputs",
                   folder_ / outputs,
                   "--summary",
                   folder_ / (outputs + ".json"),
                   "--answers",
                   folder_ / (outputs + ".jsonl")};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  Words Server(const Words& more) const {
    Words words = {ProgramPath("cacheinf-server"), "--threads", "1", "--models",
                   folder_ / "models"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  // Both in one mpirun. Returns the robot's outputs.
  std::map<std::string, std::string> Together(const Words& how) const {
    Words robot = {"--server", "mpi", "--server-wait", "10"};
    robot.insert(robot.end(), how.begin(), how.end());
    Words words = {"mpirun", "--bind-to", "none", "--oversubscribe", "-n", "1"};
    const Words robot_words = Robot("together", robot);
    words.insert(words.end(), robot_words.begin(), robot_words.end());
    words.insert(words.end(), {":", "-n", "1"});
    const Words server_words = Server({"--once"});
    words.insert(words.end(), server_words.begin(), server_words.end());
    fs::remove_all(folder_ / "together");
    Process both(words, kEnvironment);
    EXPECT_EQ(both.Wait(kLong), 0) << both.output();
    return OutputsIn(folder_ / "together");
  }

  // In how many frames the server had a part.
  size_t FramesServed(const std::string& outputs) const {
    std::ifstream lines(folder_ / (outputs + ".jsonl"));
    size_t count = 0;
    for (std::string line; std::getline(lines, line);) {
      count += line.find("\"server\"") != std::string::npos;
    }
    return count;
  }

  std::shared_ptr<const Graph> graph_;
  std::map<std::string, std::string> dense_;
};

TEST_F(Serve, PicturesComeBackAsTheDenseAnswersBits) {
  for (const char* const codec : {"raw", "png", "blocks:raw"}) {
    for (const char* const mode : {"dense", "cache"}) {
      EXPECT_EQ(Together({"--mode", "remote", "--codec", codec, "--server-mode", mode}), dense_)
          << codec << " " << mode;
      EXPECT_EQ(FramesServed("together"), 12u) << codec << " " << mode;
    }
  }
}

TEST_F(Serve, ALossyPictureIsAnsweredFromTheServer) {
  EXPECT_NE(Together({"--mode", "remote", "--codec", "jpeg:30"}), dense_);
  EXPECT_EQ(FramesServed("together"), 12u);
}

TEST_F(Serve, RowsOnTwoSidesGiveTheDenseAnswersBits) {
  const std::string input = graph_->value(graph_->inputs.front()).name;
  const std::string inner = graph_->operators[graph_->operators.size() / 2].name;
  for (const Words& cuts : std::vector<Words>{{"--cut", input},
                                              {"--cut", input + ":0.5"},
                                              {"--cut", inner},
                                              {"--cut", inner + ":0.3", "--slice-codec", "zstd"}}) {
    Words how = {"--mode", "split"};
    how.insert(how.end(), cuts.begin(), cuts.end());
    EXPECT_EQ(Together(how), dense_) << cuts.back();
    EXPECT_EQ(FramesServed("together"), 12u) << cuts.back();
  }
}

TEST_F(Serve, WithoutAServerTheRobotAnswersAlone) {
  std::ofstream(folder_ / "name-server") << "1234.0;tcp://127.0.0.1:9\n";
  Process robot(Robot("alone", {"--mode", "remote", "--server", "mpi:nobody", "--name-server",
                                folder_ / "name-server"}),
                kEnvironment);
  EXPECT_EQ(robot.Wait(kLong), 0) << robot.output();
  EXPECT_EQ(OutputsIn(folder_ / "alone"), dense_);
}

TEST_F(Serve, WhatCannotBeIsOneSentenceAndExitCodeTwo) {
  const std::vector<std::pair<Words, std::string>> cases = {
      {{"--mode", "remote"}, "needs a server"},
      {{"--mode", "split", "--server", "mpi"}, "needs a cut"},
      {{"--mode", "split", "--server", "mpi", "--cut", "nothing"}, "no value \"nothing\""},
      {{"--mode", "remote", "--server", "tcp:somewhere"}, "--server takes mpi or mpi:NAME"},
  };
  for (const auto& [options, sentence] : cases) {
    Process robot(Robot("refused", options), kEnvironment);
    EXPECT_EQ(robot.Wait(kLong), 2) << robot.output();
    EXPECT_NE(robot.output().find(sentence), std::string::npos) << robot.output();
  }
  Process server(Server({"--listen", "udp"}), kEnvironment);
  EXPECT_EQ(server.Wait(kLong), 2) << server.output();
  EXPECT_NE(server.output().find("--listen takes"), std::string::npos) << server.output();
}

}  // namespace
}  // namespace cacheinf
