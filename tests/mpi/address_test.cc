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
  const LinkAddress address = ParseLinkAddress("--server", "mpi:lab-1.left_arm", "/tmp/file");
  EXPECT_EQ(address.name, "lab-1.left_arm");
  EXPECT_EQ(address.name_server, "/tmp/file");
}

TEST(LinkAddressTest, RefusesWhatItCannotRead) {
  EXPECT_EQ(Refusal("tcp://x"), "--server takes mpi or mpi:NAME, not \"tcp://x\"");
  for (const std::string text : {"", "MPI", "mpix", "mpi:", "mpi:a b", "mpi:a/b", "mpi:\xc3\xa4"}) {
    EXPECT_EQ(Refusal(text).find("--server"), 0U) << text;
  }
  EXPECT_EQ(Refusal("mpi:" + std::string(64, 'a')), "");
  EXPECT_NE(Refusal("mpi:" + std::string(65, 'a')), "");
}

TEST(NameServerFileTest, IsWhereTheEnvironmentSays) {
  setenv("CACHEINF_CACHE", "/cache", 1);
  EXPECT_EQ(DefaultNameServerFile(), "/cache/name-server");
  setenv("CACHEINF_NAME_SERVER", "/run/here", 1);
  EXPECT_EQ(DefaultNameServerFile(), "/run/here");
  EXPECT_EQ(ParseLinkAddress("--server", "mpi:a").name_server, "/run/here");
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
