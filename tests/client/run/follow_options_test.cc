#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "common/config/config_options.h"
#include "common/config/robot_config.h"
#include "common/config/server_link_config.h"
#include "common/exec/layout.h"
#include "common/model/graph/graph.h"
#include "common/plan/cut_text.h"
#include "common/plan/plan.h"
#include "common/plan/profile.h"
#include "common/plan/profiled_graph.h"
#include "common/plan/split.h"
#include "tests/model/model_builder.h"

// cacheinf-robot run takes the options that cacheinf-schedule prints for a plan.

namespace cacheinf {
namespace {

using Mode = RobotConfig::Mode;
using ServerMode = ServerLinkConfig::ServerMode;

class FollowOptionsTest : public testing::Test {
 protected:
  FollowOptionsTest() {
    ModelBuilder net;
    const ValueId first = net.Conv(net.Input({1, 3, 16, 16}), 4, 3, 1, 1);
    graph_ = net.Finish({net.Conv(net.Conv(first, 4, 3, 1, 1), 4, 3, 1, 1)});
    graph_.values[static_cast<size_t>(graph_.operators[0].outputs[0])].name = "/a b:c/Conv";
    graph_.values[static_cast<size_t>(graph_.operators[1].outputs[0])].name = "/model.5/conv/Conv";
    profile_.operators = DescribeOperators(graph_, MakeLayout(graph_, {}, Keep::kAll));
  }

  // The robot's configuration with these words on its command line.
  static RobotConfig Parse(const std::string& words) {
    CLI::App app;
    ConfigOptions options;
    options.AddTo(app, RobotConfig().Fields());
    app.parse(words + " --server mpi");
    return EffectiveConfig(options);
  }

  RobotConfig Following(const Plan& plan) const { return Parse(ToOptions(plan, profile_)); }

  Graph graph_;
  Profile profile_;
};

TEST_F(FollowOptionsTest, OfARobotAlone) {
  EXPECT_EQ(Following({.keeps = true}).mode, Mode::kCache);
  EXPECT_EQ(Following({.keeps = false}).mode, Mode::kDense);
}

TEST_F(FollowOptionsTest, OfAServer) {
  for (const std::string codec : {"raw", "jpeg:70", "video:gst:x264enc tune=4 ! h264parse"}) {
    for (const bool keeps : {false, true}) {
      const RobotConfig config =
          Following({.kind = Plan::Kind::kRemote, .keeps = keeps, .codec = codec});
      EXPECT_EQ(config.mode, Mode::kRemote);
      EXPECT_EQ(config.server.codec, codec);
      EXPECT_EQ(config.server.server_mode, keeps ? ServerMode::kCache : ServerMode::kDense);
    }
  }
}

TEST_F(FollowOptionsTest, OfCuts) {
  for (const bool keeps : {false, true}) {
    const Plan plan = {
        .kind = Plan::Kind::kSplit, .keeps = keeps, .cuts = {{-1, 333}, {0, 400}, {1, 0}}};
    const RobotConfig config = Following(plan);
    EXPECT_EQ(config.mode, Mode::kSplit);
    EXPECT_EQ(config.server.server_mode, keeps ? ServerMode::kCache : ServerMode::kDense);
    EXPECT_EQ(ParseCuts(config.server.cuts, graph_), plan.cuts);
  }
}

}  // namespace
}  // namespace cacheinf
