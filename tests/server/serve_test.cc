// Read this first: robot and server as programs, over MPI. Lossless codecs and the exact policy
// give the bits of a robot that computes every frame alone, whatever travels between them.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/file.h"
#include "common/codec/picture_codec.h"
#include "common/config/configured_model.h"
#include "common/config/robot_config.h"
#include "common/model/graph/pack.h"
#include "common/pair/server_connection.h"
#include "common/source/frame_source.h"
#include "sparse_ops/cuda/real/device_query.h"
#include "tests/server/programs.h"
#include "tests/testing/command.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/linked_programs.h"
#include "tests/testing/networks.h"
#include "tests/testing/process.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSource = "generated:seed=3,frames=12,width=96,height=64";
// Frames of the source that a server has a part in. On a busy machine the robot may stop waiting
// and compute one alone.
constexpr int kMost = 10;

class Serve : public FolderTest {
 protected:
  void SetUp() override {
    graph_ = MakeNetwork(TenNetworks().front(), 64, 96);
    WritePack(*graph_, folder_ / "model");
    static const Files dense = Dense();
    ASSERT_EQ(dense.size(), 12 * graph_->outputs.size());
    dense_ = dense;
  }

  Arguments Robot(const std::string& outputs, const Arguments& more,
                  const std::string& source = kSource) const {
    return DumpingRobot(folder_, source, outputs,
                        Arguments{"--summary", folder_ / (outputs + ".json")} + more);
  }

  // The outputs of the robot alone.
  Files Dense(const std::string& source = kSource) const {
    fs::remove_all(folder_ / "dense");
    Process dense(Robot("dense", {"--mode", "dense"}, source));
    EXPECT_EQ(dense.Wait(kLong), 0) << dense.output();
    return FilesIn(folder_ / "dense");
  }

  // Runs both in one mpirun. Returns the robot's outputs.
  Files Together(const Arguments& how, const Arguments& server = {},
                 const std::string& source = kSource) const {
    fs::remove_all(folder_ / "together");
    Process both(
        cacheinf::Together(
            Robot("together", Arguments{"--server", "mpi", "--server-wait", "10"} + how, source),
            Server(folder_ / "models", Arguments{"--once"} + server)),
        kEnvironment);
    EXPECT_EQ(both.Wait(kLong), 0) << both.output();
    return FilesIn(folder_ / "together");
  }

  // Where the server looks for the model.
  fs::path ModelOnServer() const {
    RobotConfig config;
    config.model = folder_ / "model";
    config.output.dump_outputs = folder_ / "together";
    const MappedFile pack = PackForServers(LoadGraph(config, /*has_tensors=*/false));
    fs::create_directories(folder_ / "models");
    return folder_ / "models" /
           fmt::format("{:016x}-{}.cacheinf", PackChecksum({pack.data.get(), pack.size}),
                       pack.size);
  }

  // How many frames the server had a part in.
  int64_t FramesServed(const std::string& outputs) const {
    const std::vector<std::string> lines = LinesOf(folder_ / (outputs + ".jsonl"));
    return std::count_if(lines.begin(), lines.end(), IsServed);
  }

  std::shared_ptr<const Graph> graph_;
  Files dense_;
};

TEST_F(Serve, PicturesComeBackAsTheDenseAnswersBits) {
  for (const char* const codec : {"raw", "blocks:raw"}) {
    EXPECT_EQ(Together({"--mode", "remote", "--codec", codec, "--server-mode", "cache"}), dense_)
        << codec;
    EXPECT_GE(FramesServed("together"), kMost) << codec;
  }
}

TEST_F(Serve, TheRobotSamplesTheServersAnswers) {
  EXPECT_EQ(Together({"--mode", "remote", "--codec", "png", "--server-mode", "dense"}), dense_);
  std::ifstream file(folder_ / "together.json");
  const auto sampled = nlohmann::json::parse(file)["guard"]["plans"]["remote png dense"];
  EXPECT_GE(sampled["samples"], 1);
  EXPECT_EQ(sampled["agreement"], 1.0);
  EXPECT_EQ(sampled["fails"], false);
}

