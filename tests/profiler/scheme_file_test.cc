#include "profiler/scheme_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "common/base/file.h"
#include "tests/testing/folder_test.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

const SchemeKey kKey = {"0123456789abcdef", "c0ffee", "fedcba9876543210", 2};

class SchemeFileTest : public FolderTest {
 protected:
  fs::path File(const SchemeKey& key = kKey) const { return SchemeFile(Path("schemes"), key); }

  static MeasuredLayers Layers() {
    return {{{"3x3 8->8 1x4x4 pad 1,1", 1.5, 0.5}, {"other", 2.0, 3.0}},
            {{"1x1 8->8 1x4x4 pad 0,0", 12}, {"another", 0}}};
  }

  static void ExpectLayers(const std::optional<MeasuredLayers>& read) {
    ASSERT_TRUE(read);
    const MeasuredLayers written = Layers();
    ASSERT_EQ(read->schemes.size(), written.schemes.size());
    for (size_t i = 0; i < written.schemes.size(); ++i) {
      EXPECT_EQ(read->schemes[i].layer, written.schemes[i].layer);
      EXPECT_EQ(read->schemes[i].direct_ms, written.schemes[i].direct_ms);
      EXPECT_EQ(read->schemes[i].winograd_ms, written.schemes[i].winograd_ms);
    }
    ASSERT_EQ(read->tiles.size(), written.tiles.size());
    for (size_t i = 0; i < written.tiles.size(); ++i) {
      EXPECT_EQ(read->tiles[i].layer, written.tiles[i].layer);
      EXPECT_EQ(read->tiles[i].small_tiles_up_to, written.tiles[i].small_tiles_up_to);
    }
  }

  // What reading the file logs.
  std::string LogOfReading(const SchemeKey& key = kKey) const {
    SetLogLevel(LogLevel::kInfo);
    testing::internal::CaptureStderr();
    EXPECT_FALSE(ReadSchemeFile(File(key), key));
    SetLogLevel(LogLevel::kOff);
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(SchemeFileTest, WhatIsWrittenIsReadAgain) {
  WriteSchemeFile(File(), kKey, Layers());
  ExpectLayers(ReadSchemeFile(File(), kKey));
  WriteSchemeFile(File(), kKey, {});
  const auto layers = ReadSchemeFile(File(), kKey);
  ASSERT_TRUE(layers);
  EXPECT_TRUE(layers->schemes.empty());
  EXPECT_TRUE(layers->tiles.empty());
  EXPECT_EQ(std::distance(fs::directory_iterator(Path("schemes")), fs::directory_iterator()), 1);
}

TEST_F(SchemeFileTest, AMissingFileIsNotLogged) { EXPECT_EQ(LogOfReading(), ""); }

TEST_F(SchemeFileTest, AFileOfAnotherKeyIsNotUsed) {
  WriteSchemeFile(File(), kKey, Layers());
  std::vector<SchemeKey> others(4, kKey);
  others[0].machine = "other";
  others[1].build = "other";
  others[2].model = "other";
  others[3].threads = 1;
  for (const SchemeKey& other : others) {
    EXPECT_NE(File(other), File());
    fs::copy_file(File(), File(other));
    const std::string log = LogOfReading(other);
    EXPECT_NE(log.find("measured of something else"), std::string::npos) << log;
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
  }
}

TEST_F(SchemeFileTest, BrokenFilesAreNotUsedAndLoggedInOneLine) {
  WriteSchemeFile(File(), kKey, Layers());
  const std::string good = ReadFile(File());
  const auto change = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  const std::vector<std::string> broken = {
      "",
      "null",
      "[]",
      "{}",
      std::string(100000, '['),
      std::string(2 << 20, ' '),
      good.substr(0, good.size() / 2),
      change("\"format\": 2", "\"format\": 1"),
      change("\"format\": 2", "\"format\": \"2\""),
      change("1.5", "-1.5"),
      change("1.5", "1e300"),
      change("1.5", "1e999"),
      change("1.5", "null"),
      change("\"other\"", "7"),
      change("direct_ms", "indirect_ms"),
      change(": 12", ": -12"),
      change(": 12", ": 12.5"),
      change(": 12", ": 3000000000"),
      change(": 12", ": 1e3"),
      change("small_tiles_up_to", "large_tiles_from"),
  };
  for (const std::string& text : broken) {
    WriteText("schemes/" + File().filename().string(), text);
    const std::string log = LogOfReading();
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << text.substr(0, 80) << ": " << log;
  }
  WriteSchemeFile(File(), kKey, Layers());
  ExpectLayers(ReadSchemeFile(File(), kKey));
}

TEST_F(SchemeFileTest, DamageOfAnyByteNeverThrows) {
  WriteSchemeFile(File(), kKey, Layers());
  const std::string good = ReadFile(File());
  std::mt19937 random(11);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string text = good;
    text[i] = static_cast<char>(random());
    WriteText("schemes/" + File().filename().string(), text);
    EXPECT_NO_THROW(ReadSchemeFile(File(), kKey)) << "byte " << i << ", seed 11";
  }
}

TEST_F(SchemeFileTest, WhereNothingCanBeWrittenTheRunGoesOn) {
  WriteText("schemes", "a file where the folder should be");
  EXPECT_NO_THROW(WriteSchemeFile(File(), kKey, Layers()));
  EXPECT_FALSE(ReadSchemeFile(File(), kKey));
}

}  // namespace
}  // namespace cacheinf
