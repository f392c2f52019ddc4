#include "common/config/tracker_config.h"

#include <gtest/gtest.h>

#include <string>

#include "common/base/error.h"

namespace cacheinf {
namespace {

std::string Refusal(const std::string& text) {
  try {
    TrackerConfig config;
    ReadJson(text, "tracker.json", config.Fields());
    config.Check("tracker.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(TrackerConfigTest, DefaultsAreWithinBounds) {
  EXPECT_NO_THROW(TrackerConfig().Check("defaults"));
}

TEST(TrackerConfigTest, WhatIsWrittenIsReadAgain) {
  TrackerConfig config;
  config.kind = TrackerConfig::Kind::kBlock;
  config.homography.features = HomographyConfig::Features::kAkaze;
  config.blocks.search = BlockMatchingConfig::Search::kHistogram;
  config.blocks.translation = BlockMatchingConfig::Translation::kMean;
  config.change.rule = ChangeConfig::Rule::kBlocks;
  config.change.threshold = 0.05;
  const std::string text = WriteJson(config.Fields());
  TrackerConfig again;
  ReadJson(text, "written", again.Fields());
  EXPECT_EQ(WriteJson(again.Fields()), text);
  EXPECT_EQ(again.change.rule, ChangeConfig::Rule::kBlocks);
}

TEST(TrackerConfigTest, NamesTheKeyAtFault) {
  EXPECT_EQ(Refusal(R"({"change": {"threshold": 2}})"),
            "tracker.json: change.threshold must be at most 1, got 2");
  EXPECT_EQ(Refusal(R"({"change": {"rule": "blocks", "psnr": 101}})"),
            "tracker.json: change.psnr must be at most 100, got 101");
  EXPECT_EQ(Refusal(R"({"change": {"rule": "blocks"}})"), "");
  EXPECT_NE(Refusal(R"({"kind": "gyroscope"})"), "");
  EXPECT_NE(Refusal(R"({"homography": {"working_side": 4}})"), "");
  EXPECT_NE(Refusal(R"({"blocks": {"block": 0}})"), "");
  EXPECT_NE(Refusal(R"({"change": {"cell": 0}})"), "");
}

}  // namespace
}  // namespace cacheinf
