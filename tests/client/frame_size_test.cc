#include <gtest/gtest.h>

#include <memory>
#include <opencv2/core.hpp>
#include <utility>
#include <vector>

#include "client/robot.h"
#include "client/robot_setup.h"
#include "common/answer/outputs.h"
#include "common/base/clock.h"
#include "common/source/frame_source.h"
#include "common/source/opencv_picture.h"
#include "tests/client/demo_config.h"
#include "tests/client/read_frames.h"

namespace cacheinf {
namespace {

// The demo's network on generated scenes whose size changes on the way.
class FrameSizeTest : public ::testing::Test {
 protected:
  FrameSizeTest() {
    config_ = DemoConfig("1x3x96x128");
    config_.guard.is_on = false;
    config_.Check();
    model_ = Compile(LoadGraph(config_, /*has_tensors=*/false), config_);
  }

  RobotConfig config_;
  std::shared_ptr<const CompiledModel> model_;
  SteadyClock clock_;
};

TEST_F(FrameSizeTest, TheFirstFrameOfANewSizeIsComputedWholeAndTheNextReuseIt) {
  std::vector<Frame> frames;
  for (const std::string size : {"width=320,height=240", "width=640,height=360",
                                 "width=90,height=200", "width=320,height=240"}) {
    for (Frame& frame : ReadFrames("generated:camera=still,frames=2," + size)) {
      frames.push_back(std::move(frame));
    }
  }
  RobotConfig dense_config = config_;
  dense_config.mode = RobotConfig::Mode::kDense;
  Robot robot(model_, config_, clock_);
  Robot dense(model_, dense_config, clock_);
  std::vector<std::vector<float>> outputs;
  std::vector<std::vector<float>> dense_outputs;
  for (size_t i = 0; i < frames.size(); ++i) {
    SCOPED_TRACE(i);
    const Answer answer = robot.Process(frames[i]);
    dense.Process(frames[i]);
    ASSERT_TRUE(answer.work);
    EXPECT_EQ(answer.work->is_dense, i % 2 == 0);
    if (i % 2 != 0) continue;
    ReadOutputs(robot.outputs(), outputs);
    ReadOutputs(dense.outputs(), dense_outputs);
    EXPECT_EQ(outputs, dense_outputs);
  }
}

TEST_F(FrameSizeTest, GreyFramesBetweenColouredOnesAreAnswered) {
  std::vector<Frame> frames = ReadFrames("generated:camera=still,width=320,height=240,frames=3");
  frames[1].picture = PictureFrom(cv::Mat(240, 320, CV_8UC1, cv::Scalar(90)));
  Robot robot(model_, config_, clock_);
  for (const Frame& frame : frames) {
    const Answer answer = robot.Process(frame);
    EXPECT_EQ(answer.computed_from, frame.index);
  }
}

}  // namespace
}  // namespace cacheinf
