#include "common/base/nearest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cacheinf {
namespace {

TEST(NearestTest, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("", "abc"), 3u);
  EXPECT_EQ(EditDistance("width", "width"), 0u);
  EXPECT_EQ(EditDistance("widht", "width"), 1u);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
}

TEST(NearestTest, NamesTheNearestWordOnlyWhenItIsNear) {
  const std::vector<std::string> known = {"width", "height", "threads"};
  EXPECT_EQ(DidYouMean("thread", known), "; did you mean \"threads\"?");
  EXPECT_EQ(DidYouMean("widht", known), "; did you mean \"width\"?");
  EXPECT_EQ(DidYouMean("width_of_the_picture", known), "; did you mean \"width\"?");
  EXPECT_EQ(DidYouMean("zzzzzz", known), "");
  EXPECT_EQ(DidYouMean("width", {}), "");
}

TEST(NearestTest, IgnoresAbsurdlyLongWords) {
  const std::vector<std::string> known = {std::string(1000000, 'a')};
  EXPECT_EQ(DidYouMean(std::string(1000000, 'a'), known), "");
}

}  // namespace
}  // namespace cacheinf
