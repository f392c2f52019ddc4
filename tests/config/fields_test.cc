// Read this first: a configuration is a table of fields, read from JSON, checked and written back.

#include "common/config/fields.h"

#include <gtest/gtest.h>

#include <string>

#include "common/base/error.h"
#include "common/base/words.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

enum class Fruit : uint8_t { kApple, kPear, kPlum };
constexpr Words<3> WordsOf(Fruit) { return {"apple", "pear", "plum"}; }

struct Sample {
  bool enabled = true;
  int count = 3;
  int64_t large = 7;
  double ratio = 0.5;
  std::string text = "hello";
  Fruit fruit = Fruit::kPear;
  std::vector<int> sizes = {1, 2};
  std::vector<double> weights;
  std::vector<std::string> names;
  std::vector<std::string> words;
  std::string words_file;

  FieldTable Fields() {
    return {
        Field{"enabled", &enabled, "A switch."},
        Field{"count", &count, "A number."}.Between(1, 10).Flag("--count"),
        Field{"large", &large, "A large number."},
        Field{"inner",
              FieldTable{
                  Field{"ratio", &ratio, "A share."}.Between(0, 1),
                  Field{"text", &text, "A text."},
                  Field{"fruit", MakeChoice(fruit), "A choice."},
              },
              "A group."},
        Field{"sizes", &sizes, "Numbers."}.Between(0, 100).AtMostItems(3),
        Field{"weights", &weights, "Numbers."},
        Field{"names", &names, "Texts."},
        Field{"words", TextsOrFile{&words, &words_file}, "Texts or a file."}.AtMostItems(3),
    };
  }
};

// The sentence with which `text` is refused; empty if it is not.
std::string SampleRefusal(const std::string& text) {
  Sample sample;
  return RefusalOf([&] { ReadJson(text, "sample.json", sample.Fields()); });
}

std::string RefusalOfOption(const std::string& path, const std::string& text) {
  Sample sample;
  return RefusalOf([&] { SetField(path, text, "command line", sample.Fields()); });
}

TEST(FieldsTest, ReadsEveryType) {
  Sample sample;
  ReadJson(R"({"enabled": false, "count": 10, "large": 9000000000,
               "inner": {"ratio": 1, "text": "ä", "fruit": "plum"},
               "sizes": [], "weights": [1, -2.5e3], "names": ["a", "b"]})",
           "sample.json", sample.Fields());
  EXPECT_FALSE(sample.enabled);
  EXPECT_EQ(sample.count, 10);
  EXPECT_EQ(sample.large, 9000000000);
  EXPECT_EQ(sample.ratio, 1.0);
  EXPECT_EQ(sample.text, "ä");
  EXPECT_EQ(sample.fruit, Fruit::kPlum);
  EXPECT_TRUE(sample.sizes.empty());
  EXPECT_EQ(sample.weights, (std::vector<double>{1, -2500}));
  EXPECT_EQ(sample.names, (std::vector<std::string>{"a", "b"}));
}

TEST(FieldsTest, LeavesWhatTheTextDoesNotName) {
  Sample sample;
  ReadJson(R"({"$schema": "./x", "inner": {"text": "new"}})", "sample.json", sample.Fields());
  EXPECT_EQ(sample.text, "new");
  EXPECT_EQ(sample.count, 3);
  EXPECT_EQ(sample.fruit, Fruit::kPear);
}

TEST(FieldsTest, RefusesUnknownKeysAndNamesTheNearest) {
  EXPECT_EQ(SampleRefusal(R"({"cuont": 1})"),
            "sample.json: unknown key \"cuont\"; did you mean \"count\"?");
  EXPECT_EQ(SampleRefusal(R"({"inner": {"ration": 1}})"),
            "sample.json: unknown key \"inner.ration\"; did you mean \"ratio\"?");
  EXPECT_EQ(SampleRefusal(R"({"qqqqqqqq": 1})"), "sample.json: unknown key \"qqqqqqqq\"");
  EXPECT_EQ(SampleRefusal(R"({"$schema": 3})"), "sample.json: $schema must be a string, got 3");
  EXPECT_EQ(SampleRefusal(R"({"inner": {"$schema": 1}})"),
            "sample.json: unknown key \"inner.$schema\"");
}

