#include "common/base/npy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <string>

#include "common/base/error.h"
#include "common/base/file.h"
#include "tests/fuzz/mutate.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

class NpyTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  // The file that NumPy itself writes for an array with this header and these values.
  static std::string File(std::string header, const std::string& values, int version = 1) {
    header += '\n';
    std::string bytes = "\x93NUMPY";
    bytes += static_cast<char>(version);
    bytes += '\0';
    for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
      bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
    }
    return bytes + header + values;
  }

  static std::string Refusal(const std::string& bytes) {
    return RefusalOf([&] { ParseNpy(bytes, "t.npy"); });
  }

  const std::filesystem::path path_ = std::filesystem::temp_directory_path() /
                                      ("cacheinf_npy_" + std::to_string(getpid()) + ".npy");
};

const std::string kFourBytes(4, '\0');

TEST_F(NpyTest, ReadsBackTheFloatsItWrites) {
  const std::vector<int64_t> shape = {2, 1, 3};
  const std::vector<float> values = {1,      -2.5f, 0, std::numeric_limits<float>::infinity(),
                                     1e-40f, -0.0f};
  WriteNpy(path_, shape, values);
  const NpyArray array = ReadNpy(path_);
  EXPECT_EQ(array.shape, shape);
  EXPECT_EQ(std::get<std::vector<float>>(array.values), values);
}

TEST_F(NpyTest, ReadsBackTheIntegersItWrites) {
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{}, {1}, {1, 1, 1, 1}}) {
    const std::vector<int64_t> values = {-123456789012345};
    WriteNpy(path_, shape, values);
    const NpyArray array = ReadNpy(path_);
    EXPECT_EQ(array.shape, shape);
    EXPECT_EQ(std::get<std::vector<int64_t>>(array.values), values);
  }
}

TEST_F(NpyTest, AlignsTheValuesAsTheFormatAsks) {
  WriteNpy(path_, std::vector<int64_t>{1}, std::vector<float>{1});
  const std::string bytes = ReadFile(path_);
  EXPECT_EQ((bytes.size() - sizeof(float)) % 64, 0u);
  EXPECT_EQ(bytes.substr(10, 61), "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }    ");
  EXPECT_EQ(bytes[bytes.size() - sizeof(float) - 1], '\n');
}

TEST_F(NpyTest, AcceptsBothVersionsOfTheFormatAndAnyKeyOrder) {
  const std::string header = "{\"shape\": (1,), 'descr':'<f4','fortran_order': False}  ";
  EXPECT_EQ(Refusal(File(header, kFourBytes, 1)), "");
  EXPECT_EQ(Refusal(File(header, kFourBytes, 2)), "");
  EXPECT_NE(Refusal(File(header, kFourBytes, 3)), "");
}

TEST_F(NpyTest, RefusesHostileHeaders) {
  const auto with = [](const std::string& descr, const std::string& order,
                       const std::string& shape) {
    return File(
        "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }",
        kFourBytes);
  };
  EXPECT_EQ(Refusal(with("<f4", "False", "(1,)")), "");
  EXPECT_EQ(Refusal(with("<f4", "False", "()")), "");
  EXPECT_NE(Refusal(with("<f8", "False", "(1,)")), "");
  EXPECT_NE(Refusal(with(">f4", "False", "(1,)")), "");
  EXPECT_NE(Refusal(with("|O", "False", "(1,)")), "");
  EXPECT_NE(Refusal(with("<f4", "True", "(1,)")), "");
  EXPECT_NE(Refusal(with("<f4", "0", "(1,)")), "");
  EXPECT_NE(Refusal(with("<f4", "False", "(2,)")), "");
  EXPECT_NE(Refusal(with("<f4", "False", "(0,)")), "");
  EXPECT_NE(Refusal(with("<f4", "False", "(-1,)")), "");
  EXPECT_NE(Refusal(with("<f4", "False", "(1 1)")), "");
  EXPECT_NE(Refusal(with("<f4", "False", "(99999999999999999999,)")), "");
  EXPECT_NE(Refusal(with("<f4", "False", "(9223372036854775807, 9223372036854775807)")), "");
  EXPECT_NE(Refusal(with("<f4", "False", "(4294967296, 4294967296, 1)")), "");
  EXPECT_NE(Refusal(with("<f4", "False", "(1,), 'shape': (1,)")), "");
  EXPECT_NE(Refusal(File("{'descr': '<f4'}", kFourBytes)), "");
  EXPECT_NE(Refusal(File("__import__('os').system('true')", kFourBytes)), "");
}

TEST_F(NpyTest, RefusesShortFilesAtEveryLength) {
  WriteNpy(path_, std::vector<int64_t>{2, 2}, std::vector<float>{1, 2, 3, 4});
  const std::string bytes = ReadFile(path_);
  for (size_t length = 0; length < bytes.size(); ++length) {
    ASSERT_NE(Refusal(bytes.substr(0, length)), "") << length;
  }
  EXPECT_NE(Refusal(bytes + "x"), "");
}

TEST_F(NpyTest, DamagedFilesAreReadOrRefused) {
  const uint64_t seed = 7;
  RecordProperty("seed", std::to_string(seed));
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }";
  const std::vector<std::string> seeds = {File(header, kFourBytes + kFourBytes),
                                          File(header, kFourBytes + kFourBytes, 2)};
  Mutator mutator(seeds, {"'", "(", ")", ",", "9999999999", "-", "True", "<i8", "{", "}"}, seed);
  for (int run = 0; run < FuzzRuns(5000); ++run) {
    try {
      const NpyArray array = ParseNpy(mutator.Next(), "t.npy");
      ASSERT_LE(array.shape.size(), 32u) << "seed " << seed;
    } catch (const InputError&) {
    }
  }
}

TEST_F(NpyTest, SaysWhichFileCannotBeReadOrWritten) {
  EXPECT_THROW(ReadNpy("/nonexistent/a.npy"), InputError);
  EXPECT_THROW(WriteNpy("/nonexistent/a.npy", std::vector<int64_t>{}, std::vector<float>{1}),
               InputError);
}

}  // namespace
}  // namespace cacheinf
