#include "common/base/checked_json.h"

#include <gtest/gtest.h>

#include <string>

namespace cacheinf {
namespace {

// An object that holds lists in lists.
std::string Nested(size_t lists) {
  return "{\"a\": " + std::string(lists, '[') + std::string(lists, ']') + "}";
}

std::string WithKeys(int count) {
  std::string text = "{\"k\": {";
  for (int i = 0; i < count; ++i) text += (i == 0 ? "\"" : ", \"") + std::to_string(i) + "\": 0";
  return text + "}}";
}

TEST(CheckedJsonTest, RefusesWhatNestsTooDeepToBeCopied) {
  EXPECT_TRUE(CheckedJson(Nested(31), "text").Has("a"));
  EXPECT_THROW(CheckedJson(Nested(32), "text"), InputError);
  EXPECT_THROW(CheckedJson(Nested(1'000'000), "text"), InputError);
}

TEST(CheckedJsonTest, RefusesMoreKeysThanCanBeSought) {
  EXPECT_TRUE(CheckedJson(WithKeys(1000), "text").Has("k"));
  EXPECT_THROW(CheckedJson(WithKeys(1001), "text"), InputError);
}

TEST(CheckedJsonTest, CountsNoBracketsWithinTexts) {
  const std::string brackets = R"(\"[{:)";
  std::string text = "{\"a\": \"";
  for (int i = 0; i < 2000; ++i) text += brackets;
  EXPECT_EQ(CheckedJson(text + "\"}", "text").Text("a").size(), 4U * 2000);
}

}  // namespace
}  // namespace cacheinf
