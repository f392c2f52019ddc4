#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/failure.h"
#include "common/base/log.h"
#include "common/link/descriptor.h"
#include "common/link/keys.h"
#include "common/link/zmq_link.h"
#include "common/link/zmq_socket.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr char kZapEndpoint[] = "inproc://zeromq.zap.01";  // ZeroMQ asks there who may come in
constexpr size_t kMostRobots = 64;
constexpr size_t kMostOutgoing = 8;         // packets of a robot
constexpr size_t kMostIncoming = 64 << 20;  // bytes of a robot that its channel has not taken
constexpr int kMostReceived = 64;           // packets before others are sent
constexpr rlim_t kMostFiles = 4096;
constexpr milliseconds kLastWords(500);
constexpr milliseconds kRetry(1);
constexpr milliseconds kIdle(100);
constexpr milliseconds kListInterval(300);
constexpr milliseconds kComplaintInterval(1000);

// Wakes the thread that moves packets.
class Wake {
 public:
  Wake() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!descriptor_) throw std::runtime_error("no event descriptor can be had");
  }
  void Call() const {
    const uint64_t one = 1;
    (void)!write(descriptor_.get(), &one, sizeof(one));
  }
  void Clear() const {
    uint64_t count = 0;
    (void)!read(descriptor_.get(), &count, sizeof(count));
  }
  int descriptor() const { return descriptor_.get(); }

 private:
  const Descriptor descriptor_;
};

// What a link and the thread that moves its packets share.
struct Robot {
  explicit Robot(Link::Peer proven) : peer(std::move(proven)) {}

  const Link::Peer peer;

  std::mutex mutex;  // guards all below
  std::condition_variable news;
  std::deque<std::vector<uint8_t>> incoming;
  size_t incoming_bytes = 0;
  std::deque<std::vector<uint8_t>> outgoing;
  std::string fault;
  std::optional<steady_clock::time_point> left_at;  // its link is gone

  void Break(std::string why) {
    {
      const std::lock_guard lock(mutex);
      if (fault.empty()) fault = std::move(why);
    }
    news.notify_all();
  }
};

class ServerLink final : public Link {
 public:
  ServerLink(std::shared_ptr<Robot> robot, std::shared_ptr<const Wake> wake)
      : robot_(std::move(robot)), wake_(std::move(wake)) {}
  ~ServerLink() override {
    {
      const std::lock_guard lock(robot_->mutex);
      robot_->left_at = steady_clock::now();
    }
    wake_->Call();
  }
  ServerLink(const ServerLink&) = delete;
  ServerLink& operator=(const ServerLink&) = delete;

  bool Send(std::span<const uint8_t> packet) override {
    {
      const std::lock_guard lock(robot_->mutex);
      wants_room_ = !robot_->fault.empty() || robot_->outgoing.size() >= kMostOutgoing;
      if (wants_room_) return false;
      robot_->outgoing.emplace_back(packet.begin(), packet.end());
    }
    wake_->Call();
    return true;
  }

  bool Receive(std::vector<uint8_t>* packet) override {
    const std::lock_guard lock(robot_->mutex);
    if (robot_->incoming.empty()) return false;
    *packet = std::move(robot_->incoming.front());
    robot_->incoming.pop_front();
    robot_->incoming_bytes -= packet->size();
    return true;
  }

  Peer peer() const override { return robot_->peer; }

  void Wait(std::chrono::nanoseconds at_most) override {
    std::unique_lock lock(robot_->mutex);
    robot_->news.wait_for(lock, at_most, [this] {
      return !robot_->incoming.empty() || !robot_->fault.empty() ||
             (wants_room_ && robot_->outgoing.size() < kMostOutgoing);
    });
  }

  std::string fault() const override {
    const std::lock_guard lock(robot_->mutex);
    return robot_->fault;
  }

 private:
  const std::shared_ptr<Robot> robot_;
  const std::shared_ptr<const Wake> wake_;
  bool wants_room_ = false;
};

// Allows so many open files that a thousand silent connections leave some for others.
void AllowManyFiles() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kMostFiles) return;
  limit.rlim_cur = std::min(limit.rlim_max, kMostFiles);
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Whether this process and machine have room for a few more open files.
bool CanOpenFiles() {
  std::array<Descriptor, 4> opened;
  return std::ranges::all_of(opened, [](Descriptor& file) {
    file = Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
    return static_cast<bool>(file);
  });
}

// The robots that may come in, by the text of their keys.
class GuestList {
 public:
  // Throws InputError.
  explicit GuestList(const std::filesystem::path& file) : file_(file) {
    if (file.empty()) return;
    last_read_ = known_ = ReadRobotKeys(file);
    if (known_.empty()) LogWarning(file.string() + " lists no robot, so that none may come in");
  }

