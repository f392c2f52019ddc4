#include "client/ros/node_options.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/testing/refusal.h"

// The result of a node's command line and its parameters, and how they are refused.

namespace cacheinf {
namespace {

const NodeProgram kProgram = {"node", "A node.", "1"};

std::string WhyRefused(const std::map<std::string, std::string>& parameters,
                       const std::vector<std::string>& arguments = {}) {
  return RefusalOf([&] { (void)ReadNodeOptions(kProgram, arguments, parameters); });
}

TEST(NodeOptionsTest, ParametersWinOverOptionsAndCompleteThem) {
  const auto config = ReadNodeOptions(kProgram, {"--mode", "remote", "--deadline-ms", "50"},
                                      {{"server.address", "mpi:lab"}, {"deadline_ms", "100"}});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->server.address, "mpi:lab");
  EXPECT_EQ(config->deadline_ms, 100);
}

TEST(NodeOptionsTest, WhatIsWrongWithAParameterIsSaidOfParameters) {
  EXPECT_EQ(WhyRefused({{"nope", "1"}}), "parameter: unknown key \"nope\"; did you mean \"mode\"?");
  EXPECT_EQ(WhyRefused({{"source", "0"}}), "there is no parameter source");
  EXPECT_EQ(WhyRefused({{"deadline_ms", "x"}}),
            "parameter: deadline_ms must be a number, got \"x\"");
  EXPECT_EQ(WhyRefused({{"mode", "remote"}}),
            "configuration: mode remote needs a server, such as server.address mpi");
}

TEST(NodeOptionsTest, WhatIsWrongWithAnOptionIsSaidOfOptions) {
  EXPECT_EQ(WhyRefused({}, {"--mode", "remote"}),
            "configuration: mode remote needs a server, such as --server mpi");
  EXPECT_EQ(WhyRefused({}, {"--model", "m.onnx", "extra"}),
            "unknown argument \"extra\"; see --help");
  EXPECT_EQ(WhyRefused({}, {"--nope"}), "unknown option \"--nope\"; see --help");
}

TEST(NodeOptionsTest, OptionsAreCheckedBeforeParametersComplete) {
  EXPECT_TRUE(CheckNodeOptions(kProgram, {"--mode", "remote"}));
  EXPECT_EQ(RefusalOf([] {
              (void)CheckNodeOptions(kProgram, {"--deadline-ms", "-1"});
            }),
            "--deadline-ms: deadline_ms must be at least 0, got -1");
  EXPECT_EQ(RefusalOf([] {
              (void)CheckNodeOptions(kProgram, {"--config", "nope.json"});
            }),
            "nope.json: no such file");
}

TEST(NodeOptionsTest, KeysOfTextsTakeNothingElse) {
  const auto refusal = [](const std::string& key, bool are_texts, bool is_list) {
    return RefusalOf([&] { CheckTexts(key, are_texts, is_list); });
  };
  EXPECT_EQ(refusal("model", true, false), "");
  EXPECT_EQ(refusal("model", false, false),
            "parameter model must be a text; put quotes around a text that looks like something "
            "else");
  EXPECT_NE(refusal("model", true, true), "");
  EXPECT_EQ(refusal("shapes", true, true), "");
  EXPECT_EQ(refusal("decoder.class_names", true, false), "");
  EXPECT_NE(refusal("decoder.class_names", false, true), "");
  EXPECT_EQ(refusal("deadline_ms", false, false), "");
  EXPECT_EQ(refusal("guard.state", false, false), "");
}

}  // namespace
}  // namespace cacheinf
