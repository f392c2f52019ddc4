#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/file.h"
#include "common/config/robot_config.h"
#include "tests/testing/command.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/linked_programs.h"
#include "tests/testing/places.h"
#include "tests/testing/process.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

const std::string kRobot = ProgramPath("cacheinf-robot");
const fs::path kConfigs = SourceFolder() / "configs";

CommandResult RunRobot(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {kRobot, "run"});
  return RunCommand(arguments);
}

// Runs a command that ends before a network runs.
CommandResult AskRobot(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {kRobot, "run"});
  return RunLinked(robot_main, arguments);
}

TEST(RobotCommandTest, HelpNamesTheOptions) {
  const CommandResult result = AskRobot({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  for (const char* option : {"--model",       "--source",
                             "--mode",        "--track",
                             "--check",       "--guard",
                             "--record",      "--deadline-ms",
                             "--shape",       "--config",
                             "--threads",     "--frames",
                             "--answers",     "--dump-outputs",
                             "--overlay",     "--summary",
                             "--backend",     "--scheme",
                             "--log-level",   "--print-config",
                             "cpu|reference", "dense|cache|remote|split|cacheinf",
                             "direct|auto"}) {
    EXPECT_NE(result.out.find(option), std::string::npos) << option;
  }
}

TEST(RobotCommandTest, BadInputIsOneSentenceAndExitCodeTwo) {
  const auto refusal = [](const std::vector<std::string>& arguments) {
    const CommandResult result = AskRobot(arguments);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.out, "");
    return result.error;
  };
  EXPECT_EQ(
      refusal({"--mode", "sparse"}),
      "cacheinf-robot: --mode: mode must be one of \"dense\", \"cache\", \"remote\", \"split\", "
      "\"cacheinf\", got \"sparse\"\n");
  EXPECT_EQ(refusal({"--track", "0"}),
            "cacheinf-robot: --track: track must be at least 1, got 0\n");
  EXPECT_EQ(refusal({"--check", "-3"}),
            "cacheinf-robot: --check: check must be at least 0, got -3\n");
  EXPECT_EQ(refusal({"--check", "7", "--frames", "5"}),
            "cacheinf-robot: configuration: check is 7, but the run has 5 frames: none would be "
            "checked\n");
  EXPECT_EQ(refusal({"--threads", "many"}),
            "cacheinf-robot: --threads: threads must be an integer, got \"many\"\n");
  EXPECT_EQ(refusal({"--set", "preprocess.fitt=crop"}),
            "cacheinf-robot: --set: unknown key \"preprocess.fitt\"; did you mean "
            "\"preprocess.fit\"?\n");
  EXPECT_EQ(refusal({"--config", "/nonexistent.json"}),
            "cacheinf-robot: /nonexistent.json: no such file\n");
  EXPECT_EQ(refusal({"--source", "/nonexistent.mp4", "--model", "x"}),
            "cacheinf-robot: source /nonexistent.mp4: no such file or folder\n");
  EXPECT_NE(refusal({"--no-such-option"}), "");
  EXPECT_NE(refusal({}), "");
}

TEST(RobotCommandTest, PrintsTheEffectiveConfigurationSoThatItLoadsAgain) {
  const CommandResult printed =
      AskRobot({"--config", kConfigs / "yolov5n.json", "--threads", "3", "--shape", "1x3x64x64",
                "--set", "preprocess.fit=crop", "--print-config"});
  ASSERT_EQ(printed.exit_code, 0) << printed.error;
  const RobotConfig config = ParseRobotConfig(printed.out, "printed");
  EXPECT_EQ(config.threads, 3);
  EXPECT_EQ(config.shapes, std::vector<std::string>{"1x3x64x64"});
  EXPECT_EQ(config.model_config.preprocess.fit, PictureSpec::Fit::kCrop);
  EXPECT_EQ(config.model_config.decoder.strides, (std::vector<int>{8, 16, 32}));

  const fs::path path =
      fs::temp_directory_path() / ("cacheinf_printed_" + std::to_string(getpid()) + ".json");
  std::ofstream(path) << printed.out;
  const CommandResult again = AskRobot({"--config", path, "--print-config"});
  fs::remove(path);
  EXPECT_EQ(again.out, printed.out);
}

TEST(RobotCommandTest, ABooleanAloneMeansTrue) {
  const auto relight_and_threads = [](const std::vector<std::string>& arguments) {
    std::vector<std::string> all = arguments;
    all.emplace_back("--print-config");
    const CommandResult printed = AskRobot(all);
    EXPECT_EQ(printed.exit_code, 0) << printed.error;
    const RobotConfig config = ParseRobotConfig(printed.out, "printed");
    return std::pair(config.cache.relight, config.threads);
  };
  using Both = std::pair<bool, int>;
  EXPECT_EQ(relight_and_threads({"--threads", "3"}), Both(true, 3));
  EXPECT_EQ(relight_and_threads({"--threads", "3", "--relight"}), Both(true, 3));
  EXPECT_EQ(relight_and_threads({"--relight", "--threads", "3"}), Both(true, 3));
  EXPECT_EQ(relight_and_threads({"--relight", "true", "--threads", "3"}), Both(true, 3));
  EXPECT_EQ(relight_and_threads({"--relight", "false", "--threads", "3"}), Both(false, 3));
  EXPECT_EQ(relight_and_threads({"--relight=true", "--threads", "3"}), Both(true, 3));
  EXPECT_EQ(relight_and_threads({"--relight=false", "--threads", "3"}), Both(false, 3));
  EXPECT_EQ(AskRobot({"--relight", "often"}).error,
            "cacheinf-robot: --relight: cache.relight must be true or false, got \"often\"\n");
  EXPECT_EQ(AskRobot({"--set", "cache.relight="}).exit_code, 2);
  EXPECT_EQ(AskRobot({"--guard"}).exit_code, 2) << "is no boolean";
  const std::string printed = AskRobot({"--answers", "", "--print-config"}).out;
  EXPECT_EQ(ParseRobotConfig(printed, "printed").output.answers, "") << "is none either";
  const std::string help = AskRobot({"--help"}).out;
  EXPECT_NE(help.find("--relight [true|false]"), std::string::npos);
}

TEST(RobotCommandTest, SaysOnceThatTheExactPolicyUsesNoGeometry) {
  const auto warnings = [](const std::string& policy, const std::string& geometry) {
    const CommandResult result = RunRobot(
        {"--config", kConfigs / "demo.json", "--model", kConfigs / "models/demo_segmentation.onnx",
         "--shape", "1x3x64x64", "--source", "generated:frames=3,width=64,height=64", "--mode",
         "cache", "--check", "1", "--policy", policy, "--geometry", geometry});
    EXPECT_EQ(result.exit_code, 0) << result.error;
    const std::string warning = "cache.geometry is not used";
    int count = 0;
    for (size_t at = result.error.find(warning); at != std::string::npos;
         at = result.error.find(warning, at + 1)) {
      ++count;
    }
    return count;
  };
  EXPECT_EQ(warnings("exact", "canvas"), 1);
  EXPECT_EQ(warnings("exact", "none"), 0);
  EXPECT_EQ(warnings("fixed", "canvas"), 0);
}

TEST(RobotCommandTest, ChecksAgainstTheModelThatIsNamed) {
  const auto run = [](const std::string& against) {
    return RunRobot({"--config", kConfigs / "demo.json", "--model",
                     kConfigs / "models/demo_segmentation.onnx", "--shape", "1x3x64x64", "--source",
                     "generated:frames=3,width=64,height=64", "--check", "1", "--against",
                     against});
  };
  const CommandResult itself = run(kConfigs / "models/demo_segmentation.onnx");
  EXPECT_EQ(itself.exit_code, 0) << itself.error;
  EXPECT_NE(itself.out.find("demo_segmentation.onnx, mIoU 1.0000"), std::string::npos)
      << itself.out;
  const CommandResult missing = run("nosuch.onnx");
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_NE(missing.error.find("nosuch.onnx"), std::string::npos) << missing.error;
}

TEST(RobotCommandTest, AnswersOnStandardOutputAreAloneThere) {
  std::vector<std::string> arguments = {"--config",  kConfigs / "demo.json",
                                        "--model",   kConfigs / "models/demo_segmentation.onnx",
                                        "--shape",   "1x3x64x64",
                                        "--source",  "generated:frames=3,width=64,height=64",
                                        "--answers", "-"};
  const CommandResult result = RunRobot(arguments);
  ASSERT_EQ(result.exit_code, 0) << result.error;
  std::istringstream lines(result.out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const nlohmann::json answer = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(answer.is_object()) << line;
    EXPECT_EQ(answer["frame"], count);
  }
  EXPECT_EQ(count, 3);
  EXPECT_NE(result.error.find("3 answered"), std::string::npos) << result.error;
  EXPECT_FALSE(fs::exists("-"));

  arguments.back() = "/dev/null";
  EXPECT_NE(RunRobot(arguments).out.find("3 answered"), std::string::npos);
}

TEST(RobotCommandTest, SaysThatAnswersCannotBeWrittenToStandardOutput) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "/dev/full is not there";
  const std::string configs = kConfigs.string();
  const CommandResult result = RunCommand(
      {"/bin/sh", "-c",
       "'" + kRobot + "' run --config '" + configs + "/demo.json' --model '" + configs +
           "/models/demo_segmentation.onnx' --shape 1x3x64x64 --answers - --log-level off "
           "--source generated:frames=3,width=64,height=64 >/dev/full"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.error, "cacheinf-robot: standard output: cannot be written\n");
}

class FullDiskTest : public FolderTest {
 protected:
  // The demo's network, where no file grows beyond so many blocks.
  static CommandResult Run(int blocks, const std::string& options) {
    const std::string configs = kConfigs.string();
    return RunCommand({"/bin/sh", "-c",
                       "trap '' XFSZ; ulimit -f " + std::to_string(blocks) + "; '" + kRobot +
                           "' run --config '" + configs + "/demo.json' --model '" + configs +
                           "/models/demo_segmentation.onnx' --shape 1x3x64x64 --log-level off " +
                           options});
  }
};

TEST_F(FullDiskTest, CostsAnswersOnStandardOutputAndNothingElse) {
  const CommandResult result = Run(
      8, "--answers - --source generated:frames=100,width=64,height=64 >'" + Path("answers") + "'");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.error.find("100 answered"), std::string::npos) << result.error;
  EXPECT_NE(result.error.find(" lines could not be written"), std::string::npos) << result.error;
  std::istringstream answers(ReadFile(Path("answers")));
  int64_t lines = 0;
  for (std::string line; std::getline(answers, line) && !answers.eof(); ++lines) {
    EXPECT_TRUE(nlohmann::json::accept(line)) << line;
  }
  EXPECT_GT(lines, 3);
  EXPECT_LT(lines, 100);
}

