// Read this first: the node of ROS 1 and its nodelet, with a real roscore, where there is one.

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "tests/testing/folder_test.h"
#include "tests/testing/places.h"
#include "tests/testing/process.h"

namespace cacheinf {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class Ros1Test : public FolderTest, public testing::WithParamInterface<const char*> {};

// tests/ros1/node_scenario.py tells what each does.
TEST_P(Ros1Test, Scenario) {
#ifndef CACHEINF_ROS1_SETUP
  GTEST_SKIP() << "built without ROS 1: scripts/setup --ros1 installs it";
#else
  const fs::path source = SourceFolder();
  const fs::path configs = source / "configs";
  Process peer({"env", "-C", folder_.string(), "bash", "-c", ". \"$0\" && exec \"$@\"",
                CACHEINF_ROS1_SETUP, "/usr/bin/python3",
                source / "tests" / "ros1" / "node_scenario.py", ProgramPath("cacheinf-ros1"),
                ProgramPath("cacheinf-server"), source / "scripts" / "name-server",
                configs / "demo.json", configs / "models" / "demo_segmentation.onnx", GetParam()});
  EXPECT_EQ(peer.Wait(300s), 0) << peer.output();
#endif
}

INSTANTIATE_TEST_SUITE_P(
    Node, Ros1Test,
    testing::Values("frames_pass_stamp_and_frame_and_nothing_is_done_unasked",
                    "a_compressed_image_is_answered", "two_cameras_share_a_node",
                    "what_is_wrong_with_an_image_is_told_and_the_next_is_answered",
                    "services_do_as_they_say", "pictures_are_drawn_for_who_looks",
                    "a_killed_server_costs_no_answer", "a_stop_during_a_frame_ends_in_peace",
                    "memory_stays_flat", "a_wrong_parameter_ends_it_with_a_sentence",
                    "a_manager_holds_it_as_a_nodelet"),
    [](const auto& scenario) { return std::string(scenario.param); });

}  // namespace
}  // namespace cacheinf
