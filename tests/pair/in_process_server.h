#ifndef CACHEINF_TESTS_PAIR_IN_PROCESS_SERVER_H_
#define CACHEINF_TESTS_PAIR_IN_PROCESS_SERVER_H_

#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "client/server_peer.h"
#include "common/base/clock.h"
#include "server/server.h"
#include "tests/link/loopback.h"

namespace cacheinf {

// A whole server on a thread of its own, and links to it that can be cut.
class InProcessServer {
 public:
  // Keeps models in FOLDER/served. The clock must outlive this and every link.
  InProcessServer(const std::filesystem::path& folder, const Clock& clock, ServerConfig config = {})
      : clock_(clock), config_(std::move(config)) {
    config_.threads = 1;
    config_.models = folder / "served";
    config_.trust_robots = true;
    thread_ = std::thread([this] {
      ServeRobots([this] { return Accept(); }, config_, clock_, [this] { return is_over_.load(); });
    });
  }
  ~InProcessServer() {
    is_over_ = true;
    thread_.join();
  }
  InProcessServer(const InProcessServer&) = delete;
  InProcessServer& operator=(const InProcessServer&) = delete;

  // A new link each time, as a robot wants it.
  ConnectToServers connect() {
    return {[this] { return Connect(""); }};
  }

  // The same, for a robot that has proven this key.
  std::unique_ptr<Link> Connect(const std::string& key) {
    weather_.script.key = key;
    auto [robot, server] = MakeLoopback(weather_, clock_);
    const std::lock_guard lock(mutex_);
    arriving_.push_back(std::move(server));
    return std::move(robot);
  }

  // For later links.
  void SetDelay(std::chrono::nanoseconds delay) { weather_.script.shape.delay = delay; }

  // While this is true, robots hear nothing; what they are sent waits.
  void Hold(bool is_held) { weather_.is_held[0] = is_held; }

  // Cuts all links so far for good. Their ends are told, or hear nothing more.
  void Kill(bool is_told) { weather_.CutAll(is_told); }

 private:
  std::unique_ptr<Link> Accept() {
    {
      const std::lock_guard lock(mutex_);
      if (!arriving_.empty()) {
        std::unique_ptr<Link> link = std::move(arriving_.front());
        arriving_.pop_front();
        return link;
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return nullptr;
  }

  const Clock& clock_;
  ServerConfig config_;
  LoopbackWeather weather_;
  std::mutex mutex_;
  std::deque<std::unique_ptr<Link>> arriving_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_PAIR_IN_PROCESS_SERVER_H_
