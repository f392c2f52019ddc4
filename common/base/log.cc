#include "common/base/log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "common/base/printable.h"

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

// The sinks of standard error and of all listeners.
spdlog::sinks::dist_sink_mt& Sinks() {
  static const auto sinks = [] {
    auto created = std::make_shared<spdlog::sinks::dist_sink_mt>();
    created->add_sink(std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    created->set_pattern("%H:%M:%S.%e %^%l%$ %v");
    return created;
  }();
  return *sinks;
}

spdlog::logger& Logger() {
  // The sinks outlive everything that logs.
  static spdlog::logger logger("cacheinf", spdlog::sink_ptr(std::shared_ptr<void>(), &Sinks()));
  return logger;
}

}  // namespace

void SetLogLevel(LogLevel level) { Logger().set_level(SpdlogLevel(level)); }

bool IsLogged(LogLevel level) { return Logger().should_log(SpdlogLevel(level)); }

class LogListener::Sink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit Sink(Take take) : take_(std::move(take)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const auto level = static_cast<LogLevel>(message.level);
    take_(level, {message.payload.data(), message.payload.size()});
  }
  void flush_() override {}

  const Take take_;
};

LogListener::LogListener(Take take) : sink_(std::make_shared<Sink>(std::move(take))) {
  Sinks().add_sink(sink_);
}

LogListener::~LogListener() { Sinks().remove_sink(sink_); }

void Log(LogLevel level, std::string_view message) {
  const auto is_harmless = [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != 0x7f; };
  std::string escaped;
  if (!std::ranges::all_of(message, is_harmless)) message = escaped = Escaped(message, is_harmless);
  Logger().log(SpdlogLevel(level), spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace cacheinf
