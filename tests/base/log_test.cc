#include "common/base/log.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/printable.h"

namespace cacheinf {
namespace {

TEST(LogTest, AListenerGetsWhatIsWrittenAsLongAsItLives) {
  using Message = std::pair<LogLevel, std::string>;
  std::vector<Message> heard;
  std::vector<Message> heard_by_another;
  const auto into = [](std::vector<Message>& all) {
    return [&all](LogLevel level, std::string_view text) { all.emplace_back(level, text); };
  };
  const LogListener listener(into(heard));
  std::optional<LogListener> another(std::in_place, into(heard_by_another));
  LogWarning("first");
  LogDebug("nobody writes this");
  another.reset();
  LogError("second");
  EXPECT_EQ(heard,
            (std::vector<Message>{{LogLevel::kWarning, "first"}, {LogLevel::kError, "second"}}));
  EXPECT_EQ(heard_by_another, (std::vector<Message>{{LogLevel::kWarning, "first"}}));
}

TEST(LogTest, NobodyForgesALine) {
  std::vector<std::string> heard;
  const LogListener listener([&](LogLevel, std::string_view text) { heard.emplace_back(text); });
  LogInfo("robot \"a\n12:00:00.000 info all is well\x1b[2J\x7f\" of Zürich is served");
  EXPECT_EQ(heard, (std::vector<std::string>{"robot \"a\\x0a12:00:00.000 info all is "
                                             "well\\x1b[2J\\x7f\" of Zürich is served"}));
}

TEST(PrintableTest, IsWhatCameFromElsewhereInAscii) {
  EXPECT_EQ(Printable("left arm"), "left arm");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "2Jx\r"),
            "\\xc2\\x9b2Jx\\x0d");
  EXPECT_EQ(Printable("abcdef", 3), "abc");
}

}  // namespace
}  // namespace cacheinf