// Nothing is lost beyond what the codec loses.
class ServeLossy : public Serve {
 protected:
  void ExpectAnswersOfDumpedPictures(const std::string& codec, const std::string& mode) const {
    const fs::path pictures = folder_ / "pictures";
    SCOPED_TRACE(testing::Message() << codec << " " << mode);
    fs::remove_all(pictures);
    const Files answers = Together({"--mode", "remote", "--codec", codec, "--server-mode", mode},
                                   {"--dump-pictures", pictures});
    EXPECT_GE(FramesServed("together"), kMost);
    EXPECT_NE(answers, dense_);
    EXPECT_EQ(FilesIn(pictures / "1").size(), 12u);
    EXPECT_TRUE(fs::exists(pictures / "1" / "000011.png"));
    EXPECT_EQ(Dense(pictures / "1"), answers);
  }
};

TEST_F(ServeLossy, TheServersPicturesGiveTheServersAnswers) {
  ExpectAnswersOfDumpedPictures("jpeg:50", "dense");
  ExpectAnswersOfDumpedPictures("video:libx264", "cache");
}

TEST_F(Serve, WherePicturesCannotBeDumpedFramesAreServed) {
  const fs::path pictures = folder_ / "pictures";
  fs::create_directory(pictures);
  std::ofstream(pictures / "1") << "no folder";
  EXPECT_EQ(Together({"--mode", "remote", "--codec", "raw", "--server-mode", "dense"},
                     {"--dump-pictures", pictures}),
            dense_);
  EXPECT_GE(FramesServed("together"), kMost);
  EXPECT_TRUE(fs::is_regular_file(pictures / "1"));
}

TEST_F(ServeLossy, GStreamersPicturesGiveTheServersAnswers) {
  const std::string codec = "video:gst:x264enc tune=zerolatency speed-preset=ultrafast";
  try {
    const PictureEncoder works_here(ParsePictureCodec(codec), {64, 64, 3});
  } catch (const InputError& error) {
    GTEST_SKIP() << error.what();
  }
  ExpectAnswersOfDumpedPictures(codec, "cache");
}

// When the camera moves, answers depend on the server's word about where the frame lies.
TEST_F(Serve, OnTheServersCanvasAnswersAgreeAsOnTheRobotsOwn) {
  const auto summary_of = [&](const Arguments& how, bool is_together) {
    const Arguments robot =
        DemoRobot("generated:seed=6,frames=12,camera=travel,width=320,height=240",
                  Arguments{"--policy", "fixed", "--stem", "0", "--refresh", "0"} +
                      Arguments{"--geometry", "canvas", "--check", "1"} +
                      Arguments{"--summary", folder_ / "summary.json"} + how);
    Process process(
        is_together ? cacheinf::Together(robot, Server(folder_ / "models", {"--once"})) : robot,
        kEnvironment);
    EXPECT_EQ(process.Wait(kLong), 0) << process.output();
    std::ifstream file(folder_ / "summary.json");
    return nlohmann::json::parse(file);
  };
  // On a busy machine either side may find reuse slow by the clock, and compute a frame whole.
  constexpr int kTries = 5;
  double alone = 0, together = -1;
  for (int i = 0; i < kTries && alone != together; ++i) {
    const auto of_alone = summary_of({"--mode", "cache", "--guard", "off"}, false);
    const auto of_both = summary_of({"--mode", "remote", "--codec", "png", "--server-mode", "cache",
                                     "--server", "mpi", "--server-wait", "10"},
                                    true);
    EXPECT_GE(of_both["server"]["frames"], kMost);
    EXPECT_LT(of_both["server"]["work"], 0.9);
    alone = of_alone["agreement"]["miou"];
    together = of_both["agreement"]["miou"];
  }
  EXPECT_EQ(together, alone);
}

TEST_F(Serve, RowsOnTwoSidesGiveTheDenseAnswersBits) {
  const std::string inner = graph_->operators[graph_->operators.size() / 2].name;
  for (const Arguments& cuts : std::vector<Arguments>{
           {"--cut", inner}, {"--cut", inner + ":0.3", "--slice-codec", "zstd"}}) {
    EXPECT_EQ(Together(Arguments{"--mode", "split"} + cuts), dense_) << cuts.back();
    EXPECT_GE(FramesServed("together"), kMost) << cuts.back();
  }
}

