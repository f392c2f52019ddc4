// Peers that are not on the list: nothing gets in, nothing breaks, and a served robot goes on.

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/link/descriptor.h"
#include "common/link/zmq_link.h"
#include "common/link/zmq_socket.h"
#include "tests/link/exchange.h"
#include "tests/zmq/zmq_world.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Long enough for a robot that may come in.
constexpr milliseconds kTry(1500);

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

Descriptor ConnectTo(int port) {
  Descriptor connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = Loopback(port);
  EXPECT_EQ(connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
            0);
  return connection;
}

// Passes one connection on to a server, and keeps what the robot says in it.
class Tap {
 public:
  explicit Tap(int port) : door_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = Loopback(0);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(door_.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(door_.get(), 1), 0);
    getsockname(door_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this, port](const std::stop_token& stop) { Pass(port, stop); });
  }

  int port() const { return port_; }

  std::vector<std::string> Kept() const {
    const std::lock_guard lock(mutex_);
    return kept_;
  }

 private:
  void Pass(int port, const std::stop_token& stop) {
    const Descriptor robot(accept(door_.get(), nullptr, nullptr));
    const Descriptor server = ConnectTo(port);
    std::array<pollfd, 2> ends = {{{robot.get(), POLLIN, 0}, {server.get(), POLLIN, 0}}};
    while (!stop.stop_requested()) {
      if (poll(ends.data(), ends.size(), /*timeout=*/50) <= 0) continue;
      for (size_t from = 0; from < 2; ++from) {
        if (ends.at(from).revents == 0) continue;
        std::string bytes(1 << 16, '\0');
        const ssize_t count = recv(ends.at(from).fd, bytes.data(), bytes.size(), 0);
        if (count <= 0) return;
        bytes.resize(static_cast<size_t>(count));
        (void)send(ends.at(1 - from).fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (from == 1) continue;
        const std::lock_guard lock(mutex_);
        kept_.push_back(std::move(bytes));
      }
    }
  }

  const Descriptor door_;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> kept_;
  std::jthread thread_;  // the last member: it uses all others
};

class StrangersTest : public ZmqWorld {
 protected:
  StrangersTest() : listener_(ServerAddress()), connector_(RobotAddress(listener_.port())) {}

  void SetUp() override {
    served_ = Meet(&connector_, &listener_);
    ASSERT_TRUE(served_.robot && served_.server) << connector_.problem();
  }

  // Tries to come in. Returns what the robot is told.
  std::string ProblemOf(const LinkAddress& address) {
    ZmqConnector stranger(address);
    const Pair pair = Meet(&stranger, nullptr, kTry);
    EXPECT_FALSE(pair.robot);
    ExpectNobodyCame();
    return stranger.problem();
  }

  void ExpectNobodyCame() { EXPECT_FALSE(listener_.Accept({})); }

  void ExpectAllIsWell() {
    ExpectNobodyCame();
    EXPECT_EQ(ExchangeBothWays(served_, 200), "");
    ZmqConnector connector(RobotAddress(listener_.port(), "leg"));
    const Pair pair = Meet(&connector, &listener_);
    ASSERT_TRUE(pair.robot && pair.server) << connector.problem();
    EXPECT_EQ(ExchangeBothWays(pair, 200), "");
  }

  // A connection that does not speak ZeroMQ, or badly.
  Descriptor Visit(const std::string& words = "") const {
    Descriptor visitor = ConnectTo(listener_.port());
    (void)send(visitor.get(), words.data(), words.size(), MSG_NOSIGNAL);
    return visitor;
  }