TEST(FieldsTest, RefusesWrongTypes) {
  EXPECT_EQ(SampleRefusal(R"({"count": "four"})"),
            "sample.json: count must be an integer, got \"four\"");
  EXPECT_EQ(SampleRefusal(R"({"count": 1.5})"), "sample.json: count must be an integer, got 1.5");
  EXPECT_EQ(SampleRefusal(R"({"count": null})"), "sample.json: count must be an integer, got null");
  EXPECT_EQ(SampleRefusal(R"({"enabled": 1})"),
            "sample.json: enabled must be true or false, got 1");
  EXPECT_EQ(SampleRefusal(R"({"inner": 1})"), "sample.json: inner must be an object, got 1");
  EXPECT_EQ(SampleRefusal(R"({"inner": {"text": 1}})"),
            "sample.json: inner.text must be a string, got 1");
  EXPECT_EQ(SampleRefusal(R"({"sizes": 1})"), "sample.json: sizes must be a list, got 1");
  EXPECT_EQ(SampleRefusal(R"({"sizes": [1, true]})"),
            "sample.json: sizes[1] must be an integer, got true");
  EXPECT_EQ(SampleRefusal("[]"), "sample.json: the text must be an object, got []");
}

TEST(FieldsTest, RefusesValuesOutOfBounds) {
  EXPECT_EQ(SampleRefusal(R"({"count": 0})"), "sample.json: count must be at least 1, got 0");
  EXPECT_EQ(SampleRefusal(R"({"count": 11})"), "sample.json: count must be at most 10, got 11");
  EXPECT_EQ(SampleRefusal(R"({"inner": {"ratio": 1.5}})"),
            "sample.json: inner.ratio must be at most 1, got 1.5");
  EXPECT_EQ(SampleRefusal(R"({"inner": {"fruit": "plumm"}})"),
            "sample.json: inner.fruit must be one of \"apple\", \"pear\", \"plum\", got \"plumm\"");
  EXPECT_EQ(SampleRefusal(R"({"sizes": [1, 2, 3, 4]})"),
            "sample.json: sizes must have at most 3 entries, got 4");
  EXPECT_EQ(SampleRefusal(R"({"sizes": [1, -1]})"),
            "sample.json: sizes[1] must be at least 0, got -1");
  EXPECT_NE(SampleRefusal(R"({"large": 18446744073709551615})"), "");
  EXPECT_NE(SampleRefusal(R"({"large": 1e400})"), "");
}

TEST(FieldsTest, RefusesWhatIsNotJson) {
  EXPECT_NE(SampleRefusal(""), "");
  EXPECT_NE(SampleRefusal("{"), "");
  EXPECT_NE(SampleRefusal("{} {}"), "");
  EXPECT_NE(SampleRefusal(R"({"count": 1,})"), "");
  EXPECT_NE(SampleRefusal("{\"inner\": {\"text\": \"\xff\"}}"), "");
  EXPECT_EQ(SampleRefusal("{} x").rfind("sample.json: not JSON: ", 0), 0u);
}

TEST(FieldsTest, QuotesWhatIsNotUtf8) {
  EXPECT_EQ(RefusalOfOption("inner.fruit", "b\xff"),
            "command line: inner.fruit must be one of \"apple\", \"pear\", \"plum\", got "
            "\"b\\ufffd\"");
}

TEST(FieldsTest, RefusesRepeatedKeys) {
  EXPECT_EQ(SampleRefusal(R"({"count": 1, "count": 2})"),
            "sample.json: the key \"count\" appears twice in one object");
  EXPECT_NE(SampleRefusal(R"({"inner": {"text": "a", "text": "a"}})"), "");
}

TEST(FieldsTest, RefusesDeepNestingWithoutDescending) {
  const std::string deep(500000, '[');
  EXPECT_EQ(SampleRefusal("{\"sizes\": " + deep), "sample.json: nested deeper than 16 levels");
}

TEST(FieldsTest, WritesWhatItReads) {
  Sample sample;
  sample.ratio = 0.1;
  sample.large = -5;
  sample.fruit = Fruit::kApple;
  sample.names = {"\"quoted\"", "ä"};
  const std::string text = WriteJson(sample.Fields());
  Sample again;
  ReadJson(text, "again", again.Fields());
  EXPECT_EQ(WriteJson(again.Fields()), text);
  EXPECT_EQ(again.ratio, 0.1);
  EXPECT_EQ(again.fruit, Fruit::kApple);
}