// The line is yellow. In the video it shares its colour, but not its brightness, with a row beside
// it.
TEST_F(Serve, AnOverlayShowsWhereTheServersRowsBegin) {
  const std::string input = graph_->value(graph_->inputs.front()).name;
  const fs::path overlay = folder_ / "overlay.mp4";
  EXPECT_EQ(Together({"--mode", "split", "--cut", input + ":0.5", "--overlay", overlay}), dense_);
  EXPECT_GE(FramesServed("together"), kMost);
  const std::optional<Frame> first = OpenSource(overlay, SteadyClock())->Next();
  ASSERT_TRUE(first);
  int lines = 0;
  for (int y = 1; y < 63; ++y) {
    int yellow = 0;
    for (int x = 0; x < 96; ++x) {
      const uint8_t* const pixel = first->picture.Row(y) + ptrdiff_t{3} * x;
      yellow += std::min(pixel[1], pixel[2]) > 160 && pixel[2] - pixel[0] > 60 ? 1 : 0;
    }
    lines += yellow > 90 ? 1 : 0;
  }
  EXPECT_EQ(lines, 1);
}

// Slices leave and reach a device's memory. Emulated devices are slow, too, so that one served
// frame must do.
TEST_F(Serve, RowsOnDevicesGiveTheDenseAnswersBits) {
  const std::string source = "generated:seed=3,frames=3,width=96,height=64";
  const Files dense = Dense(source);
  const std::string input = graph_->value(graph_->inputs.front()).name;
  const std::string inner = graph_->operators[graph_->operators.size() / 2].name;
  const Arguments on_device = {"--backend", "cuda-emulated"};
  EXPECT_EQ(Together(Arguments{"--mode", "split", "--cut", input + ":0.5"} + on_device, {}, source),
            dense);
  EXPECT_GE(FramesServed("together"), 1);
  EXPECT_EQ(Together({"--mode", "split", "--cut", inner + ":0.3"}, on_device, source), dense);
  EXPECT_GE(FramesServed("together"), 1);
  EXPECT_EQ(
      Together(Arguments{"--mode", "remote", "--codec", "raw"} + on_device, on_device, source),
      dense);
  EXPECT_GE(FramesServed("together"), 1);
}

// Under the policy exact the bits are those of the robot's own dense run if it shares rows, and
// those of the server's if the server computes everything.
TEST_F(Serve, RowsAreSharedWithinOnePrecision) {
  const std::string source = "generated:seed=3,frames=2,width=96,height=64";
  const Files exact = Dense(source);
  const Arguments in_tf32 = {"--backend", "cuda-emulated-tf32"};
  fs::remove_all(folder_ / "tf32");
  Process alone(Robot("tf32", Arguments{"--mode", "dense"} + in_tf32, source));
  ASSERT_EQ(alone.Wait(kLong), 0) << alone.output();
  const Files rounded = FilesIn(folder_ / "tf32");
  ASSERT_NE(rounded, exact);

  const std::string input = graph_->value(graph_->inputs.front()).name;
  const Arguments split = {"--mode", "split", "--cut", input + ":0.5"};
  EXPECT_EQ(Together(split + in_tf32, in_tf32, source), rounded);
  EXPECT_GE(FramesServed("together"), 1);
  EXPECT_EQ(Together({"--mode", "remote", "--codec", "raw"}, in_tf32, source), rounded);
  EXPECT_GE(FramesServed("together"), 1);

  Process both(
      cacheinf::Together(
          Robot("together", split + in_tf32 + Arguments{"--server", "mpi", "--server-wait", "2"},
                source),
          Server(folder_ / "models", {})),
      kEnvironment);
  EXPECT_EQ(both.Wait(kLong), 0) << both.output();
  EXPECT_EQ(FilesIn(folder_ / "together"), rounded);
  EXPECT_EQ(FramesServed("together"), 0);
  EXPECT_NE(both.output().find("the robot answers alone: the policy exact does not share rows "
                               "between two arithmetics"),
            std::string::npos)
      << both.output();
}

// Measures its convolutions' times in a cache folder, and changes them there.
class ServeOwnSchemes : public Serve {
 protected:
  Arguments In(const std::string& cache) const {
    return {"env", "CACHEINF_CACHE=" + (folder_ / cache).string()};
  }

