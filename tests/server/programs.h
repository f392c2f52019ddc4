#ifndef CACHEINF_TESTS_SERVER_PROGRAMS_H_
#define CACHEINF_TESTS_SERVER_PROGRAMS_H_

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "common/base/file.h"
#include "tests/testing/places.h"

// Robot and server as programs.

namespace cacheinf {

using Arguments = std::vector<std::string>;

inline constexpr std::chrono::milliseconds kLong(30000);

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

// A robot on one thread whose answers are exact, with the model in the folder; its outputs go to
// FOLDER/NAME and its answers to FOLDER/NAME.jsonl.
inline Arguments ExactRobot(const std::filesystem::path& folder, const std::string& source,
                            const std::string& name, const Arguments& more) {
  return Arguments{ProgramPath("cacheinf-robot"),
                   "run",
                   "--model",
                   folder / "model",
                   "--source",
                   source,
                   "--threads",
                   "1",
                   "--policy",
                   "exact",
                   "--dump-outputs",
                   folder / name,
                   "--answers",
                   folder / (name + ".jsonl")} +
         more;
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

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SERVER_PROGRAMS_H_
