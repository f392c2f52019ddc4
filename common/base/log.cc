#include "common/base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace cacheinf {
namespace {

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace:
      return spdlog::level::trace;
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto created = std::make_shared<spdlog::logger>(
        "cacheinf", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    created->set_pattern("%H:%M:%S.%e %^%l%$ %v");
    return created;
  }();
  return *logger;
}

}  // namespace

void SetLogLevel(LogLevel level) { Logger().set_level(SpdlogLevel(level)); }

bool IsLogged(LogLevel level) { return Logger().should_log(SpdlogLevel(level)); }

void Log(LogLevel level, std::string_view message) {
  Logger().log(SpdlogLevel(level), spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace cacheinf