  size_t size() const { return known_.size(); }

  bool Has(const std::string& key) const { return file_.empty() || known_.contains(key); }
  bool Trusts(const std::string& key) const {
    const auto robot = known_.find(key);
    return robot != known_.end() && robot->second.is_trusted;
  }

  // Reads the file again when it is time to. A change counts once two readings agree, because an
  // editor may be at work. A file that cannot be read lets nobody in; but if strangers hold so many
  // connections that no file can be opened, the last reading counts.
  bool Refresh() {
    if (file_.empty() || steady_clock::now() < next_look_) return false;
    next_look_ = steady_clock::now() + kListInterval;
    RobotKeys read;
    std::string problem;
    try {
      read = ReadRobotKeys(file_);
    } catch (const InputError& error) {
      problem = error.what();
      if (!CanOpenFiles()) return false;
    }
    const bool is_same = read == last_read_ && problem == last_problem_;
    last_read_ = std::move(read);
    last_problem_ = std::move(problem);
    if (!is_same || (last_read_ == known_ && last_problem_ == known_problem_)) return false;
    known_ = last_read_;
    known_problem_ = last_problem_;
    if (last_problem_.empty()) {
      LogInfo(file_.string() + " lists " + std::to_string(known_.size()) + " robots now");
    } else {
      LogWarning("no robot may come in any more: " + last_problem_);
    }
    return true;
  }

 private:
  const std::filesystem::path file_;  // empty: everybody may
  RobotKeys known_;
  std::string known_problem_;
  RobotKeys last_read_;
  std::string last_problem_;
  steady_clock::time_point next_look_ = steady_clock::now() + kListInterval;
};

// None: this machine only.
std::optional<KeyPair> ReadKeysForRobots(const LinkAddress& address) {
  const bool has_own = !address.files.key.empty();
  const bool has_list = !address.files.trusted.empty();
  if (has_own != has_list || (!has_own && !address.is_loopback())) {
    throw InputError("--listen ", address.endpoint(),
                     " needs --key with the server's secret key and --robots with the list of "
                     "robots' public keys (cacheinf-server keygen makes keys); without them a "
                     "server listens to its own machine only, as at tcp://127.0.0.1:",
                     address.port);
  }
  if (!has_own) return std::nullopt;
  return ReadKeyPair(address.files.key);
}

}  // namespace

// Everything that is not shared with links belongs to the thread.
class ZmqListener::State {
 public:
  explicit State(const LinkAddress& address)
      : keys_(ReadKeysForRobots(address)),
        list_(address.files.trusted),
        context_(MakeZmqContext()),
        doorkeeper_(context_, ZMQ_REP),
        router_(context_, ZMQ_ROUTER) {
    AllowManyFiles();
    if (zmq_bind(doorkeeper_.get(), kZapEndpoint) != 0) {
      throw std::runtime_error(zmq_strerror(zmq_errno()));
    }
    router_.SetForPeers(keys_ ? &*keys_ : nullptr);
    router_.Set(ZMQ_ROUTER_MANDATORY, 1);
    if (keys_) {
      router_.Set(ZMQ_CURVE_SERVER, 1);
      router_.Set(ZMQ_ZAP_DOMAIN, BytesOf("cacheinf"));
    }
    LinkAddress bound = address;
    if (bound.host == "localhost") bound.host = "127.0.0.1";
    if (bound.host == "*" || bound.host.starts_with('[')) router_.Set(ZMQ_IPV6, 1);
    if (zmq_bind(router_.get(), bound.endpoint().c_str()) != 0) {
      const bool is_taken = zmq_errno() == EADDRINUSE;
      throw InputError("--listen ", address.endpoint(), ": ",
                       is_taken ? "another program listens there; name another port"
                                : zmq_strerror(zmq_errno()));
    }
    std::array<char, 256> endpoint{};
    size_t size = endpoint.size();
    zmq_getsockopt(router_.get(), ZMQ_LAST_ENDPOINT, endpoint.data(), &size);
    const std::string text = endpoint.data();
    port_ = std::stoi(text.substr(text.rfind(':') + 1));
    bound.host = address.host;
    bound.port = port_;
    LogInfo(bound.endpoint() + (keys_ ? " is open to the robots of " + address.files.trusted +
                                            ", " + std::to_string(list_.size())
                                      : " is open to this machine only, to everyone on it, without "
                                        "keys"));
    thread_ = std::thread([this] { MovePackets(); });
  }

