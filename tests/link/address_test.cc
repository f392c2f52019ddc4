#include "common/link/address.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "common/base/error.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

std::string Refusal(const std::string& text) {
  return RefusalOf([&] { ParseLinkAddress("--server", text); });
}

TEST(LinkAddressTest, IsMpiWithOrWithoutAName) {
  EXPECT_EQ(ParseLinkAddress("--server", "mpi").name, "");
  const LinkAddress address =
      ParseLinkAddress("--server", "mpi:lab-1.left_arm", {.name_server = "/tmp/file"});
  EXPECT_EQ(address.name, "lab-1.left_arm");
  EXPECT_EQ(address.files.name_server, "/tmp/file");
}

TEST(LinkAddressTest, IsAHostAndAPortOverZeroMq) {
  const LinkAddress address =
      ParseLinkAddress("--server", "tcp://lab-1.local:5588", {.key = "a.key", .trusted = "b.pub"});
  EXPECT_TRUE(address.is_tcp());
  EXPECT_EQ(address.host, "lab-1.local");
  EXPECT_EQ(address.port, 5588);
  EXPECT_EQ(address.files.key, "a.key");
  EXPECT_EQ(address.files.trusted, "b.pub");
  EXPECT_EQ(address.endpoint(), "tcp://lab-1.local:5588");
  EXPECT_FALSE(ParseLinkAddress("--server", "mpi:lab").is_tcp());
  EXPECT_EQ(ParseLinkAddress("--listen", "tcp://*:0").host, "*");
  EXPECT_EQ(ParseLinkAddress("--listen", "tcp://[fe80::1]:1").host, "[fe80::1]");
}

TEST(LinkAddressTest, OfThisMachineAloneIsLoopback) {
  const auto is_loopback = [](const std::string& host) {
    return ParseLinkAddress("--listen", "tcp://" + host + ":1").is_loopback();
  };
  for (const std::string host : {"127.0.0.1", "127.1.2.3", "localhost", "[::1]"}) {
    EXPECT_TRUE(is_loopback(host)) << host;
  }
  for (const std::string host : {"*", "10.0.0.1", "lab", "[::]", "127.evil.com",
                                 "127.0.0.1.evil.com", "localhost.evil.com", "1127.0.0.1"}) {
    EXPECT_FALSE(is_loopback(host)) << host;
  }
}

TEST(LinkAddressTest, RefusesWhatItCannotRead) {
  EXPECT_EQ(Refusal("udp://x:1"),
            "--server takes mpi, mpi:NAME or tcp://HOST:PORT, not \"udp://x:1\"");
  for (const std::string text : {"", "MPI", "mpix", "mpi:", "mpi:a b", "mpi:a/b", "mpi:\xc3\xa4"}) {
    EXPECT_EQ(Refusal(text).find("--server"), 0U) << text;
  }
  for (const std::string text :
       {"tcp://", "tcp://x", "tcp://x:", "tcp://:1", "tcp://x:65536", "tcp://x:-1", "tcp://x:1/",
        "tcp://a b:1", "tcp://[x]:1", "tcp://[::1]", "tcp://::1:1", "tcp://x:1;y:2"}) {
    EXPECT_EQ(Refusal(text).find("--server: "), 0U) << text << Refusal(text);
  }
  EXPECT_EQ(Refusal("mpi:" + std::string(64, 'a')), "");
  EXPECT_NE(Refusal("mpi:" + std::string(65, 'a')), "");
}

TEST(NameServerFileTest, IsWhereTheEnvironmentSays) {
  setenv("CACHEINF_CACHE", "/cache", 1);
  EXPECT_EQ(DefaultNameServerFile(), "/cache/name-server");
  setenv("CACHEINF_NAME_SERVER", "/run/here", 1);
  EXPECT_EQ(DefaultNameServerFile(), "/run/here");
  EXPECT_EQ(ParseLinkAddress("--server", "mpi:a").files.name_server, "/run/here");
  unsetenv("CACHEINF_NAME_SERVER");
  unsetenv("CACHEINF_CACHE");
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(DefaultNameServerFile(), "/home/me/.cache/cacheinf/name-server");
}

TEST(NameServerFileTest, MustBeThereAndBeOne) {
  const std::string file = testing::TempDir() + "name_server_file";
  std::remove(file.c_str());
  EXPECT_THROW(ReadNameServer(file), InputError);
  std::ofstream(file) << "anything\n";
  EXPECT_THROW(ReadNameServer(file), InputError);
  std::ofstream(file) << std::string(5000, ':') << "//";
  EXPECT_THROW(ReadNameServer(file), InputError);
  std::ofstream(file) << "1.0;tcp://10.0.0.1:1024\nOpen MPI v4.1.4\n12 host\n";
  EXPECT_EQ(ReadNameServer(file).uri, "1.0;tcp://10.0.0.1:1024");
  EXPECT_EQ(ReadNameServer(file).library, "Open MPI v4.1.4");
  std::remove(file.c_str());
}

}  // namespace
}  // namespace cacheinf
