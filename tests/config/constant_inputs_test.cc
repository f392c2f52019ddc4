#include "common/config/constant_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/npy.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ConstantInputsTest, ListsGoOnWhereACommaSplitsThem) {
  for (const std::vector<std::string>& texts :
       {std::vector<std::string>{"im_shape=640,320", "scale=0.5"},
        std::vector<std::string>{"im_shape=640", "320", "scale=0.5"},
        std::vector<std::string>{"im_shape=640,320,scale=0.5"}}) {
    const ConstantInputs inputs = ReadConstantInputs(texts, "inputs");
    ASSERT_EQ(inputs.size(), 2u);
    EXPECT_THAT(inputs.at("im_shape").numbers, ElementsAre(640, 320));
    EXPECT_FALSE(inputs.at("im_shape").shape);
    EXPECT_THAT(inputs.at("scale").numbers, ElementsAre(0.5));
  }
}

TEST(ConstantInputsTest, ArraysBringTheirShape) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "sizes.npy";
  WriteNpy(file, std::vector<int64_t>{1, 2}, std::vector<int64_t>{640, 480});
  const ConstantInputs inputs = ReadConstantInputs({"sizes=" + file.string()}, "inputs");
  EXPECT_EQ(inputs.at("sizes").shape, (Shape{1, 2}));
  EXPECT_THAT(inputs.at("sizes").numbers, ElementsAre(640, 480));
  std::filesystem::remove(file);
  EXPECT_THAT(RefusalOf([&] { ReadConstantInputs({"sizes=" + file.string()}, "inputs"); }),
              HasSubstr("sizes.npy"));
}

TEST(ConstantInputsTest, RefusesWhatItCannotRead) {
  for (const char* text : {"640", "=1", "a=", "a=x", "a=1,a=2", "a=1e", "a=1 "}) {
    EXPECT_THAT(RefusalOf([&] { ReadConstantInputs({text}, "inputs"); }),
                HasSubstr("inputs: a constant input must look like"))
        << text;
  }
}

}  // namespace
}  // namespace cacheinf
