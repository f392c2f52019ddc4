// What precedes a session's frames and goes on beside them: greeting, model, schedule, probes, and
// the end.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "common/backend/host/cpu_backend.h"
#include "common/base/error.h"
#include "common/codec/compressed_text.h"
#include "common/model/graph/graph.h"
#include "common/model/graph/pack.h"
#include "common/model/torchscript/libtorch.h"
#include "common/pair/messages.h"
#include "common/pair/model_store.h"
#include "common/pair/robot_accounts.h"
#include "common/pair/say.h"
#include "common/pair/server_connection.h"
#include "common/pair/session.h"
#include "tests/fuzz/mutate.h"
#include "tests/link/channel_pair.h"
#include "tests/model/model_builder.h"
#include "tests/pair/message_seeds.h"
#include "tests/pair/served_channels.h"
#include "tests/pair/session_world.h"
#include "tests/testing/by_winograd.h"
#include "tests/testing/heap.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_F(SessionTest, AServerNeedsNothingButAModelOnTheRobot) {
  SessionWorld world(Yolo(), folder_);
  world.Connect("20mbit,3ms");
  const int frames = world.AnswerUntilReady();
  EXPECT_GT(frames, 2) << "the robot answers alone meanwhile";
  EXPECT_EQ(world.session().robot(), "rover");
  const uint64_t bytes = world.channels().robot.statistics().sent.payload;
  EXPECT_GT(bytes, world.pack().size);

  // The server keeps the model.
  world.Connect("20mbit,3ms");
  world.AnswerUntilReady();
  EXPECT_LT(world.channels().robot.statistics().sent.payload, bytes - world.pack().size / 2);
}

TEST_F(SessionTest, ARobotNeedsNoTemporaryFolder) {
  const std::shared_ptr<const Graph> graph = MakeNetwork(Yolo(), kHeight, kWidth);
  const MappedFile pack = PackForServers(*graph);
  const char* const before = std::getenv("TMPDIR");
  const std::optional<std::string> kept =
      before ? std::optional<std::string>(before) : std::nullopt;
  for (const char* const folder : {"/nonexistent", "/proc"}) {
    setenv("TMPDIR", folder, 1);
    const MappedFile without = PackForServers(*graph);
    ASSERT_EQ(without.size, pack.size);
    EXPECT_TRUE(std::equal(pack.data.get(), pack.data.get() + pack.size, without.data.get()));
  }
  kept ? setenv("TMPDIR", kept->c_str(), 1) : unsetenv("TMPDIR");
}

TEST_F(SessionTest, OnlyTheModelThatWasNamedIsKept) {
  SessionWorld world(Yolo(), folder_);
  const MappedFile& pack = world.pack();
  const auto* const begin = reinterpret_cast<const uint8_t*>(pack.data.get());
  const message::ModelPiece all = {0, {begin, begin + pack.size}};
  const message::Fingerprint named = FingerprintOf(pack);
  const message::Fingerprint another = {named.checksum + 1, pack.size};
  EXPECT_THROW(ModelStore::Incoming(world.store(), another, "", true).Take(all), InputError);
  EXPECT_FALSE(world.store().Has(another));
  EXPECT_EQ(ModelStore::Incoming(world.store(), another, "", true).taken(), 0) << "it was damaged";
  EXPECT_TRUE(ModelStore::Incoming(world.store(), named, "", true).Take(all));
  EXPECT_TRUE(world.store().Has(named));
}

TEST_F(SessionTest, AModelOfASizeThatNoneHasIsRefused) {
  SessionWorld world(Yolo(), folder_);
  for (const uint64_t bytes : {0, 1, 8, 63, 65, 4095}) {
    EXPECT_NE(RefusalOf([&] {
                ModelStore::Incoming(world.store(), {0x1234, bytes}, "", true);
              }),
              "")
        << bytes;
  }
}