  void Remember(const std::string& cache, const std::string& faster) const {
    for (const auto& file : fs::directory_iterator(folder_ / cache / "schemes")) {
      auto json = nlohmann::json::parse(ReadFile(file.path()));
      for (auto& layer : json["layers"]) {
        for (const char* const scheme : {"direct", "winograd"}) {
          layer[std::string(scheme) + "_ms"] = faster == scheme ? 1.0 : 2.0;
        }
      }
      WriteFile(file.path(), json.dump());
    }
  }

  Arguments Robot(const std::string& outputs, const std::string& policy,
                  const Arguments& more) const {
    Arguments robot = Serve::Robot(outputs, Arguments{"--scheme", "auto"} + more);
    std::ranges::replace(robot, "exact", policy);
    return robot;
  }

  Files Alone() const {
    fs::remove_all(folder_ / "alone");
    Process alone(In("alone-cache") + Robot("alone", "exact", {"--mode", "dense"}));
    EXPECT_EQ(alone.Wait(kLong), 0) << alone.output();
    return FilesIn(folder_ / "alone");
  }

  Files Remotely(const std::string& policy) const {
    fs::remove_all(folder_ / "together");
    Process both(cacheinf::Together(In("robot-cache") + Robot("together", policy,
                                                              {"--mode", "remote", "--codec", "raw",
                                                               "--server-mode", "dense", "--server",
                                                               "mpi", "--server-wait", "10"}),
                                    In("server-cache") + Server(folder_ / "models", {"--once"})),
                 kEnvironment);
    EXPECT_EQ(both.Wait(kLong), 0) << both.output();
    EXPECT_GE(FramesServed("together"), kMost) << both.output();
    return FilesIn(folder_ / "together");
  }
};

TEST_F(ServeOwnSchemes, AreTakenUnlessThePolicyIsExact) {
  Alone();
  Remember("alone-cache", "winograd");
  const Files by_winograd = Alone();
  ASSERT_NE(by_winograd, dense_);

  Remotely("change");
  Remember("robot-cache", "direct");
  Remember("server-cache", "winograd");
  EXPECT_EQ(Remotely("change"), by_winograd);
  EXPECT_EQ(Remotely("exact"), dense_);
}

TEST_F(Serve, WithoutAGpuItRefusesToUseOne) {
  if (!QueryCuda().devices.empty()) GTEST_SKIP() << "there is a GPU here";
  Process robot(Robot("none", {"--mode", "dense", "--backend", "cuda"}));
  EXPECT_EQ(robot.Wait(kLong), 2);
  EXPECT_NE(robot.output().find("backend \"cuda\" cannot be used"), std::string::npos)
      << robot.output();
  Process both(cacheinf::Together(Robot("none", {"--server", "mpi", "--mode", "remote"}),
                                  Server(folder_ / "models", {"--backend", "cuda-fp16"})),
               kEnvironment);
  EXPECT_NE(both.Wait(kLong), 0);
  EXPECT_NE(both.output().find("backend \"cuda-fp16\" cannot be used"), std::string::npos)
      << both.output();
}

TEST_F(Serve, ADamagedModelOnTheServersDiskIsSentAgain) {
  const fs::path model = ModelOnServer();
  fs::copy(folder_ / "model", model);
  fs::resize_file(model, fs::file_size(model) / 2);
  Process both(cacheinf::Together(Robot("together", {"--mode", "remote", "--server", "mpi",
                                                     "--server-wait", "10"}),
                                  Server(folder_ / "models", {})),
               kEnvironment);
  EXPECT_EQ(both.Wait(kLong), 0) << both.output();
  EXPECT_GE(FramesServed("together"), kMost) << both.output();
  EXPECT_NO_THROW((void)ReadPack(model));
}

TEST_F(Serve, AServerThatRefusesIsAskedLessAndLessOften) {
  fs::create_directories(ModelOnServer() / "full");  // where the model cannot be put
  Process both(cacheinf::Together(
                   Robot("together", {"--mode", "remote", "--server", "mpi", "--server-wait", "2"}),
                   Server(folder_ / "models", {})),
               kEnvironment);
  EXPECT_EQ(both.Wait(kLong), 0) << both.output();
  EXPECT_EQ(FramesServed("together"), 0);
  const std::string output = both.output();
  int refusals = 0;
  for (size_t at = output.find("is lost"); at != output.npos; at = output.find("is lost", at + 1)) {
    ++refusals;
  }
  EXPECT_GE(refusals, 1) << output;
  EXPECT_LE(refusals, 3) << output;
}