  ~State() {
    is_stopping_ = true;
    wake_->Call();
    thread_.join();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  int port() const { return port_; }

  std::unique_ptr<Link> Accept(milliseconds at_most) {
    std::unique_lock lock(mutex_);
    if (!has_arrived_.wait_for(lock, at_most, [this] { return !arrived_.empty(); })) return nullptr;
    auto link = std::make_unique<ServerLink>(std::move(arrived_.front()), wake_);
    arrived_.pop_front();
    return link;
  }

 private:
  void MovePackets() {
    steady_clock::time_point stop_at = steady_clock::time_point::max();
    while (steady_clock::now() < stop_at) {
      if (is_stopping_ && stop_at == steady_clock::time_point::max()) {
        stop_at = steady_clock::now() + kLastWords;
        for (const auto& [id, robot] : robots_) {
          robot->Break("the server stops listening");
          const std::lock_guard lock(robot->mutex);
          if (!robot->left_at) robot->left_at = steady_clock::now();
        }
      }
      bool is_blocked = false;
      try {
        wake_->Clear();
        while (AnswerDoor()) {
        }
        int count = 0;
        while (count < kMostReceived && ReceivePacket()) ++count;
        if (list_.Refresh()) StrikeUnlisted();
        is_blocked = SendPackets();
      } catch (const std::exception& error) {  // of memory; the packet's robot finds it missing
        Complain(SentenceOf(error));
        is_blocked = true;
      }
      if (is_stopping_ && robots_.empty()) return;
      // Looking at events also picks up news of room that came meanwhile.
      if (((router_.events() | doorkeeper_.events()) & ZMQ_POLLIN) != 0) continue;
      std::array<pollfd, 3> waited = {pollfd{router_.descriptor(), POLLIN, 0},
                                      pollfd{doorkeeper_.descriptor(), POLLIN, 0},
                                      pollfd{wake_->descriptor(), POLLIN, 0}};
      const milliseconds longest = is_blocked || is_stopping_ ? kRetry : kIdle;
      poll(waited.data(), waited.size(), static_cast<int>(longest.count()));
    }
  }

  // Answers ZeroMQ's next question about who may come in (its RFC 27).
  bool AnswerDoor() {
    std::vector<std::string> question;
    for (bool has_more = true; has_more;) {
      ZmqPart part;
      if (!doorkeeper_.Receive(&part)) return false;
      question.push_back(part.text());
      has_more = part.has_more();
    }
    std::string key;
    if (question.size() == 7 && question[5] == "CURVE" &&
        question[6].size() == PublicKey().size()) {
      PublicKey open;
      std::ranges::copy(question[6], open.begin());
      key = ToText(open);
    }
    const bool may_come_in = !key.empty() && list_.Has(key);
    if (!may_come_in) {
      Complain("somebody at " + (question.size() > 3 ? question[3] : "") +
               " was turned away, whose key is not in the list of robots: " + key);
    }
    const std::array<std::string, 6> reply = {"1.0",
                                              question.size() > 1 ? question[1] : "",
                                              may_come_in ? "200" : "400",
                                              may_come_in ? "OK" : "unknown",
                                              may_come_in ? key : "",
                                              ""};
    for (size_t i = 0; i < reply.size(); ++i) {
      doorkeeper_.Send(BytesOf(reply[i]), i + 1 < reply.size());
    }
    return true;
  }

  bool ReceivePacket() {
    ZmqPart sender;
    if (!router_.Receive(&sender)) return false;
    const std::string id = sender.text();
    ZmqPart part;
    if (!sender.has_more() || !router_.Receive(&part)) return true;
    const bool is_packet = !part.has_more() && part.bytes().size() <= Link::kLargestPacket;
    bool has_more = part.has_more();
    for (ZmqPart rest; has_more && router_.Receive(&rest);) has_more = rest.has_more();
    const std::string key = part.sender_key();
    const auto at = robots_.find(id);
    if (at == robots_.end()) {
      if (is_packet && part.text() == kZmqHello) Welcome(id, key);
      return true;
    }
    Robot& robot = *at->second;
    if (key != robot.peer.key) return true;  // somebody uses another's routing id
    std::string fault;
    if (!is_packet) {
      fault = "the peer sent what is no packet";
    } else if (part.bytes().empty()) {
      fault = "the peer ended the connection";
    } else {
      const std::lock_guard lock(robot.mutex);
      robot.incoming.emplace_back(part.bytes().begin(), part.bytes().end());
      robot.incoming_bytes += part.bytes().size();
      if (robot.incoming_bytes > kMostIncoming) fault = "the peer sent more than was taken";
    }
    if (fault.empty()) {
      robot.news.notify_all();
    } else {
      robot.Break(fault);
      robots_.erase(at);
    }
    return true;
  }

  // ZeroMQ may let somebody in without asking; such a robot has no key.
  void Welcome(const std::string& id, const std::string& key) {
    std::string refusal;
    if (!list_.Has(key)) refusal = "the robot's key was struck from the list";
    if (is_stopping_) refusal = "the server stops";
    if (robots_.size() >= kMostRobots) {
      refusal = "it serves " + std::to_string(kMostRobots) + " robots, and no more";
    }
    if (SendTo(id, BytesOf(refusal.empty() ? kZmqHello : refusal)) != ZmqSocket::Sent::kYes ||
        !refusal.empty()) {
      return;
    }
    auto robot = std::make_shared<Robot>(Link::Peer{key, list_.Trusts(key)});
    robots_[id] = robot;
    {
      const std::lock_guard lock(mutex_);
      arrived_.push_back(std::move(robot));
    }
    has_arrived_.notify_all();
  }

  void StrikeUnlisted() {
    std::erase_if(robots_, [this](const auto& entry) {
      const auto& [id, robot] = entry;
      const auto& [key, is_trusted] = robot->peer;
      const bool is_listed = list_.Has(key);
      if (is_listed && list_.Trusts(key) == is_trusted) return false;
      const char* const why = is_listed ? "its rights in the list of robots have changed"
                                        : "its key was struck from the list of robots";
      if (SendTo(id, {}, /*has_more=*/true) == ZmqSocket::Sent::kYes) router_.Send(BytesOf(why));
      robot->Break(why);
      return true;
    });
  }

  // Returns whether a robot has no room for what waits.
  bool SendPackets() {
    bool is_blocked = false;
    std::erase_if(robots_, [&](const auto& entry) {
      const auto& [id, robot] = entry;
      ZmqSocket::Sent sent = ZmqSocket::Sent::kYes;
      bool has_sent = false;
      bool is_over = false;
      {
        const std::lock_guard lock(robot->mutex);
        while (!robot->outgoing.empty()) {
          sent = SendTo(id, robot->outgoing.front());
          if (sent != ZmqSocket::Sent::kYes) break;
          robot->outgoing.pop_front();
          has_sent = true;
        }
        if (robot->left_at && sent == ZmqSocket::Sent::kYes) {
          sent = SendTo(id, {});
          is_over = sent == ZmqSocket::Sent::kYes;
        }
        if (robot->left_at && steady_clock::now() > *robot->left_at + kLastWords) is_over = true;
      }
      if (has_sent) robot->news.notify_all();
      if (sent == ZmqSocket::Sent::kNobody) {
        robot->Break("the connection was lost");
        return true;
      }
      is_blocked = is_blocked || (sent == ZmqSocket::Sent::kNoRoom && !is_over);
      return is_over;
    });
    return is_blocked;
  }

  // After the first part all others find room.
  ZmqSocket::Sent SendTo(const std::string& id, std::span<const uint8_t> bytes,
                         bool has_more = false) {
    const ZmqSocket::Sent sent = router_.Send(BytesOf(id), true);
    return sent == ZmqSocket::Sent::kYes ? router_.Send(bytes, has_more) : sent;
  }

  // At most one line a second: visitors must not be able to fill the log.
  void Complain(const std::string& sentence) {
    const auto now = steady_clock::now();
    if (now < next_complaint_) return;
    next_complaint_ = now + kComplaintInterval;
    LogWarning(sentence);
  }

  const std::optional<KeyPair> keys_;
  GuestList list_;
  const ZmqContext context_;
  ZmqSocket doorkeeper_;
  ZmqSocket router_;
  int port_ = 0;
  const std::shared_ptr<const Wake> wake_ = std::make_shared<Wake>();
  std::map<std::string, std::shared_ptr<Robot>> robots_;  // by routing id
  steady_clock::time_point next_complaint_;

  std::mutex mutex_;  // guards the robots that nobody has accepted
  std::condition_variable has_arrived_;
  std::deque<std::shared_ptr<Robot>> arrived_;

  std::atomic<bool> is_stopping_ = false;
  std::thread thread_;  // last member: it uses all others
};

ZmqListener::ZmqListener(const LinkAddress& address) : state_(std::make_unique<State>(address)) {}

ZmqListener::~ZmqListener() = default;

int ZmqListener::port() const { return state_->port(); }

std::unique_ptr<Link> ZmqListener::Accept(milliseconds at_most) { return state_->Accept(at_most); }

}  // namespace cacheinf