TEST_F(SessionTest, AScheduleIsSentWhileFramesAreServed) {
  std::atomic<bool> may_end = false;
  const std::string profile(100'000, 'p');
  SessionWorld world(Yolo(), folder_);
  world.SolveBy([&](const auto& model, const message::Settings& settings, const std::string& robot,
                    const auto& send_rough, const std::atomic<bool>& stop) {
    if (robot == profile) send_rough("rough");
    while (!may_end && !stop) std::this_thread::sleep_for(milliseconds(1));
    EXPECT_EQ(model->graph().operators.size(), world.graph().operators.size());
    EXPECT_EQ(settings.shared.tracker.change.threshold, 0.25);
    if (robot.starts_with("bad")) throw std::runtime_error("it is bad");
    return "solved: " + robot;
  });
  world.Connect();
  message::Settings settings;
  settings.shared.tracker.change.threshold = 0.25;
  world.connection().AskForSchedule(settings, profile);
  world.AnswerUntilReady();
  const auto expect_next = [&](bool is_rough, const std::string& text) {
    std::optional<message::Schedule> schedule;
    for (int i = 0; i < 20000 && !schedule; ++i) {
      world.Answer();
      world.TakeTurns(5);
      std::this_thread::sleep_for(milliseconds(1));
      schedule = world.connection().TakeSchedule();
    }
    ASSERT_TRUE(schedule);
    EXPECT_EQ(schedule->is_rough, is_rough);
    EXPECT_EQ(schedule->schedule, CompressText(text));
    EXPECT_FALSE(world.connection().TakeSchedule()) << "only once";
  };
  expect_next(true, "rough");
  EXPECT_FALSE(world.connection().TakeSchedule());
  may_end = true;
  expect_next(false, "solved: " + profile);

  // A better profile waits until the worse one's schedule is made; only the newest does.
  may_end = false;
  for (const char* const next : {"worse", "better", "best"}) {
    world.connection().AskForSchedule(settings, next);
    world.TakeTurns(50);
  }
  may_end = true;
  expect_next(false, "solved: worse");
  expect_next(false, "solved: best");

  world.connection().AskForSchedule(settings, "bad");
  for (int i = 0; i < 50; ++i) {
    world.Answer();
    world.TakeTurns(5);
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_FALSE(world.connection().TakeSchedule());
  EXPECT_EQ(world.connection().fault(), "");
}

// Other robots are served on the thread that lets go of a session.
TEST_F(SessionTest, LeavingWaitsForNothingThatIsSlowToStop) {
  std::atomic<int> begun = 0;
  std::atomic<int> ended = 0;
  std::atomic<bool> may_end = false;
  const auto work = [&](const std::atomic<bool>& stop) {
    ++begun;
    for (int i = 0; i < 10'000 && !(stop && may_end); ++i) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    EXPECT_TRUE(stop);
    ++ended;
  };
  const auto leave = [&](SessionWorld& world, int most) {
    while (begun < most) {
      world.Answer();
      world.TakeTurns(20);
    }
    world.Connect();
    EXPECT_EQ(ended, most - 1) << "leaving has waited";
    may_end = true;
    while (ended < most) std::this_thread::sleep_for(milliseconds(1));
    may_end = false;
  };
  SessionWorld tuning(Yolo(), folder_, {}, std::make_unique<CpuBackend>,
                      [&](Graph&, bool takes_fastest, const std::atomic<bool>& stop) {
                        EXPECT_FALSE(takes_fastest);
                        work(stop);
                      });
  tuning.Connect();
  leave(tuning, 1);
  leave(tuning, 2);  // nothing half tuned is kept
  SessionWorld solving(Yolo(), folder_);
  solving.SolveBy([&](const auto&, const message::Settings&, const std::string&, const auto&,
                      const std::atomic<bool>& stop) {
    work(stop);
    return std::string("solved");
  });
  solving.Connect();
  solving.connection().AskForSchedule({}, "profile");
  leave(solving, 3);
}

TEST_F(SessionTest, TheLinkIsKnownBeforeTheFirstFrame) {
  SessionWorld& world = Ready("20mbit,3ms");  // the server has the model from now on
  for (const bool probes : {false, true}) {
    world.Connect("20mbit,3ms");
    if (probes) world.connection().ProbeLink();
    for (int i = 0; i < 5000; ++i) {
      world.Turn();
      EXPECT_EQ(world.connection().Receive(), std::nullopt);
    }
    EXPECT_TRUE(world.connection().has_model());
    const ChannelStatistics statistics = world.channels().robot.statistics();
    ASSERT_EQ(statistics.bandwidth.has_value(), probes);
    ASSERT_EQ(statistics.bandwidth_back.has_value(), probes);
    if (!probes) continue;
    EXPECT_NEAR(statistics.bandwidth->bits_per_second, 20e6, 2e6);
    EXPECT_NEAR(statistics.bandwidth_back->bits_per_second, 20e6, 2e6);
  }
}

// Until then, a plan with the server has none.
TEST_F(SessionTest, TheServerHasTheModelOnceAllOfItIsThere) {
  SessionWorld world(Yolo(), folder_);
  world.Connect("1mbit,3ms");
  const auto begin = world.channels().clock.Now();
  while (!world.connection().has_model()) {
    world.Turn();
    (void)world.connection().Receive();
    ASSERT_LT(world.channels().clock.Now() - begin, std::chrono::minutes(10));
  }
  const ChannelStatistics statistics = world.channels().robot.statistics();
  EXPECT_GT(statistics.acknowledged, 50'000) << "a model is sent";
  EXPECT_LT(statistics.waiting_to_leave + statistics.unacknowledged, 50'000);
}

TEST_F(SessionTest, AnIdleLinkStaysKnownByProbesOfAFewBytes) {
  SessionWorld& world = Ready("20mbit,3ms");
  constexpr std::chrono::seconds kMeanwhile(30);
  const auto begin = world.channels().clock.Now();
  const uint64_t sent = world.channels().robot.statistics().sent.payload;
  std::chrono::nanoseconds oldest{0};
  while (world.channels().clock.Now() < begin + kMeanwhile) {
    world.connection().KeepLinkKnown(world.channels().clock.Now());
    world.TakeTurns(100);
    (void)world.connection().Receive();
    const auto& known = world.channels().robot.statistics().bandwidth;
    if (known) oldest = std::max(oldest, known->age);
  }
  EXPECT_GT(oldest, std::chrono::seconds(4));
  EXPECT_LT(oldest, std::chrono::seconds(6));
  EXPECT_LT(world.channels().robot.statistics().sent.payload - sent, 7 * (20u << 10));
}

// A probe of the first size takes less time than the round trip's uncertainty.
TEST_F(SessionTest, AnIdleLinkThatIsFastStaysKnownToo) {
  SessionWorld& world = Ready("400mbit,3ms");
  const auto end = world.channels().clock.Now() + std::chrono::seconds(20);
  while (world.channels().clock.Now() < end) {
    world.connection().KeepLinkKnown(world.channels().clock.Now());
    world.TakeTurns(100);
    (void)world.connection().Receive();
  }
  const ChannelStatistics statistics = world.channels().robot.statistics();
  ASSERT_TRUE(statistics.bandwidth);
  EXPECT_LT(statistics.bandwidth->age, std::chrono::seconds(8));
  EXPECT_NEAR(statistics.bandwidth->bits_per_second, 400e6, 80e6);
}

TEST_F(SessionTest, ProbingNeedsNoHello) {
  SessionWorld world(Yolo(), folder_);
  world.Connect("20mbit,3ms");
  ServedChannels served(world.store(), world.slow_work(), {}, Shaped("20mbit,3ms"));
  Channel& robot = served.channels.robot;
  const Session& session = served.session;
  Say(robot, message::Probe{1000, {1, 2, 3}});
  const auto has_come = [&] { return robot.statistics().received.payload > 1000; };
  ASSERT_TRUE(served.RunUntil(has_come, 60'000)) << session.end();
  EXPECT_EQ(MessageOf(message::Probe{0, std::vector<uint8_t>(1000)}).bytes, robot.Receive()->bytes);
  EXPECT_FALSE(session.has_robot());
  Say(robot, message::Ready{});
  served.RunUntil([&] { return session.is_over(); }, 60'000);
  EXPECT_EQ(session.end(), "the robot has not said hello");
}

// A model whose operator is an archive that LibTorch would load.
Graph WithForeignOperator() {
  ModelBuilder builder;
  op::Foreign foreign;
  foreign.type = "aten::cumsum";
  foreign.archive = std::make_shared<const std::string>("no archive");
  foreign.output_shapes = {{1, 4, 8, 8}};
  foreign.output_types = {DataType::kFloat32};
  const ValueId x = builder.Input({1, 4, 8, 8});
  return builder.Finish({builder.Op(foreign, {x})});
}

// Lets a robot use a model, or only ask for its schedule. Returns what it is told in the end.
std::string ToldWhenBringing(const Graph& graph, ModelStore& store, bool only_asks,
                             Session::Options options) {
  SlowWork slow_work;
  options.solve = [](const auto&, const message::Settings&, const std::string&, const auto&,
                     const std::atomic<bool>&) { return std::string("solved"); };
  ServedChannels served(store, slow_work, std::move(options));
  ServerConnection connection(served.channels.robot, {.robot = "rover"}, PackForServers(graph));
  if (only_asks) {
    connection.AskForSchedule({}, "profile");
  } else {
    connection.Use({});
  }
  const auto is_told = [&] {
    (void)connection.Receive();
    return !connection.fault().empty() || connection.is_ready();
  };
  served.RunUntil(is_told, 300);
  return connection.fault();
}

TEST_F(SessionTest, CodeThatARobotBringsReachesLibTorchOnlyIfTheServerTrustsIt) {
  LoadLibTorch();  // takes longer than a robot is listened to here
  const Graph graph = WithForeignOperator();
  for (const bool trusts_all : {false, true}) {
    for (const bool trusts_it : {false, true}) {
      for (const bool only_asks : {false, true}) {
        SCOPED_TRACE(testing::Message() << "trusts all " << trusts_all << ", it " << trusts_it
                                        << ", only asks " << only_asks);
        ModelStore store(
            folder_, [] { return std::make_unique<CpuBackend>(); }, nullptr, trusts_all);
        const std::string told = ToldWhenBringing(
            graph, store, only_asks, {.robot = {.key = "arm", .is_trusted = trusts_it}});
        const bool may_run = trusts_all || trusts_it;
        EXPECT_EQ(told.find("LibTorch cannot read") != told.npos, may_run && !only_asks) << told;
        EXPECT_EQ(told.find("write \"trusted\" behind this robot's name") != told.npos, !may_run)
            << told;
      }
    }
  }
}

TEST_F(SessionTest, AModelThatNeedsMoreThanTheKeysMemoryIsRefusedInASentence) {
  const auto graph = MakeNetwork(Yolo(), kHeight, kWidth);
  const SteadyClock clock;
  for (const uint64_t bytes : {uint64_t{1} << 10, uint64_t{4} << 30}) {
    RobotAccounts accounts({.memory_bytes = bytes, .disk_bytes = 1 << 30}, clock);
    ModelStore store(folder_, [] { return std::make_unique<CpuBackend>(); });
    const std::string told =
        ToldWhenBringing(*graph, store, false, {.robot = {.key = "arm"}, .accounts = &accounts});
    EXPECT_EQ(told.find("start the server with a larger --robot-memory-mb") != told.npos,
              bytes == 1 << 10)
        << told;
    EXPECT_EQ(ToldWhenBringing(*graph, store, false, {.accounts = &accounts}), "") << "no key";
  }
}

TEST_F(SessionTest, ARobotForWhichNothingIsLeftIsRefusedInASentence) {
  const auto graph = MakeNetwork(Yolo(), kHeight, kWidth);
  const auto told_if = [&](const std::function<void()>& fails) {
    int backends = 0;  // the first one is the store's own
    ModelStore store(folder_, [&] {
      if (backends++ > 0) fails();
      return std::make_unique<CpuBackend>();
    });
    return ToldWhenBringing(*graph, store, false, {});
  };
  const auto lack = [](std::errc what) {
    return [what] { throw std::system_error(std::make_error_code(what)); };
  };
  EXPECT_EQ(told_if([] { throw std::bad_alloc(); }), "there is not enough memory");
  EXPECT_EQ(told_if(lack(std::errc::not_enough_memory)), "there is not enough memory");
  EXPECT_EQ(told_if(lack(std::errc::resource_unavailable_try_again)),
            "no further thread or process can be had: raise their limit (ulimit -u)");
  EXPECT_EQ(told_if(lack(std::errc::too_many_files_open)),
            "no further file can be opened: raise the limit of files (ulimit -n)");
}

// A store does not keep what is no longer used, either.
TEST_F(SessionTest, AStoreKeepsNothingOfSchemesThatDoNotFit) {
  if (!IsHeapCounted()) GTEST_SKIP() << "a sanitizer's heap cannot be counted";
  SessionWorld& world = Ready();
  const message::Fingerprint model = FingerprintOf(world.pack());
  const std::atomic<bool> stop = false;
  message::Settings settings;
  settings.schemes.assign(1 << 20, Scheme());
  const auto ask = [&](size_t i) {
    settings.schemes[i] = Scheme::kWinograd;
    EXPECT_THROW((void)world.store().Get(model, settings, stop, true), InputError);
  };
  ask(0);
  const size_t before = HeapBytes();
  for (size_t i = 1; i < 30; ++i) ask(i);
  EXPECT_LT(HeapBytes(), before + (size_t{5} << 20));
}

TEST_F(SessionTest, ModelsOfAKeyMakeRoomForOthersOfItAndForNobodyElses) {
  ModelStore store(folder_, [] { return std::make_unique<CpuBackend>(); });
  const SteadyClock clock;
  std::vector<Graph> graphs;
  std::vector<message::Fingerprint> models;
  for (int i = 0; i < 3; ++i) {
    graphs.push_back(*MakeNetwork(Yolo(), kHeight, kWidth));
    graphs.back().name = "model " + std::to_string(i);
    models.push_back(FingerprintOf(PackForServers(graphs.back())));
  }
  const auto is_kept = [&](size_t i) {
    return std::filesystem::exists(
        folder_ / fmt::format("{:016x}-{}.cacheinf", models[i].checksum, models[i].bytes));
  };
  // For two of them.
  RobotAccounts accounts({.memory_bytes = uint64_t{4} << 30, .disk_bytes = models[0].bytes * 5 / 2},
                         clock);
  const auto bring = [&](int i, const std::string& key) {
    std::this_thread::sleep_for(milliseconds(20));  // files have their times
    return ToldWhenBringing(graphs[static_cast<size_t>(i)], store, false,
                            {.robot = {.key = key}, .accounts = &accounts});
  };
  EXPECT_EQ(bring(0, "arm"), "");
  EXPECT_EQ(bring(1, "arm"), "");
  EXPECT_EQ(bring(0, "arm"), "");  // used again
  EXPECT_EQ(bring(2, "leg"), "");
  EXPECT_TRUE(is_kept(0) && is_kept(1) && is_kept(2));
  graphs.push_back(*MakeNetwork(Yolo(), kHeight, kWidth));
  graphs.back().name = "model 3";
  EXPECT_EQ(bring(3, "arm"), "");
  EXPECT_TRUE(is_kept(0));
  EXPECT_FALSE(is_kept(1)) << "it was not used for the longest time";
  EXPECT_TRUE(is_kept(2)) << "another robot's";

  RobotAccounts small({.memory_bytes = uint64_t{4} << 30, .disk_bytes = 1000}, clock);
  const std::string told =
      ToldWhenBringing(graphs[1], store, false, {.robot = {.key = "arm"}, .accounts = &small});
  EXPECT_NE(told.find("start the server with a larger --robot-disk-mb"), told.npos) << told;
  EXPECT_TRUE(is_kept(0));
}

TEST_F(SessionTest, ARobotsNameIsForPeopleAndWritesNoEscapeCodes) {
  ModelStore store(folder_, [] { return std::make_unique<CpuBackend>(); });
  const auto graph = MakeNetwork(Yolo(), kHeight, kWidth);
  SlowWork slow_work;
  ServedChannels served(store, slow_work);
  const Session& session = served.session;
  ServerConnection connection(served.channels.robot, {.robot = "a\x1b[2J\nb", .token = 7},
                              PackForServers(*graph));
  served.RunUntil([&] { return session.has_robot(); }, 60'000);
  EXPECT_EQ(session.robot(), "a\\x1b[2J\\x0ab");
  EXPECT_EQ(session.token(), 7u);
  connection.Leave("it is\x1b[2J over");
  served.RunUntil([&] { return session.is_over(); }, 60'000);
  EXPECT_EQ(session.end(), "it is\\x1b[2J over");
}

TEST_F(SessionTest, OldAndNewSidesGoOnInTheNewestVersionThatBothSpeak) {
  SessionWorld world(Yolo(), folder_);
  const WireVersions older = {kWire.oldest, kWire.oldest};
  const WireVersions newer = {kWire.newest, kWire.newest + 1};
  for (const auto& [robot, server] :
       {std::pair(kWire, kWire), {older, kWire}, {kWire, newer}, {newer, kWire}}) {
    SCOPED_TRACE(testing::Message() << robot.newest << " and " << server.newest);
    world.SetServerSpeaks(server);
    world.Connect("", robot);
    world.AnswerUntilReady();
    EXPECT_EQ(world.connection().fault(), "");
    for (int i = 0; i < 3; ++i) world.Answer();
    EXPECT_GT(world.robot().counts().together, 2);
  }
}

// Programs of version 8 refuse messages that are longer than they know.
TEST_F(SessionTest, ARobotOfVersionEightIsToldNothingThatItCannotRead) {
  SessionWorld& world = Ready();  // the server has the model from now on
  for (const uint32_t version : {8U, 9U}) {
    ServedChannels served(world.store(), world.slow_work());
    Channel& robot = served.channels.robot;
    Say(robot, message::Hello{
                   .speaks = {8, version}, .model = FingerprintOf(world.pack()), .robot = "rover"});
    message::Settings settings;
    settings.version = 1;
    settings.shared.slice_codec = SliceCodec::kRaw;
    settings.cuts = {{world.places()[1], 500}};
    Say(robot, settings);
    size_t welcome = 0;
    size_t ready = 0;
    const auto is_ready = [&] {
      while (const std::optional<Message> heard = robot.Receive()) {
        if (Is<message::Welcome>(*heard)) welcome = heard->bytes.size();
        if (Is<message::Ready>(*heard)) ready = heard->bytes.size();
      }
      return ready > 0 || served.session.is_over();
    };
    served.RunUntil(is_ready, 3000);
    EXPECT_EQ(served.session.end(), "");
    const size_t of_eight = 1 + 4 + world.store().arithmetic().size();
    EXPECT_EQ(welcome == of_eight, version == 8) << welcome;
    EXPECT_EQ(ready == sizeof(int64_t), version == 8) << ready;
    EXPECT_GE(ready, sizeof(int64_t));
  }
}

TEST_F(SessionTest, WhoSpeaksNoCommonVersionIsToldWhichSideIsOld) {
  SessionWorld world(Yolo(), folder_);
  const auto refusal = [&](const WireVersions& robot) {
    world.Connect("", robot);
    world.AnswerUntilReady();
    EXPECT_TRUE(world.session().is_over());
    world.Answer();  // alone
    EXPECT_EQ(world.robot().counts().together, 0);
    return world.connection().fault();
  };
  EXPECT_EQ(refusal({7, 7}),
            "the robot speaks version 7 of the wire, and this server versions 8 to 9: install a "
            "newer CacheInf on the robot");
  EXPECT_EQ(refusal({10, 11}),
            "the robot speaks version 11 of the wire, and this server versions 8 to 9: install a "
            "newer CacheInf on the server");
}

message::Settings ForPictures() {
  message::Settings settings;
  settings.mode = message::Settings::Mode::kRemote;
  return settings;
}

// Messages wait while a state is prepared, and must not keep a core busy.
TEST_F(SessionTest, WhileItPreparesItWaitsForThatAndNotForMessages) {
  std::atomic<bool> may_go = false;
  SessionWorld world(Yolo(), folder_, {}, std::make_unique<CpuBackend>,
                     [&](Graph& /*graph*/, bool /*takes_fastest*/, const std::atomic<bool>& stop) {
                       while (!may_go && !stop) std::this_thread::sleep_for(milliseconds(1));
                     });
  world.Connect();
  world.connection().Use(ForPictures());
  EXPECT_FALSE(world.BecomesReady(300));
  ASSERT_EQ(world.connection().WhyNotReady(), "the server is still getting ready");
  Say(world.channels().robot, message::Probe{});
  world.TakeTurns(20);
  const auto begin = std::chrono::steady_clock::now();
  world.session().Wait(milliseconds(50));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(50));
  may_go = true;
  world.session().Wait(seconds(60));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(30));
  EXPECT_TRUE(world.BecomesReady(500));
}

// As with a release whose kernels sum differently, but which does not say so.
TEST_F(SessionTest, RowsAreSharedUnderThePolicyExactOnlyIfBothSidesComputeTheSameBits) {
  for (const bool is_exact : {true, false}) {
    SCOPED_TRACE(is_exact);
    ChangePolicy policy;
    if (!is_exact) policy.kind = ChangePolicy::Kind::kFixed;
    SessionWorld world(Yolo(), folder_, policy, std::make_unique<CpuBackend>,
                       [](Graph& graph, bool /*takes_fastest*/, const std::atomic<bool>& /*stop*/) {
                         SetSchemes(graph, WinogradWhereItApplies(graph));
                       });
    world.Connect();
    for (int i = 0; i < 500 && world.connection().why_no_rows().empty() &&
                    world.robot().counts().together == 0;
         ++i) {
      world.Answer();
      world.TakeTurns(20);
      std::this_thread::sleep_for(milliseconds(1));
    }
    for (int i = 0; i < 3; ++i) world.Answer();
    EXPECT_EQ(world.robot().counts().together > 0, !is_exact);
    EXPECT_EQ(world.connection().why_no_rows(),
              is_exact ? "the server's CacheInf does not compute the same bits: install the same "
                         "on both"
                       : "");
    EXPECT_EQ(world.connection().fault(), "");
    // Pictures may still be sent.
    world.connection().Use(ForPictures());
    EXPECT_TRUE(world.BecomesReady(500));
  }
}

// The thread that computes may hang; the channel has one of its own, which goes on.
class ServersThatHang : public SessionTest {
 protected:
  static constexpr seconds kLong{9};

  static void Pass(SessionWorld& world, std::chrono::nanoseconds time, bool hangs) {
    const auto end = world.now() + time;
    while (world.connection().fault().empty() && world.now() < end) {
      hangs ? world.channels().RunFor(milliseconds(20)) : world.TakeTurns(200);
      (void)world.connection().Receive();
    }
  }

  static double LeftAfterMs(SessionWorld& world, bool hangs) {
    const auto begin = world.now();
    Pass(world, kLong, hangs);
    return Milliseconds(world.now() - begin);
  }
};

TEST_F(ServersThatHang, AreLeftSoonAfterTheyWereAskedForSomething) {
  SessionWorld world(Yolo(), folder_);
  const auto left_after_ms = [&](const WireVersions& speaks, bool hangs, bool asks) {
    world.Connect("20mbit,3ms", speaks);
    world.AnswerUntilReady();
    Pass(world, seconds(2), false);
    if (asks) world.connection().ProbeLink();
    return LeftAfterMs(world, hangs);
  };
  EXPECT_NEAR(left_after_ms(kWire, true, true), 2000, 150);
  EXPECT_EQ(world.connection().fault(), "the server is there, but computes nothing any more");
  EXPECT_GE(left_after_ms(kWire, false, true), Milliseconds(kLong)) << "it does not hang";
  EXPECT_GE(left_after_ms(kWire, true, false), Milliseconds(kLong)) << "nothing is due";
  EXPECT_GE(left_after_ms({kWire.oldest, kWire.oldest}, true, true), Milliseconds(kLong))
      << "it does not say that it lives";
}

TEST_F(ServersThatHang, AreLeftAsSoonWhileAFrameIsWaitedFor) {
  SessionWorld& world = Ready("20mbit,3ms");
  world.connection().Await(true);
  world.connection().ProbeLink();
  Pass(world, kLong, false);
  EXPECT_EQ(world.connection().fault(), "") << "it takes its time";
  EXPECT_NEAR(LeftAfterMs(world, true), 2000, 550);
}

TEST_F(ServersThatHang, AreLeftAsSoonWhileTheyPrepare) {
  std::atomic<bool> may_go_on = false;
  const auto tune = [&](Graph&, bool, const std::atomic<bool>& stop) {
    while (!may_go_on && !stop) std::this_thread::sleep_for(milliseconds(1));
  };
  SessionWorld world(Yolo(), folder_, {}, std::make_unique<CpuBackend>, tune);
  world.Connect("20mbit,3ms");
  for (int i = 0; i < 50; ++i) {
    world.Answer();
    world.TakeTurns(200);
  }
  Pass(world, kLong, false);
  EXPECT_EQ(world.connection().fault(), "") << "it takes its time";
  EXPECT_FALSE(world.connection().is_ready());
  EXPECT_NEAR(LeftAfterMs(world, true), 2000, 550);
  EXPECT_EQ(world.connection().fault(), "the server is there, but computes nothing any more");
  may_go_on = true;
}

// Each message wakes both sides for a while.
TEST_F(SessionTest, WhoAsksForNothingIsToldNothing) {
  SessionWorld& world = Ready("20mbit,3ms");
  world.TakeTurns(10'000);
  const auto said = [&] {
    return std::pair(world.channels().robot.statistics().acknowledged,
                     world.channels().server.statistics().acknowledged);
  };
  const auto before = said();
  for (int i = 0; i < 200; ++i) {
    world.TakeTurns(200);
    (void)world.connection().Receive();
  }
  EXPECT_EQ(said(), before);
}

TEST_F(SessionTest, AServerThatDoesNotGreetTheRobotIsLeft) {
  SessionWorld world(Yolo(), folder_);
  world.Connect("20mbit,3ms");
  const auto begin = world.now();
  while (world.connection().fault().empty() && world.now() < begin + std::chrono::seconds(20)) {
    world.channels().RunFor(milliseconds(20));
    (void)world.connection().Receive();
  }
  EXPECT_NEAR(Milliseconds(world.now() - begin), 10'000, 500);
}

TEST_F(SessionTest, ALeavingSideTellsTheOther) {
  SessionWorld& world = Ready();
  world.session().Leave("it is drained");
  world.TakeTurns(5);
  world.Answer();
  EXPECT_EQ(world.connection().fault(), "it is drained");

  world.Connect();
  world.AnswerUntilReady();
  world.connection().Leave("");
  world.TakeTurns(5);
  EXPECT_EQ(world.session().end(), "the robot has left");
}

// Whatever one side sends, the other goes on or leaves, and the robot's answers stay right.
TEST_F(SessionTest, DamagedMessagesHarmNobody) {
  const std::vector<std::string> seeds = message::MessageSeeds();
  Mutator mutator(seeds, {}, 9);
  std::mt19937 random(10);
  SessionWorld world(Yolo(), folder_);
  int left = 0;
  for (int round = 0; round < 60; ++round) {
    world.Connect();
    if (round % 4 != 0) world.AnswerUntilReady();
    for (int i = 0; i < 4; ++i) {
      std::string bytes = random() % 2 == 0 ? mutator.Next() : seeds[random() % seeds.size()];
      if (bytes.empty()) continue;
      Message message{static_cast<uint8_t>(bytes[0]), -1, {bytes.begin() + 1, bytes.end()}};
      Channel& from = random() % 2 == 0 ? world.channels().robot : world.channels().server;
      from.Send(std::move(message));
      world.TakeTurns(5);
      world.Answer();
    }
    left += world.session().is_over() || !world.connection().fault().empty() ? 1 : 0;
  }
  EXPECT_GT(left, 20);
}

}  // namespace
}  // namespace cacheinf
