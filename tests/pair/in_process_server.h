#ifndef CACHEINF_TESTS_PAIR_IN_PROCESS_SERVER_H_
#define CACHEINF_TESTS_PAIR_IN_PROCESS_SERVER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/server_peer.h"
#include "common/base/clock.h"
#include "server/server.h"
#include "tests/link/loopback.h"

namespace cacheinf {

// A whole server on a thread of its own, and links to it that can be cut.
class InProcessServer {
 public:
  // Keeps models in the folder. The clock must outlive this and every link.
  InProcessServer(const std::filesystem::path& folder, const Clock& clock)
      : clock_(clock), thread_([this, folder] { Serve(folder); }) {}
  ~InProcessServer() {
    is_over_ = true;
    thread_.join();
  }
  InProcessServer(const InProcessServer&) = delete;
  InProcessServer& operator=(const InProcessServer&) = delete;

  // A new link each time, as a robot wants it.
  ConnectToServers connect() {
    return {[this] {
      auto [robot, server] = MakeLoopback(script_, clock_);
      cut_ = std::make_shared<std::atomic<Cut>>(Cut::kNone);
      const std::lock_guard lock(mutex_);
      arriving_.push_back(std::make_unique<Mortal>(std::move(server), cut_, kNeverHeld));
      return std::make_unique<Mortal>(std::move(robot), cut_, is_held_);
    }};
  }

  // For later links.
  void SetScript(const LoopbackScript& script) { script_ = script; }

  // While this is true, robots hear nothing; what they are sent waits.
  void Hold(bool is_held) { is_held_ = is_held; }

  // Cuts the last link for good. Its ends are told, or hear nothing more.
  void Kill(bool is_told) { *cut_ = is_told ? Cut::kTold : Cut::kSilent; }

 private:
  enum class Cut : uint8_t { kNone, kTold, kSilent };
  using SharedCut = std::shared_ptr<std::atomic<Cut>>;

  class Mortal final : public Link {
   public:
    Mortal(std::unique_ptr<Link> link, SharedCut cut, const std::atomic<bool>& is_held)
        : link_(std::move(link)), cut_(std::move(cut)), is_held_(is_held) {}

    bool Send(std::span<const uint8_t> packet) override {
      return *cut_ != Cut::kNone || link_->Send(packet);
    }
    bool Receive(std::vector<uint8_t>* packet) override {
      return *cut_ == Cut::kNone && !is_held_ && link_->Receive(packet);
    }
    void Wait(std::chrono::nanoseconds at_most) override {
      if (*cut_ == Cut::kNone && !is_held_) return link_->Wait(at_most);
      std::this_thread::sleep_for(at_most);
    }
    std::string fault() const override {
      return *cut_ == Cut::kTold ? "the link was cut" : link_->fault();
    }

   private:
    const std::unique_ptr<Link> link_;
    const SharedCut cut_;
    const std::atomic<bool>& is_held_;
  };

  void Serve(const std::filesystem::path& folder) {
    ServerConfig config;
    config.threads = 1;
    config.models = folder / "served";
    config.trust_robots = true;
    ServeRobots([this] { return Accept(); }, config, clock_, [this] { return is_over_.load(); });
  }

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
  LoopbackScript script_;
  SharedCut cut_;
  static constexpr std::atomic<bool> kNeverHeld = false;
  std::atomic<bool> is_held_ = false;
  std::mutex mutex_;
  std::deque<std::unique_ptr<Link>> arriving_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;  // the last member: it uses all others
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_PAIR_IN_PROCESS_SERVER_H_