  // Whether the server ends the connection in this time.
  static bool IsSentAway(const Descriptor& visitor, milliseconds at_most) {
    return ComesTrue(
        [&] {
          std::array<char, 256> bytes;
          const ssize_t count = recv(visitor.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
          return count == 0 || (count < 0 && errno == ECONNRESET);
        },
        at_most);
  }

  // What ZeroMQ's own sockets say first.
  static std::string Greeting() {
    std::string greeting("\xff\0\0\0\0\0\0\0\1\x7f\3\0CURVE", 17);
    greeting.resize(64);
    return greeting;
  }

  // A robot that is listed, but says anything it likes.
  ZmqSocket Misbehaving(const std::string& name = "leg") const {
    const KeyPair own = ReadKeyPair(Path(name + ".key"));
    ZmqSocket socket(MakeZmqContext(), ZMQ_DEALER);
    socket.SetForPeers(&own);
    const int64_t any_size = -1;
    zmq_setsockopt(socket.get(), ZMQ_MAXMSGSIZE, &any_size, sizeof(any_size));
    socket.Set(ZMQ_CURVE_SERVERKEY, ReadPublicKey(Path("server.pub")));
    zmq_connect(socket.get(), RobotAddress(listener_.port()).endpoint().c_str());
    return socket;
  }

  std::unique_ptr<Link> Welcomed(ZmqSocket* socket) {
    socket->Send(BytesOf(kZmqHello));
    std::unique_ptr<Link> link = listener_.Accept(kLong);
    if (!link) throw std::runtime_error("a listed robot was not welcomed");
    return link;
  }

  ZmqListener listener_;
  ZmqConnector connector_;
  Pair served_;
};

TEST_F(StrangersTest, ARobotThatIsNotListedStaysOutside) {
  const std::string problem = ProblemOf(RobotAddress(listener_.port(), "stranger"));
  EXPECT_NE(problem.find("does not have this robot's key in its list: " + TextOf("stranger")),
            std::string::npos)
      << problem;
  ExpectAllIsWell();
}

TEST_F(StrangersTest, ARobotTalksToNoServerWithAnotherKey) {
  const std::string problem = ProblemOf(RobotAddress(listener_.port(), "leg", "stranger"));
  EXPECT_NE(problem.find("it has another key than --server-key says"), std::string::npos)
      << problem;
  ExpectAllIsWell();
}

TEST_F(StrangersTest, WithoutKeysARobotStaysOutside) {
  const std::string problem = ProblemOf(
      ParseLinkAddress("--server", "tcp://127.0.0.1:" + std::to_string(listener_.port())));
  EXPECT_NE(problem.find("it wants keys"), std::string::npos) << problem;
  ExpectAllIsWell();
}

TEST_F(StrangersTest, ARobotWithKeysTalksToNoServerWithout) {
  ZmqListener open(ParseLinkAddress("--listen", "tcp://127.0.0.1:0"));
  ZmqConnector robot(RobotAddress(open.port()));
  const Pair pair = Meet(&robot, &open, kTry);
  EXPECT_FALSE(pair.robot || pair.server);
  EXPECT_NE(robot.problem().find("or it has none"), std::string::npos) << robot.problem();
}

TEST_F(StrangersTest, AKeyThatIsStruckIsCutOffAndMayBeListedAgain) {
  ZmqConnector other(RobotAddress(listener_.port(), "leg"));
  const Pair pair = Meet(&other, &listener_);
  ASSERT_TRUE(pair.robot && pair.server) << other.problem();
  const auto begin = steady_clock::now();
  List({"leg"});
  EXPECT_TRUE(ComesTrue([&] { return !served_.server->fault().empty(); }));
  EXPECT_LT(steady_clock::now() - begin, milliseconds(1000));
  EXPECT_EQ(served_.server->fault(), "its key was struck from the list of robots");
  EXPECT_EQ(FaultOf(served_.robot.get()),
            "the peer ended the connection: its key was struck from the list of robots");
  EXPECT_NE(ProblemOf(RobotAddress(listener_.port())), "");
  EXPECT_EQ(ExchangeBothWays(pair, 200), "");

  List({"leg", "arm"});
  const Pair again = Meet(&connector_, &listener_);
  ASSERT_TRUE(again.robot && again.server) << connector_.problem();
  EXPECT_EQ(ExchangeBothWays(again, 200), "");
}

TEST_F(StrangersTest, WhereNoFileCanBeOpenedAServedRobotGoesOn) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  std::vector<Descriptor> held;
  const rlimit few = {256, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  do {
    held.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  } while (held.back());
  EXPECT_FALSE(ComesTrue([&] { return !served_.server->fault().empty(); }, milliseconds(1500)));
  held.clear();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(ExchangeBothWays(served_, 200), "");
  List({"leg"});
  EXPECT_TRUE(ComesTrue([&] { return !served_.server->fault().empty(); }));
}

TEST_F(StrangersTest, ALinkSaysWhoIsThereAndWhetherTheListTrustsIt) {
  EXPECT_EQ(served_.server->peer().key, TextOf("arm"));
  EXPECT_FALSE(served_.server->peer().is_trusted);
  WriteText("robots", TextOf("arm") + " arm trusted\n" + TextOf("leg") + " leg\n");
  EXPECT_EQ(FaultOf(served_.server.get()), "its rights in the list of robots have changed");
  const Pair trusted = Meet(&connector_, &listener_);
  ASSERT_TRUE(trusted.robot && trusted.server) << connector_.problem();
  EXPECT_TRUE(trusted.server->peer().is_trusted);
  EXPECT_EQ(trusted.server->peer().key, TextOf("arm"));

  List({"arm", "leg"});
  EXPECT_EQ(FaultOf(trusted.server.get()), "its rights in the list of robots have changed");
}

TEST_F(StrangersTest, AListThatCannotBeReadLetsNobodyIn) {
  WriteText("robots", TextOf("arm") + "\nnonsense\n");
  EXPECT_TRUE(ComesTrue([&] { return !served_.server->fault().empty(); }, milliseconds(1500)));
  EXPECT_NE(ProblemOf(RobotAddress(listener_.port(), "leg")), "");
}

TEST_F(StrangersTest, AStruckRobotThatStaysIsNotHeard) {
  ZmqSocket leg = Misbehaving();
  const std::unique_ptr<Link> link = Welcomed(&leg);
  List({"arm"});
  EXPECT_NE(FaultOf(link.get()), "");
  for (int i = 0; i < 3; ++i) {
    leg.Send(BytesOf(kZmqHello));
    EXPECT_FALSE(listener_.Accept(milliseconds(100)));
  }
  std::vector<uint8_t> packet;
  EXPECT_FALSE(link->Receive(&packet));
}

TEST_F(StrangersTest, GarbageIsSentAway) {
  for (const std::string& words :
       {std::string("GET / HTTP/1.1\r\nHost: robot\r\n\r\n"), std::string(100000, 'x'),
        std::string("cacheinf/1"), Greeting().substr(0, 64) + std::string(5000, '\4'),
        std::string("\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL", 16) + std::string(48, '\0') +
            std::string("\4\x1c\5READY\xbSocket-Type\0\0\0\6DEALER", 30)}) {
    const Descriptor visitor = Visit(words);
    EXPECT_TRUE(IsSentAway(visitor, milliseconds(6000))) << words.substr(0, 20);
  }
  ExpectAllIsWell();
}

// What follows a good greeting, at random. Numbers come from one seed, so that a failure returns.
TEST_F(StrangersTest, RandomBytesAfterAGreetingAreHarmless) {
  std::minstd_rand random(7);
  for (int i = 0; i < 200; ++i) {
    // A command of CURVE, with a true or another length, and then anything.
    std::string bytes("\4\xc8\5HELLO\1\0", 10);
    if (random() % 2 == 0) bytes = std::string("\6\0\0\0\0", 5);
    while (bytes.size() < 20 + random() % 400) bytes += static_cast<char>(random() % 256);
    (void)Visit(Greeting() + bytes);
  }
  ExpectAllIsWell();
}

TEST_F(StrangersTest, WhoRepeatsWhatARobotSaidStaysOutside) {
  Tap tap(listener_.port());
  {
    ZmqConnector connector(RobotAddress(tap.port(), "leg"));
    const Pair pair = Meet(&connector, &listener_);
    ASSERT_TRUE(pair.robot && pair.server) << connector.problem();
    ASSERT_EQ(ExchangeBothWays(pair, 50), "");
  }
  const std::vector<std::string> kept = tap.Kept();
  ASSERT_GE(kept.size(), 4U) << "a greeting, a hello, a proof, and packets";
  const Descriptor visitor = Visit();
  for (const std::string& bytes : kept) {
    (void)send(visitor.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    std::this_thread::sleep_for(milliseconds(20));  // the server's turn
  }
  EXPECT_TRUE(IsSentAway(visitor, milliseconds(6000)));
  ExpectAllIsWell();
}

TEST_F(StrangersTest, TwoHundredWhoSayNothingDisturbNobody) {
  std::vector<Descriptor> silent;
  for (int i = 0; i < 200; ++i) silent.push_back(Visit(i % 2 == 0 ? "" : Greeting()));
  ExpectAllIsWell();
  for (const Descriptor& visitor : silent) EXPECT_TRUE(IsSentAway(visitor, milliseconds(6000)));
  ExpectAllIsWell();
}

TEST_F(StrangersTest, AListedRobotThatSaysNoHelloGetsNoLink) {
  ZmqSocket leg = Misbehaving();
  for (const std::string& words : {std::string("cacheinf/9"), std::string(), std::string("x")}) {
    leg.Send(BytesOf(words));
  }
  EXPECT_FALSE(listener_.Accept(milliseconds(500)));
  ExpectAllIsWell();
}

TEST_F(StrangersTest, AListedRobotThatSendsTooMuchLosesItsLinkAlone) {
  {
    ZmqSocket leg = Misbehaving();
    const std::unique_ptr<Link> link = Welcomed(&leg);
    leg.Send(BytesOf("one"), true);
    leg.Send(BytesOf("two"));
    EXPECT_EQ(FaultOf(link.get()), "the peer sent what is no packet");
  }
  for (const size_t size : {Link::kLargestPacket + 1, 100 * Link::kLargestPacket}) {
    ZmqSocket leg = Misbehaving();
    const std::unique_ptr<Link> link = Welcomed(&leg);
    leg.Send(std::vector<uint8_t>(size));
    const std::vector<uint8_t> heartbeat(1);
    EXPECT_TRUE(ComesTrue([&] { return !link->Send(heartbeat) && !link->fault().empty(); }));
    std::vector<uint8_t> packet;
    EXPECT_FALSE(link->Receive(&packet));
  }
  {
    ZmqSocket leg = Misbehaving();
    const std::unique_ptr<Link> link = Welcomed(&leg);
    const std::vector<uint8_t> packet(Link::kLargestPacket);
    EXPECT_TRUE(ComesTrue([&] {
      while (leg.Send(packet) == ZmqSocket::Sent::kYes) {
      }
      (void)leg.events();
      return !link->fault().empty();
    }));
    EXPECT_EQ(link->fault(), "the peer sent more than was taken");
  }
  ExpectAllIsWell();
}

TEST_F(StrangersTest, MoreRobotsThanItServesAreTurnedAwayWithAReason) {
  std::vector<ZmqSocket> robots;
  std::vector<std::unique_ptr<Link>> links;
  for (int i = 0; i < 63; ++i) {
    robots.push_back(Misbehaving());
    links.push_back(Welcomed(&robots.back()));
  }
  ZmqConnector connector(RobotAddress(listener_.port(), "leg"));
  EXPECT_FALSE(Meet(&connector, nullptr, kTry).robot);
  EXPECT_NE(connector.problem().find("says: it serves 64 robots, and no more"), std::string::npos)
      << connector.problem();
  links.clear();
  robots.clear();
  ExpectAllIsWell();
}

}  // namespace
}  // namespace cacheinf
