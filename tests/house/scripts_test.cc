#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "tests/testing/command.h"
#include "tests/testing/places.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

// Every script that people start: scripts/* and .ci/run, but not those that they source or call.
std::vector<fs::path> Scripts() {
  std::vector<fs::path> scripts = {SourceFolder() / ".ci" / "run"};
  for (const auto& entry : fs::directory_iterator(SourceFolder() / "scripts")) {
    if (entry.is_regular_file()) scripts.push_back(entry.path());
  }
  return scripts;
}

std::string FirstLine(const fs::path& path) {
  std::ifstream stream(path);
  std::string line;
  std::getline(stream, line);
  return line;
}

TEST(ScriptsTest, EveryScriptCanBeStartedAndExplainsItself) {
  ASSERT_GE(Scripts().size(), 4u);
  for (const fs::path& script : Scripts()) {
    EXPECT_TRUE(FirstLine(script).starts_with("#!/usr/bin/env ")) << script;
    const CommandResult result = RunCommand({script.string(), "--help"});
    EXPECT_EQ(result.exit_code, 0) << script << "\n" << result.error;
    EXPECT_NE(result.out.find(script.filename().string()), std::string::npos)
        << script << " --help does not name the script";
    EXPECT_TRUE(result.error.empty()) << script << "\n" << result.error;
  }
}

TEST(ScriptsTest, EveryScriptRefusesAnUnknownOption) {
  for (const fs::path& script : Scripts()) {
    const CommandResult result = RunCommand({script.string(), "--no-such-option"});
    EXPECT_EQ(result.exit_code, 2) << script;
    EXPECT_NE(result.error.find("--no-such-option"), std::string::npos) << script;
  }
}

// Scripts refuse a value at once, before they set up, build or check anything.
TEST(ScriptsTest, RefuseValuesThatCannotBe) {
  struct Case {
    std::string script;
    std::vector<std::string> arguments;
    std::string error;
  };
  const std::string numbers = " to 999999999, got ";
  const std::string model = SourceFolder() / "configs" / "models" / "demo_segmentation.onnx";
  const std::vector<Case> cases = {
      {"compare_with_paper", {}, "where is the testbed? (--testbed DIR)"},
      {"compare_with_paper", {"--programs"}, "--programs needs a folder"},
      {"demo", {"--frames"}, "--frames needs a number"},
      {"demo", {"--frames", "0"}, "--frames must be a whole number from 1" + numbers + "0"},
      {"demo", {"--frames", "abc"}, "--frames must be a whole number from 1" + numbers + "abc"},
      {"demo", {"--seed", "-1"}, "--seed must be a whole number from 0" + numbers + "-1"},
      {"test", {"--filter"}, "--filter needs a regular expression"},
      {"test", {"--near"}, "--near needs a file"},
      {"test", {"--near", "nosuch.cc"}, "--near: no such file: nosuch.cc"},
      {"test", {"--list"}, "--list goes with --near"},
      {"test", {"--jobs"}, "--jobs needs a number"},
      {"test", {"--jobs", "0"}, "--jobs must be a whole number from 1" + numbers + "0"},
      {"gpu-check", {}, "which part: build, test, bench or mpi?"},
      {"gpu-check",
       {"build", "--arch", "74"},
       "--arch must be a whole number from 75" + numbers + "74"},
      {"gpu-check", {"test", "--models", "nosuch"}, "--models: no such folder: nosuch"},
      {"quantize", {}, "which network?"},
      {"quantize", {"nosuch.onnx"}, "no such file: nosuch.onnx"},
      {"quantize", {model}, "which clip? It must show what the network looks for"},
      {"quantize", {model, "nosuch.mp4"}, "no such file or folder: nosuch.mp4"},
      {"quantize", {"--agreement", "1.5"}, "--agreement must be above 0 and at most 1, got 1.5"},
      {"quantize", {"--frames", "5"}, "--frames must be a whole number from 6" + numbers + "5"},
      {"quantize", {"--programs", "nosuch"}, "--programs: no cacheinf-robot in nosuch"},
      {"lint", {"--since"}, "--since needs a commit"},
      {"lint", {"--since", "nosuchcommit"}, "--since: no such commit: nosuchcommit"},
      {"lint", {"nosuch.cc"}, "no such file: nosuch.cc"},
  };
  for (const Case& refused : cases) {
    SCOPED_TRACE(refused.error);
    std::vector<std::string> command = refused.arguments;
    command.insert(command.begin(), SourceFolder() / "scripts" / refused.script);
    const CommandResult result = RunCommand(command);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.error, refused.script + ": " + refused.error + " (see --help)\n");
  }
}

// Otherwise a checkout that was never built in full lacks them.
TEST(ScriptsTest, BuildEveryProgramThatTheyRun) {
  const std::regex run("build/release/bin/([-a-z_]+)");
  int count = 0;
  for (const fs::path& script : Scripts()) {
    std::ifstream stream(script);
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    const size_t build = text.find("--target");
    for (std::sregex_iterator it(text.begin(), text.end(), run), end; it != end; ++it, ++count) {
      const std::string program = (*it)[1];
      EXPECT_LT(text.find(" " + program, build), text.size()) << script << " runs " << program;
    }
  }
  EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace cacheinf
