// Read this first: a struct lists its fields once, and JSON is read and written by that list.

#include "common/base/json_fields.h"

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

TEST(JsonReaderTest, RefusesWhatNestsTooDeepToBeCopied) {
  EXPECT_TRUE(JsonReader(Nested(31), "text").Has("a"));
  EXPECT_THROW(JsonReader(Nested(32), "text"), InputError);
  EXPECT_THROW(JsonReader(Nested(1'000'000), "text"), InputError);
}

TEST(JsonReaderTest, RefusesMoreKeysThanCanBeSought) {
  EXPECT_TRUE(JsonReader(WithKeys(1000), "text").Has("k"));
  EXPECT_THROW(JsonReader(WithKeys(1001), "text"), InputError);
}

TEST(JsonReaderTest, CountsNoBracketsWithinTexts) {
  const std::string brackets = R"(\"[{:)";
  std::string text = "{\"a\": \"";
  for (int i = 0; i < 2000; ++i) text += brackets;
  EXPECT_EQ(JsonReader(text + "\"}", "text").Text("a").size(), 4U * 2000);
}

}  // namespace
}  // namespace cacheinf
