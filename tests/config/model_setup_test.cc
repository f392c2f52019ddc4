// How frames become pictures follows from what the model's file says.

#include "common/config/model_setup.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/model/graph/decode.h"
#include "common/model/graph/graph.h"

namespace cacheinf {
namespace {

using Fit = PictureSpec::Fit;
using Resize = PictureSpec::Resize;
using Channels = PictureSpec::Channels;
using List = std::vector<double>;

constexpr int64_t kCells = 64 + 16 + 4;  // of strides 8, 16 and 32 in 64x64

Graph NetworkOf(const Shape& output, const std::string& task = "",
                const Shape& picture = {1, 3, 64, 64}) {
  Graph graph;
  graph.AddInput("image", picture);
  const ValueId given = graph.AddInput("given", output);
  graph.outputs = {graph.AddOne("output0", op::Activation{}, {given})};
  graph.notes.task = task;
  return graph;
}

ModelConfig ConfigOf(HeadKind kind) {
  ModelConfig config;
  config.decoder.kind = kind;
  return config;
}

TEST(ModelSetupTest, TasksOfBoxesGetUltralyticsLetterbox) {
  for (const char* task : {"detect", "pose", "segment", "obb"}) {
    const auto [config, chosen] =
        ChoosePreprocess(NetworkOf({1, 9}, task), ConfigOf(HeadKind::kRaw));
    EXPECT_EQ(config.fit, Fit::kLetterbox);
    EXPECT_EQ(config.border, 114);
    EXPECT_EQ(config.resize, Resize::kBilinear);
    EXPECT_EQ(config.channels, Channels::kRgb);
    EXPECT_EQ(config.mean, List{0});
    EXPECT_EQ(config.divisor, List{255});
    EXPECT_EQ(chosen, "preprocess.fit, resize, channels, mean, divisor are usual for the task \"" +
                          std::string(task) + "\", which the model's file names");
  }
}

TEST(ModelSetupTest, ClassifiersOfUltralyticsGetTheMiddle) {
  const PreprocessConfig config = ChoosePreprocess(NetworkOf({1, 9}, "classify"), {}).config;
  EXPECT_EQ(config.fit, Fit::kCrop);
  EXPECT_EQ(config.resize, Resize::kAntialias);
  EXPECT_EQ(config.resize_to, 0);
  EXPECT_EQ(config.divisor, List{255});
}

TEST(ModelSetupTest, WhatTheConfigurationSaysCounts) {
  ModelConfig own;
  own.preprocess.fit = Fit::kStretch;
  own.preprocess.divisor = {2};
  const auto [config, chosen] = ChoosePreprocess(NetworkOf({1, 7, kCells}, "detect"), own);
  EXPECT_EQ(config.fit, Fit::kStretch);
  EXPECT_EQ(config.divisor, List{2});
  EXPECT_EQ(chosen,
            "preprocess.resize, channels, mean are usual for networks of decoder.kind "
            "yolov8");
  own.preprocess = config;
  EXPECT_EQ(ChoosePreprocess(NetworkOf({1, 7, kCells}, "detect"), own).chosen, "");
}

TEST(ModelSetupTest, KindsHaveTheirOwn) {
  const auto choose = [](const Graph& graph, HeadKind kind) {
    return ChoosePreprocess(graph, ConfigOf(kind)).config;
  };
  const PreprocessConfig yolox = choose(NetworkOf({1, kCells, 7}), HeadKind::kYolox);
  EXPECT_EQ(yolox.fit, Fit::kCorner);
  EXPECT_EQ(yolox.channels, Channels::kBgr);
  EXPECT_EQ(yolox.divisor, List{1});
  EXPECT_EQ(yolox.border, 114);
  // Ultralytics names the task of RT-DETR "detect", but stretches its frames.
  EXPECT_EQ(choose(NetworkOf({1, 300, 84}, "detect"), HeadKind::kRtDetr).fit, Fit::kStretch);
  EXPECT_EQ(choose(NetworkOf({1, 9}), HeadKind::kDetr).divisor, (List{58.395, 57.12, 57.375}));
  EXPECT_EQ(choose(NetworkOf({1, 9}), HeadKind::kTfDetection).divisor, List{1});
  EXPECT_EQ(choose(NetworkOf({1, 9}), HeadKind::kCenterface).divisor, List{1});
  EXPECT_EQ(choose(NetworkOf({1, 9}), HeadKind::kNanodet).channels, Channels::kBgr);
  // Recognised, though the network has its channels last.
  const Graph last = NetworkOf({1, 84, kCells}, "", {1, 64, 64, 3});
  EXPECT_EQ(ChoosePreprocess(last, {}).config.fit, Fit::kLetterbox);
}

TEST(ModelSetupTest, WithoutAKnownKindItIsAGuessAndSaysSo) {
  const auto [config, chosen] = ChoosePreprocess(NetworkOf({1, 9}), {});
  EXPECT_EQ(config.fit, Fit::kStretch);
  EXPECT_EQ(config.divisor, List{255});
  EXPECT_EQ(chosen,
            "preprocess.fit, resize, channels, mean, divisor are a guess, because nothing says how "
            "the network was trained");
}

TEST(ModelSetupTest, InputsOfBytesAreLeftAsTheyAre) {
  Graph graph = NetworkOf({1, 7, kCells}, "detect");
  graph.notes.has_byte_picture = true;
  EXPECT_EQ(ChoosePreprocess(graph, {}).config.divisor, List{1});
}

// Where the network begins by `factor` times its picture, shifted before and moved after.
Graph ScalingNetwork(BinaryKind kind, float factor) {
  Graph graph;
  ValueId at = graph.AddInput("image", {1, 64, 64, 3});
  const auto with = [&](BinaryKind own, float number) {
    const ValueId constant = graph.AddConstant("number", Tensor({1, 1, 1, 1}, {number}));
    at = graph.AddOne("scaled", op::Binary{own, {}}, {at, constant});
  };
  with(BinaryKind::kSubtract, 0.5f);
  at = graph.AddOne("permuted", op::Permute{{0, 3, 1, 2}}, {at});
  with(kind, factor);
  graph.outputs = {at};
  graph.notes.task = "detect";
  return graph;
}

TEST(ModelSetupTest, LevelsAreNotScaledTwice) {
  PreprocessConfig own;
  own.divisor = {255};
  for (Graph graph : {ScalingNetwork(BinaryKind::kDivide, 255),
                      ScalingNetwork(BinaryKind::kMultiply, 1 / 127.5f)}) {
    EXPECT_TRUE(ScalesLevels(graph));
    graph.notes.has_byte_picture = true;
    EXPECT_NE(DoubtOfDivisor(graph, own), "");
    EXPECT_EQ(DoubtOfDivisor(graph, {}), "");
  }
  // As networks do whose pictures have been normalised before.
  const Graph shares = ScalingNetwork(BinaryKind::kMultiply, 0.225f);
  EXPECT_FALSE(ScalesLevels(shares));
  EXPECT_EQ(DoubtOfDivisor(shares, own), "");
}

TEST(ModelSetupTest, OneChannelIsGrey) {
  for (const Shape& picture : {Shape{1, 1, 64, 64}, Shape{1, 64, 64, 1}}) {
    EXPECT_EQ(ChoosePreprocess(NetworkOf({1, 9}, "", picture), {}).config.channels,
              Channels::kGray);
  }
}

TEST(ModelSetupTest, ALineSaysWhatFramesBecome) {
  Graph graph = NetworkOf({1, kCells, 7});
  EXPECT_EQ(AddPicture(graph, ConfigOf(HeadKind::kYolox)),
            "frames are letterboxed in the corner to 64\u00d764 pixels by preprocess.resize "
            "\"bilinear\", as OpenCV and Ultralytics do; bgr, minus 0, divided by 1; "
            "preprocess.fit, resize, channels, mean, divisor are usual for networks of "
            "decoder.kind yolox");
  EXPECT_EQ(graph.picture.fit, Fit::kCorner);
}

}  // namespace
}  // namespace cacheinf