TEST_F(Serve, EmulationIsReportedEverywhere) {
  Process both(
      cacheinf::Together(Robot("together", {"--mode", "remote", "--server", "mpi", "--server-wait",
                                            "10", "--emulate", "2x,90mbit"}),
                         Server(folder_ / "models", {"--once", "--emulate", "3x,90mbit"})),
      kEnvironment);
  EXPECT_EQ(both.Wait(kLong), 0) << both.output();
  EXPECT_NE(both.output().find("emulated 2x,90mbit"), std::string::npos) << both.output();
  EXPECT_NE(both.output().find("emulated: 3x,90mbit"), std::string::npos) << both.output();
  for (const std::string& line : LinesOf(folder_ / "together.jsonl")) {
    EXPECT_EQ(nlohmann::json::parse(line).value("emulated", ""), "2x,90mbit") << line;
  }
  std::ifstream summary(folder_ / "together.json");
  EXPECT_EQ(nlohmann::json::parse(summary).value("emulated", ""), "2x,90mbit");
}

TEST_F(Serve, ARobotThatNeedsNoServerMayHaveOne) {
  EXPECT_EQ(Together({"--mode", "cache"}), dense_);
  EXPECT_EQ(FramesServed("together"), 0);
  EXPECT_FALSE(fs::is_empty(folder_ / "models")) << "the server never got the model";
}

TEST_F(Serve, WithoutAServerTheRobotAnswersAlone) {
  std::ofstream(folder_ / "name-server") << "1234.0;tcp://127.0.0.1:9\n";
  Process robot(Robot("alone", {"--mode", "remote", "--server", "mpi:nobody", "--name-server",
                                folder_ / "name-server"}),
                kEnvironment);
  EXPECT_EQ(robot.Wait(kLong), 0) << robot.output();
  EXPECT_EQ(FilesIn(folder_ / "alone"), dense_);
}

// Each side's emulation narrows the way that it sends on.
TEST_F(Serve, ALinkIsMeasuredWithoutAModel) {
  const Arguments probe = {ProgramPath("cacheinf-profile"),
                           "link",
                           "--server",
                           "mpi",
                           "--emulate",
                           "80mbit,3ms",
                           "--rounds",
                           "3",
                           "--out",
                           folder_ / "link.json"};
  Process both(cacheinf::Together(probe, Server(folder_ / "models", {"--emulate", "20mbit,3ms"})),
               kEnvironment);
  EXPECT_EQ(both.Wait(kLong), 0) << both.output();
  EXPECT_TRUE(both.HasPrinted("round trip ms", kLong)) << both.output();
  EXPECT_TRUE(both.HasPrinted("emulated 80mbit,3ms", kLong)) << both.output();
  std::ifstream file(folder_ / "link.json");
  const auto json = nlohmann::json::parse(file);
  EXPECT_EQ(json.value("emulated", ""), "80mbit,3ms");
  ASSERT_EQ(json["sizes"].size(), 10u);
  EXPECT_GE(json["sizes"][0]["round_trip_ms"], 6);
  EXPECT_TRUE(json["sizes"][0]["mbit_to_server"].is_null()) << json;
  const auto& largest = json["sizes"].back();
  EXPECT_EQ(largest["bytes"], 1'000'000);
  for (const auto& measured : {largest, json["estimate"]}) {
    EXPECT_NEAR(measured["mbit_to_server"], 80, 16) << json;
    EXPECT_NEAR(measured["mbit_to_robot"], 20, 4) << json;
  }
}

// Measuring and solving take minutes.
class SlowServe : public Serve {};