TEST(FieldsTest, TextsOrTheirFileAreOneField) {
  Sample sample;
  const FieldTable fields = sample.Fields();
  const auto holds = [&](const std::vector<std::string>& texts, const std::string& file) {
    EXPECT_EQ(sample.words, texts);
    EXPECT_EQ(sample.words_file, file);
    Sample again;
    ReadJson(WriteJson(fields), "again", again.Fields());
    EXPECT_EQ(again.words, texts);
    EXPECT_EQ(again.words_file, file);
  };
  ReadJson(R"({"words": ["a", "b"]})", "t", fields);
  holds({"a", "b"}, "");
  ReadJson(R"({"words": "words.txt"})", "t", fields);
  holds({}, "words.txt");
  SetField("words", R"(["c"])", "t", fields);
  holds({"c"}, "");
  SetField("words", "my,words.txt", "t", fields);
  holds({}, "my,words.txt");
  EXPECT_EQ(SampleRefusal(R"({"words": 1})"),
            "sample.json: words must be a list or a file's name, got 1");
  EXPECT_EQ(SampleRefusal(R"({"words": [1]})"), "sample.json: words[0] must be a string, got 1");
  EXPECT_EQ(SampleRefusal(R"({"words": ["a", "b", "c", "d"]})"),
            "sample.json: words must have at most 3 entries, got 4");
}

TEST(FieldsTest, SetsFieldsFromTheCommandLine) {
  Sample sample;
  const FieldTable fields = sample.Fields();
  SetField("count", "4", "command line", fields);
  SetField("inner.text", "5", "command line", fields);
  SetField("inner.fruit", "apple", "command line", fields);
  SetField("sizes", "7,8", "command line", fields);
  SetField("weights", "[0.5]", "command line", fields);
  SetField("names", "a,b", "command line", fields);
  SetField("enabled", "false", "command line", fields);
  EXPECT_EQ(sample.count, 4);
  EXPECT_EQ(sample.text, "5");
  EXPECT_EQ(sample.fruit, Fruit::kApple);
  EXPECT_EQ(sample.sizes, (std::vector<int>{7, 8}));
  EXPECT_EQ(sample.weights, (std::vector<double>{0.5}));
  EXPECT_EQ(sample.names, (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(sample.enabled);

  EXPECT_EQ(RefusalOfOption("count", "99"), "command line: count must be at most 10, got 99");
  EXPECT_EQ(RefusalOfOption("count", "x"), "command line: count must be an integer, got \"x\"");
  EXPECT_EQ(RefusalOfOption("count", " 2"), "command line: count must be an integer, got \" 2\"");
  EXPECT_EQ(RefusalOfOption("count", "2\n"),
            "command line: count must be an integer, got \"2\\n\"");
  EXPECT_EQ(RefusalOfOption("sizes", "7, 8"), "");
  EXPECT_EQ(RefusalOfOption("inner.texd", "x"),
            "command line: unknown key \"inner.texd\"; did you mean \"inner.text\"?");
}

TEST(FieldsTest, KeysTakeTheOptionsPlaces) {
  std::string file;
  std::string mode;
  FieldTable inner = {Field{"file", &file, "A file."}.Flag("--server")};
  const FieldTable fields = {{"inner", inner, "A table."},
                             Field{"mode", &mode, "A mode."}.Flag("--server-mode")};
  EXPECT_EQ(WithKeys("--server takes a file; see --server-mode fast (--server), --servers", fields),
            "inner.file takes a file; see mode fast (inner.file), --servers");
}

TEST(FieldsTest, ChecksBoundsOfValuesSetInCode) {
  Sample sample;
  EXPECT_NO_THROW(CheckBounds("sample", sample.Fields()));
  sample.ratio = -1;
  EXPECT_THROW(CheckBounds("sample", sample.Fields()), InputError);
}

TEST(FieldsTest, SchemaHasTypesBoundsDefaultsAndNothingElseAllowed) {
  Sample sample;
  const std::string schema = WriteJsonSchema("Sample", sample.Fields());
  for (const char* part :
       {"\"additionalProperties\": false", "\"minimum\": 1", "\"maximum\": 10", "\"default\": 3",
        "\"maxItems\": 3", "\"description\": \"A share.\"", "\"plum\"", "\"$schema\""}) {
    EXPECT_NE(schema.find(part), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace cacheinf
