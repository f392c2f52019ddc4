#ifndef CACHEINF_COMMON_BASE_LOG_H_
#define CACHEINF_COMMON_BASE_LOG_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "common/base/words.h"

namespace cacheinf {

enum class LogLevel : uint8_t { kTrace, kDebug, kInfo, kWarning, kError, kOff };

constexpr Words<6> WordsOf(LogLevel) {
  return {"trace", "debug", "info", "warning", "error", "off"};
}

// Drops messages below the level; kInfo until set. Called once, by main.
void SetLogLevel(LogLevel level);

// Whether messages of this level are written; saves composing those that are not.
bool IsLogged(LogLevel level);

// One line on stderr, with the time and the level; control characters are escaped, so that no text
// in it can forge another line. Safe to call from any thread.
void Log(LogLevel level, std::string_view message);

// While it lives, gets every message that is written, from any thread, but one at a time. `take`
// must not log.
class LogListener {
 public:
  using Take = std::function<void(LogLevel level, std::string_view message)>;

  explicit LogListener(Take take);
  ~LogListener();
  LogListener(const LogListener&) = delete;
  LogListener& operator=(const LogListener&) = delete;

 private:
  class Sink;
  const std::shared_ptr<Sink> sink_;
};

inline void LogDebug(std::string_view message) { Log(LogLevel::kDebug, message); }
inline void LogInfo(std::string_view message) { Log(LogLevel::kInfo, message); }
inline void LogWarning(std::string_view message) { Log(LogLevel::kWarning, message); }
inline void LogError(std::string_view message) { Log(LogLevel::kError, message); }

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_LOG_H_
