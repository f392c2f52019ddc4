// Read this first: what parsers promise of any bytes; NAME_target.cc says it for each.

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "tests/fuzz/mutate.h"
#include "tests/fuzz/target.h"
#include "tests/testing/peak_memory.h"

// Damaged bytes from files and peers: they are read or refused, and take little memory.

namespace cacheinf::fuzz {

void PrintTo(const Target* target, std::ostream* stream) { *stream << target->name; }

namespace {

class FuzzTest : public testing::TestWithParam<const Target*> {
 protected:
  // In memory of their own, so that a sanitizer sees any read past the end.
  static bool Reads(const std::string& bytes) {
    const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
    return GetParam()->reads(exact);
  }
};

INSTANTIATE_TEST_SUITE_P(Of, FuzzTest,
                         testing::Values(&kCodec, &kConfig, &kMask, &kMessage, &kNotes, &kOnnx,
                                         &kPack, &kPacket, &kPlan, &kSession),
                         [](const auto& info) { return std::string(info.param->name); });

TEST_P(FuzzTest, WhatIsGoodIsRead) {
  for (const std::string& bytes : GetParam()->good()) EXPECT_TRUE(Reads(bytes));
}

TEST_P(FuzzTest, WhatIsDamagedIsReadOrRefused) {
  constexpr uint64_t kSeed = 20240612;
  RecordProperty("seed", std::to_string(kSeed));
  Mutator mutator(GetParam()->good(), GetParam()->tokens, kSeed);
  const int64_t before = PeakMebibytes();
  const int runs = FuzzRuns(4000);
  int refused = 0;
  for (int run = 0; run < runs; ++run) {
    SCOPED_TRACE(testing::Message() << "run " << run << ", seed " << kSeed);
    refused += !Reads(mutator.Next());
  }
  EXPECT_GT(refused, runs / 4);
  EXPECT_LT(refused, runs);
  EXPECT_LT(PeakMebibytes() - before, 1024) << "MiB taken";
}

}  // namespace
}  // namespace cacheinf::fuzz