TEST_F(FullDiskTest, LeavesAnOlderSummaryAndSaysThatNothingIsRecorded) {
  WriteFile(Path("summary"), "older");
  const CommandResult result =
      Run(1,
          "--mode cache --deadline-ms 0.001 --source generated:frames=40,width=64,height=64 "
          "--record '" +
              Path("recordings") + "' --summary '" + Path("summary") + "'");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.error.find("recording stopped: "), std::string::npos) << result.error;
  EXPECT_NE(result.error.find("cannot write '" + Path("summary")), std::string::npos)
      << result.error;
  EXPECT_EQ(ReadFile(Path("summary")), "older");
}

TEST(RobotCommandTest, ANewlineDoesNotEndTheSentence) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{kRobot, "a\nb"}, {kRobot, "run", "--a\nb"}}) {
    const CommandResult result = RunCommand(words);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(std::ranges::count(result.error, '\n'), 1) << result.error;
  }
}

TEST(RobotCommandTest, PrintsAPathThatIsNoUtf8AsJsonAllTheSame) {
  const CommandResult printed = RunRobot({"--model", "b\xff.onnx", "--print-config"});
  ASSERT_EQ(printed.exit_code, 0) << printed.error;
  EXPECT_EQ(ParseRobotConfig(printed.out, "printed").model, "b\xef\xbf\xbd.onnx");
}

