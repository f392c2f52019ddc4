#include "common/base/python_literal.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace cacheinf {
namespace {

// Writes a literal with its types: None, true, i1, f0.5, "text", [i1 i2], {i0:"a"}.
std::string Written(const PythonLiteral& literal) {
  struct Writer {
    std::string operator()(std::monostate) const { return "None"; }
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(int64_t number) const { return "i" + std::to_string(number); }
    std::string operator()(double number) const { return "f" + std::to_string(number); }
    std::string operator()(const std::string& text) const { return '"' + text + '"'; }
    std::string operator()(const PythonLiteral::Items& items) const {
      std::string text = "[";
      for (const PythonLiteral& item : items) text += Written(item) + " ";
      return text + "]";
    }
    std::string operator()(const PythonLiteral::Entries& entries) const {
      std::string text = "{";
      for (const auto& [key, value] : entries) text += Written(key) + ":" + Written(value) + " ";
      return text + "}";
    }
  };
  return std::visit(Writer(), literal.value);
}

// "-" where it is no literal.
std::string Read(const std::string& text) {
  const std::optional<PythonLiteral> literal = ParsePythonLiteral(text);
  return literal ? Written(*literal) : "-";
}

TEST(PythonLiteralTest, ReadsWhatReprWrites) {
  EXPECT_EQ(Read("None"), "None");
  EXPECT_EQ(Read(" True "), "true");
  EXPECT_EQ(Read("-12"), "i-12");
  EXPECT_EQ(Read("9223372036854775807"), "i9223372036854775807");
  EXPECT_EQ(Read("0.5"), "f0.500000");
  EXPECT_EQ(Read("-2.5e1"), "f-25.000000");
  EXPECT_EQ(Read("[640, 640]"), "[i640 i640 ]");
  EXPECT_EQ(Read("(1,)"), "[i1 ]");
  EXPECT_EQ(Read("(1)"), "i1");
  EXPECT_EQ(Read("()"), "[]");
  EXPECT_EQ(Read("((1, 2),)"), "[[i1 i2 ] ]");
  EXPECT_EQ(Read("{}"), "{}");
  EXPECT_EQ(Read("{0: 'person', 1: \"it's\",}"), "{i0:\"person\" i1:\"it's\" }");
  EXPECT_EQ(Read("{'batch': 1, 'nms': False,\n 'half': None}"),
            "{\"batch\":i1 \"nms\":false \"half\":None }");
}

TEST(PythonLiteralTest, DecodesEscapes) {
  EXPECT_EQ(Read(R"('it\'s')"), "\"it's\"");
  EXPECT_EQ(Read(R"("a\"b\\c\n\t\r")"), "\"a\"b\\c\n\t\r\"");
  EXPECT_EQ(Read(R"('\x41\xe9')"), "\"A\xc3\xa9\"");
  EXPECT_EQ(Read(R"('\u4eba')"), "\"\xe4\xba\xba\"");
  EXPECT_EQ(Read(R"('\U0001f600')"), "\"\xf0\x9f\x98\x80\"");
  EXPECT_EQ(Read("'caf\xc3\xa9'"), "\"caf\xc3\xa9\"");
}

TEST(PythonLiteralTest, RefusesAllElse) {
  for (const char* text : {"",
                           " ",
                           "person",
                           "'open",
                           "'a' 'b'",
                           "'a\nb'",
                           "b'x'",
                           "r'x'",
                           "[1",
                           "[1 2]",
                           "[,]",
                           "(,)",
                           "[1)",
                           "{1}",
                           "{1: }",
                           "{1: 2 3: 4}",
                           "{1, 2}",
                           "1 2",
                           "--1",
                           "-+1",
                           "+-1",
                           "- 1",
                           "007",
                           "1_000",
                           "0x10",
                           "1e",
                           "1.2.3",
                           "1e999",
                           "9223372036854775808",
                           "inf",
                           "Truest",
                           "1+1",
                           "dict()",
                           "__import__('os')",
                           "[x for x in y]",
                           R"('\x4')",
                           R"('\x-1')",
                           R"('\q')",
                           R"('\ud800')",
                           R"('\U00110000')",
                           R"('\)",
                           R"('\u12)"}) {
    EXPECT_EQ(Read(text), "-") << text;
  }
}

TEST(PythonLiteralTest, LimitsLevelsAndLength) {
  const auto nested = [](size_t lists) {
    return std::string(lists, '[') + std::string(lists, ']');
  };
  EXPECT_NE(Read(nested(16)), "-");
  EXPECT_EQ(Read(nested(17)), "-");
  EXPECT_EQ(Read(std::string(3'000'000, '(')), "-");
  std::string deep;
  for (int i = 0; i < 500'000; ++i) deep += "{0:";
  EXPECT_EQ(Read(deep), "-");
  const std::string longest((size_t{1} << 22) - 2, 'x');
  EXPECT_NE(Read("'" + longest + "'"), "-");
  EXPECT_EQ(Read("'x" + longest + "'"), "-");
}

}  // namespace
}  // namespace cacheinf
