#ifndef CACHEINF_COMMON_PAIR_SESSION_H_
#define CACHEINF_COMMON_PAIR_SESSION_H_

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/link/channel.h"
#include "common/link/link.h"
#include "common/pair/messages.h"
#include "common/pair/model_store.h"
#include "common/pair/remote_server.h"
#include "common/pair/robot_accounts.h"
#include "common/pair/slow_work.h"
#include "common/pair/split_server.h"

namespace cacheinf {

// A server's conversation with one robot (messages.h), from greeting to end. Robots share a
// computing thread (server/turns.h). Nothing here waits, not even the end: models are read and
// packed, and schedules solved, as SlowWork.
//
//   Session session(channel, store, slow_work, clock);  // the channel pumps on its thread
//   while (!session.is_over()) {
//     if (!session.Advance()) session.Wait(a_while);
//   }
class Session {
 public:
  // Solves a schedule for a robot, given its profile, and returns it as text. Before that, it may
  // give `send_rough` one made of rough figures. Runs on its own thread, must outlive `slow_work`,
  // and ends soon after `stop` is set. Throws InputError on what it cannot use.
  using Solve =
      std::function<std::string(std::shared_ptr<const CompiledModel> model,
                                const message::Settings& settings, const std::string& robot_profile,
                                const std::function<void(const std::string& schedule)>& send_rough,
                                const std::atomic<bool>& stop)>;

  struct Options {
    RemoteServer::OnPicture on_picture = {};
    Solve solve = {};                   // none: a robot that asks for a schedule gets none
    Link::Peer robot = {};              // as its link says
    RobotAccounts* accounts = nullptr;  // null: robots may take what they like
    // Called once a robot has said who it is, before it takes anything.
    std::function<void(const Session& newcomer)> on_greeting = {};
    WireVersions speaks = kWire;
  };

  // All references must outlive this, and `store` and the accounts must outlive `slow_work`.
  Session(Channel& channel, ModelStore& store, SlowWork& slow_work, const Clock& clock,
          Options options);
  Session(Channel& channel, ModelStore& store, SlowWork& slow_work, const Clock& clock)
      : Session(channel, store, slow_work, clock, Options()) {}
  ~Session() { talk_->stops = true; }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Takes what has arrived and computes a stage, then more stages for at most so long or until
  // something arrives. Returns whether there was anything to do. Never throws, whatever arrives.
  bool Advance(std::chrono::nanoseconds at_most = {});

  // Waits, at most so long, until Advance may have something to do. (No message says when a state
  // is prepared.)
  void Wait(std::chrono::nanoseconds at_most) const;

  // The two halves of it, for a thread that turns to other robots in between.
  bool Hear();
  bool Compute(std::chrono::nanoseconds at_most);

  // When the answer to the current frame is due; max() if it is not, or there is none.
  std::chrono::nanoseconds due() const;

  // Whether a robot has been admitted; robot() is its name then, for people and safe to print. Its
  // key and token identify it: they are the same as long as its process lives.
  bool has_robot() const { return is_greeted_; }
  const std::string& robot() const { return robot_; }
  const std::string& key() const { return options_.robot.key; }
  uint64_t token() const { return token_; }

  // Ends the session and tells the robot why.
  void Leave(const std::string& reason);

  // The same, and at once lets go of all that it holds.
  void Evict(const std::string& reason);

  // Whether both are of one process: the same key, and the same token.
  bool IsOfSameRobot(const Session& other) const;

  bool is_over() const { return !end().empty(); }
  // Why it ended, in one sentence.
  std::string end() const;

 private:
  bool TakeNews(std::chrono::nanoseconds now);
  void Take(const Message& message);
  void NoteDue(const Message& message);
  bool TakeTurn(std::chrono::nanoseconds turn, std::chrono::nanoseconds at_most);
  void SayAlive(std::chrono::nanoseconds now);
  bool Step(std::chrono::nanoseconds turn, std::chrono::nanoseconds at_most);
  void TakeHello(const message::Hello& hello);
  void TakeSettings(const message::Settings& settings);
  void SayReady();
  void TakeProfile(message::Profile profile);
  void Hold(const Message& message);
  bool FinishPreparing();
  bool FinishSolving();
  bool SendRough();

  template <typename T>
  T Read(const Message& message) const;

  struct Prepared {
    std::shared_ptr<const CompiledModel> model;
    RobotAccounts::Share memory;
  };
  std::function<Prepared(const message::Settings& settings)> Preparation() const;

  // What slow work and the session tell each other; the work may end later.
  struct Talk {
    std::atomic<bool> stops = false;
    std::mutex mutex;
    std::string rough;  // schedule still to be sent
  };

  Channel& channel_;
  ModelStore& store_;
  SlowWork& slow_work_;
  const Clock& clock_;
  const Options options_;
  uint32_t wire_ = 0;  // as agreed on
  std::string robot_;
  uint64_t token_ = 0;
  bool is_greeted_ = false;
  bool has_heard_ = false;  // a message since it last said that it is alive
  std::chrono::nanoseconds said_alive_at_{};
  message::Fingerprint model_;
  std::optional<ModelStore::Incoming> incoming_;
  RobotAccounts::Share arriving_;  // of `incoming_`
  std::optional<message::Settings> settings_;
  std::future<Prepared> preparing_;
  RobotAccounts::Share memory_;  // of what follows
  // One of them, by the mode of the settings.
  std::unique_ptr<SplitServer> split_;
  std::unique_ptr<RemoteServer> remote_;
  std::optional<Message> held_;  // waits for the current frame to be done
  // Since when the current frame could go on, if it can, and how long it had waited for its turn
  // before.
  std::optional<std::chrono::nanoseconds> due_since_;
  std::chrono::nanoseconds queued_{};
  std::string end_;
  const std::shared_ptr<Talk> talk_ = std::make_shared<Talk>();
  std::future<std::string> solving_;
  std::optional<message::Profile> next_profile_;  // came while one was being solved
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_SESSION_H_