TEST(RobotCommandTest, AnUnknownCommandIsNamedBesideTheKnownOnes) {
  const CommandResult result = RunCommand({kRobot, "runn"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.error,
            "cacheinf-robot: unknown command \"runn\"; commands: run, replay, calibrate\n");
}

TEST(RobotCommandTest, SaysThatStandardOutputIsFull) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "/dev/full is not there";
  const CommandResult result =
      RunCommand({"/bin/sh", "-c", "'" + kRobot + "' run --print-config >/dev/full"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.error, "cacheinf-robot: standard output cannot be written\n");
}

TEST(RobotCommandTest, PrintsTheSchemaThatIsShipped) {
  EXPECT_EQ(RunRobot({"--print-config-schema"}).out, ReadFile(kConfigs / "robot.schema.json"));
}

TEST(RobotCommandTest, ASilentSourceDoesNotKeepItFromEnding) {
  const int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(silent, reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(silent, 8), 0);
  getsockname(silent, reinterpret_cast<sockaddr*>(&address), &size);
  const std::string source = "rtsp://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/a";
  Process robot({kRobot, "run", "--model", kConfigs / "models" / "demo_segmentation.onnx",
                 "--source", source});
  pollfd visited = {silent, POLLIN, 0};
  ASSERT_EQ(poll(&visited, 1, 60000), 1) << robot.output();
  robot.Signal(SIGTERM);
  EXPECT_EQ(robot.Wait(std::chrono::seconds(5)), 128 + SIGTERM) << robot.output();
  EXPECT_TRUE(robot.HasPrinted("cacheinf-robot: stopped before source " + source + " gave a frame",
                               std::chrono::seconds(0)))
      << robot.output();
  close(silent);
}

// Interrupts an endless run, and expects a summary and a clean exit.
TEST(RobotCommandTest, InterruptEndsTheRunWithItsSummary) {
  const fs::path folder =
      fs::temp_directory_path() / ("cacheinf_interrupt_" + std::to_string(getpid()));
  fs::create_directories(folder);
  const std::string answers = folder / "answers.jsonl";
  const std::string summary = folder / "summary.json";
  const std::string config = kConfigs / "demo.json";
  const std::string model = kConfigs / "models" / "demo_segmentation.onnx";
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    execl(kRobot.c_str(), kRobot.c_str(), "run", "--config", config.c_str(), "--model",
          model.c_str(), "--source", "generated:frames=0", "--answers", answers.c_str(),
          "--summary", summary.c_str(), "--log-level", "off", "--threads", "1", nullptr);
    _exit(127);
  }
  for (int i = 0; i < 600; ++i) {  // at most a minute until the first answer
    if (fs::exists(answers) && fs::file_size(answers) > 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  ASSERT_TRUE(fs::exists(summary));
  EXPECT_NE(ReadFile(summary).find("\"interrupted\": true"), std::string::npos);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace cacheinf
