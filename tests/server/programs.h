#ifndef CACHEINF_TESTS_SERVER_PROGRAMS_H_
#define CACHEINF_TESTS_SERVER_PROGRAMS_H_

#include <gtest/gtest.h>
#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "common/base/file.h"
#include "tests/testing/places.h"

// Robot and server as programs.

namespace cacheinf {

using Arguments = std::vector<std::string>;

inline constexpr std::chrono::milliseconds kLong(100000);

inline const std::map<std::string, std::string> kEnvironment = {
    {"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};

inline Arguments operator+(Arguments words, const Arguments& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// The command that runs both in one mpirun.
inline Arguments Together(const Arguments& robot, const Arguments& server) {
  return Arguments{"mpirun", "--bind-to", "none", "--oversubscribe", "-n", "1"} + robot +
         Arguments{":", "-n", "1"} + server;
}

inline Arguments Server(const std::filesystem::path& models, const Arguments& more) {
  return Arguments{ProgramPath("cacheinf-server"), "--threads", "1", "--models", models} + more;
}

// A robot on one thread.
inline Arguments RobotOf(const std::string& model, const std::string& source,
                         const Arguments& more) {
  return Arguments{ProgramPath("cacheinf-robot"), "run", "--threads", "1"} +
         Arguments{"--model", model, "--source", source} + more;
}

// One with the demo's network.
inline Arguments DemoRobot(const std::string& source, const Arguments& more) {
  const std::filesystem::path configs = SourceFolder() / "configs";
  return RobotOf(configs / "models/demo_segmentation.onnx", source,
                 Arguments{"--config", configs / "demo.json"} + more);
}

// One whose answers are exact, with the model in the folder.
inline Arguments ExactRobot(const std::filesystem::path& folder, const std::string& source,
                            const Arguments& more) {
  return RobotOf(folder / "model", source, Arguments{"--policy", "exact"} + more);
}

// The same; its outputs go to FOLDER/NAME and its answers to FOLDER/NAME.jsonl.
inline Arguments DumpingRobot(const std::filesystem::path& folder, const std::string& source,
                              const std::string& name, const Arguments& more) {
  return ExactRobot(
      folder, source,
      Arguments{"--dump-outputs", folder / name, "--answers", folder / (name + ".jsonl")} + more);
}

// Of pictures that are generated.
inline std::string Generated(int frames) {
  return "generated:seed=3,width=96,height=64,frames=" + std::to_string(frames);
}

// The contents of files, by name.
using Files = std::map<std::string, std::string>;
inline Files FilesIn(const std::filesystem::path& folder) {
  Files files;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    files[file.path().filename()] = ReadFile(file.path());
  }
  return files;
}

// The lines of a robot's answers.
inline std::vector<std::string> LinesOf(const std::filesystem::path& file) {
  std::vector<std::string> lines;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Whether a server had a part in an answer.
inline bool IsServed(const std::string& line) { return line.find("\"server\"") != line.npos; }

inline bool ComesTrue(const std::function<bool()>& holds) {
  const auto until = std::chrono::steady_clock::now() + kLong;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

inline int CountOf(const std::string& word, const std::string& text) {
  int count = 0;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++count;
  return count;
}

// The number behind "KEY": in a line of JSON.
inline double NumberIn(const std::string& line, const std::string& key) {
  const size_t at = line.find('"' + key + "\":");
  return at == line.npos ? -1 : std::stod(line.substr(at + key.size() + 3));
}

// How often threads of a program and of those that it started have waited, so far.
inline int64_t WaitsOf(pid_t process) {
  int64_t waits = 0;
  const std::filesystem::path tasks = "/proc/" + std::to_string(process) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks)) {
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("voluntary_ctxt_switches:")) waits += std::stoll(line.substr(24));
    }
    std::ifstream children(task.path() / "children");
    for (pid_t child = 0; children >> child;) waits += WaitsOf(child);
  }
  return waits;
}

// Whether a second comes in which it waits less often, where there is nothing to do.
inline bool RarelyWakes(pid_t process, int64_t waits_per_s) {
  for (int i = 0; i < 10; ++i) {
    const int64_t before = WaitsOf(process);
    std::this_thread::sleep_for(std::chrono::seconds(1));
    if (WaitsOf(process) - before < waits_per_s) return true;
  }
  return false;
}

// Waits for `count` more lines in a robot's answers, all with a server's part or all without.
inline bool AnswersCome(const std::filesystem::path& answers, bool are_served, int count = 30) {
  const size_t begin = LinesOf(answers).size();
  return ComesTrue([&] {
    const std::vector<std::string> lines = LinesOf(answers);
    int row = 0;
    for (size_t i = begin; i < lines.size() && row < count; ++i) {
      row = IsServed(lines[i]) == are_served ? row + 1 : 0;
    }
    return row >= count;
  });
}

// Expects that a robot has answered every frame, with a dense run's bits, as its checks say; of a
// camera's, those that were taken.
inline void ExpectAllAnswered(const std::filesystem::path& answers,
                              const std::filesystem::path& summary, double most_ms = 1000,
                              double most_skipped = 0) {
  const std::vector<std::string> lines = LinesOf(answers);
  ASSERT_GT(lines.size(), 100u);
  double last = -1;
  for (const std::string& line : lines) {
    ASSERT_GT(NumberIn(line, "frame"), last) << line;
    ASSERT_LE(NumberIn(line, "frame"), last + 1 + most_skipped) << line;
    ASSERT_LT(NumberIn(line, "latency_ms"), most_ms) << line;
    last = NumberIn(line, "frame");
  }
  const std::string text = ReadFile(summary);
  EXPECT_NE(text.find("\"largest_relative_l2\": 0.0"), text.npos) << text;
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SERVER_PROGRAMS_H_
