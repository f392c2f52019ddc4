#include "common/base/log.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

}  // namespace
}  // namespace cacheinf
