// Read this first: a node of ROS 2 among others, where this build has one; node_scenario.py plays.

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <string>

#include "tests/testing/folder_test.h"
#include "tests/testing/places.h"
#include "tests/testing/process.h"

namespace cacheinf {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class RosTest : public FolderTest {};

// Both ways between C++ and Python, with stamp, frame and every pixel; and a node that is told to
// stop leaves in peace.
TEST_F(RosTest, SendsAnImageThroughANodeInCpp) {
#ifndef CACHEINF_ROS_PYTHON
  GTEST_SKIP() << "built without ROS 2: scripts/setup --ros installs it";
#else
  // A domain of this test's own, on this machine alone.
  const std::map<std::string, std::string> environment = {
      {"ROS_DOMAIN_ID", std::to_string(1 + getpid() % 100)},
      {"ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST"},
      {"ROS_LOG_DIR", folder_.string()},
  };
  Process echo({ProgramPath("ros_image_echo")}, environment);
  Process peer({CACHEINF_ROS_PYTHON, SourceFolder() / "tests" / "ros" / "expect_echo.py"},
               environment);
  EXPECT_EQ(peer.Wait(30s), 0) << peer.output() << echo.output();
  echo.Signal(SIGTERM);
  EXPECT_EQ(echo.Wait(10s), 0) << echo.output();
#endif
}

TEST_F(RosTest, TheLaunchFilePassesOnWhatIsGiven) {
  Process python({"python3", SourceFolder() / "tests" / "ros" / "launch_files.py",
                  SourceFolder() / "client" / "ros" / "ros2" / "launch" / "robot.launch.py"});
  EXPECT_EQ(python.Wait(30s), 0) << python.output();
}

#ifdef CACHEINF_ROS_PYTHON
class NodeTest : public FolderTest, public testing::WithParamInterface<const char*> {};

// tests/ros/node_scenario.py tells what each does.
TEST_P(NodeTest, Scenario) {
  const fs::path generated = CACHEINF_ROS_MESSAGES;
  const fs::path configs = SourceFolder() / "configs";
  const std::map<std::string, std::string> environment = {
      {"ROS_DOMAIN_ID", std::to_string(1 + getpid() % 100)},
      {"ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST"},
      {"ROS_LOG_DIR", folder_.string()},
      {"PYTHONPATH", generated / "rosidl_generator_py"},
      {"LD_LIBRARY_PATH", generated},
  };
  Process peer({"env", "-C", folder_.string(), CACHEINF_ROS_PYTHON,
                SourceFolder() / "tests" / "ros" / "node_scenario.py", ProgramPath("cacheinf-ros2"),
                ProgramPath("cacheinf-server"), SourceFolder() / "scripts" / "name-server",
                configs / "demo.json", configs / "models" / "demo_segmentation.onnx", GetParam()},
               environment);
  const auto code = peer.Wait(300s);
  if (peer.output().starts_with("SKIPPED")) GTEST_SKIP() << peer.output();
  EXPECT_EQ(code, 0) << peer.output();
}

INSTANTIATE_TEST_SUITE_P(
    Node, NodeTest,
    testing::Values("frames_pass_stamp_and_frame_and_nothing_is_done_unasked",
                    "a_compressed_image_is_answered", "a_publisher_that_does_not_fit_is_named",
                    "a_subscriber_that_does_not_fit_is_named",
                    "a_namesake_is_told_and_a_stop_at_the_start_is_heard",
                    "a_huge_image_is_refused_and_the_next_is_answered", "two_cameras_share_a_node",
                    "parameters_change_in_mid_run", "what_cannot_be_is_refused_at_the_start",
                    "what_is_wrong_with_an_image_is_told_and_the_next_is_answered",
                    "services_do_as_they_say", "a_managed_node_waits_for_its_transitions",
                    "pictures_are_drawn_for_who_looks", "a_killed_server_costs_no_answer",
                    "a_stop_during_a_frame_ends_in_peace", "memory_stays_flat"),
    [](const auto& scenario) { return std::string(scenario.param); });
#endif

}  // namespace
}  // namespace cacheinf