TEST_F(SlowServe, RobotAndServerMeasureThemselvesAndSolveAScheduleAndKeepIt) {
  const std::string camera =
      "videotestsrc is-live=true pattern=ball ! "
      "video/x-raw,width=96,height=64,framerate=30/1,format=BGR ! appsink";
  try {
    (void)OpenSource(camera, SteadyClock())->Next();
  } catch (const InputError& error) {
    GTEST_SKIP() << error.what();
  }
  auto environment = kEnvironment;
  environment["CACHEINF_CACHE"] = folder_ / "cache";
  for (const bool is_first : {true, false}) {
    SCOPED_TRACE(is_first ? "first" : "again");
    Process both(cacheinf::Together(Robot("planned", {"--server", "mpi"}, camera),
                                    Server(folder_ / "models", {"--once"})),
                 environment);
    // The first one is made of the robot's rough profile.
    const int schedules = is_first ? 2 : 1;
    for (int i = 0; i < 3000; ++i) {
      if (CountOf("the server has sent a schedule", both.output()) >= schedules) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    EXPECT_EQ(CountOf("the server has sent a schedule", both.output()), schedules) << both.output();
    EXPECT_EQ(CountOf("the robot has measured itself", both.output()), is_first ? 1 : 0);
    EXPECT_EQ(CountOf("the server has sent a first plan", both.output()) > 0, is_first);
    const auto is_planned = [](const std::string& line) {
      return line.find("\"plan\"") != line.npos;
    };
    const auto has_plans = [&] {
      return std::ranges::any_of(LinesOf(folder_ / "planned.jsonl"), is_planned);
    };
    for (int i = 0; i < 50 && !has_plans(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    EXPECT_TRUE(has_plans());
    both.Signal(SIGTERM);
    (void)both.Wait(kLong);
    fs::remove_all(folder_ / "planned");
  }
}

TEST_F(Serve, BadInputIsOneSentenceAndExitCodeTwo) {
  std::ofstream(folder_ / "name-server") << "1234.0;tcp://127.0.0.1:9\n";
  const Arguments somewhere = {"--server", "mpi:lab", "--name-server", folder_ / "name-server"};
  const std::vector<std::pair<Arguments, std::string>> cases = {
      {{"--mode", "remote"}, "needs a server"},
      {{"--mode", "cacheinf"}, "needs a server"},
      {Arguments{"--schedule", folder_ / "nothing"} + somewhere, "nothing: "},
      {Arguments{"--schedule", folder_ / "model"} + somewhere, "model: not a JSON object"},
      {{"--mode", "split", "--server", "mpi"}, "needs a cut"},
      {{"--codec", "jpg"}, "is not raw, png, jpeg, blocks or video"},
      {{"--mode", "split", "--server", "mpi", "--cut", "nothing"}, "no value \"nothing\""},
      {{"--mode", "remote", "--server", "tcp:somewhere"}, "--server takes mpi, mpi:NAME or tcp"},
      {{"--mode", "cacheinf", "--server", "mpi:"}, "--server: a name has 1 to 64 letters"},
      {{"--mode", "cacheinf", "--server", "mpi:lab", "--name-server", folder_ / "none"},
       "there is no name server's file"},
      {Arguments{"--mode", "remote", "--codec", "jpg"} + somewhere, "codec \"jpg\" is not"},
      {Arguments{"--mode", "remote", "--codec", "video:nothing"} + somewhere, "encoder nothing"},
      {Arguments{"--mode", "remote", "--codec", "video:libx264:nothing=1"} + somewhere,
       "no option \"nothing\""},
      {Arguments{"--mode", "remote", "--codec", "video:libx264:bf=3"} + somewhere,
       "keeps pictures back"},
      {Arguments{"--mode", "remote", "--codec", "video:gst:nothing"} + somewhere, "GStreamer"},
      {{"--mode", "remote", "--server", "mpi", "--record", folder_ / "recordings"},
       "mode remote cannot be recorded"},
      {{"--mode", "split", "--server", "mpi", "--cut", "x", "--record", folder_ / "recordings"},
       "mode split cannot be recorded"},
  };
  for (const auto& [options, sentence] : cases) {
    const CommandResult robot = RunLinked(robot_main, Robot("refused", options));
    EXPECT_EQ(robot.exit_code, 2) << robot.error;
    EXPECT_NE(robot.error.find(sentence), std::string::npos) << robot.error;
  }
  Process server(Server(folder_ / "models", {"--listen", "udp"}), kEnvironment);
  EXPECT_EQ(server.Wait(kLong), 2) << server.output();
  EXPECT_NE(server.output().find("--listen takes"), std::string::npos) << server.output();
}

}  // namespace
}  // namespace cacheinf
