// Whether this build reaches other nodes of ROS 2, where there is one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <map>
#include <string>

#include "tests/testing/folder_test.h"
#include "tests/testing/places.h"
#include "tests/testing/process.h"

namespace cacheinf {
namespace {

using namespace std::chrono_literals;

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

}  // namespace
}  // namespace cacheinf
