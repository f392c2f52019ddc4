#include <gtest/gtest.h>

#include <cstring>
#include <iostream>
#include <random>

#include "sparse_ops/cpu/cpu.h"
#include "sparse_ops/function.h"
#include "sparse_ops/reference/reference.h"
#include "tests/sparse_ops/case_checks.h"
#include "tests/sparse_ops/cpu/targets.h"

namespace cacheinf {
namespace {

TensorView Row(std::vector<float>& numbers) {
  return {numbers.data(), 1, {static_cast<int64_t>(numbers.size())}, {1}};
}

// The table of cases has every operator in every form; these tests use numbers of any bits.
TEST(CpuOperatorsTest, EveryFunctionAndBinaryHasTheReferencesBitsOnAnyBits) {
  constexpr unsigned kSeed = 20260302;
  std::cout << "seed " << kSeed << "\n";
  std::mt19937 random(kSeed);
  constexpr size_t kCount = 20'011;
  std::vector<float> a(kCount);
  std::vector<float> b(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    const uint32_t bits[] = {static_cast<uint32_t>(random()), static_cast<uint32_t>(random())};
    std::memcpy(&a[i], &bits[0], sizeof(float));
    std::memcpy(&b[i], &bits[1], sizeof(float));
    if (random() % 2 == 0) b[i] = static_cast<float>(random() % 17) / 2 - 4;
  }
  ThreadPool pool(2);
  std::vector<float> expected(kCount);
  std::vector<float> actual(kCount);
  for (int kind = 0; kind <= static_cast<int>(Function::Kind::kCos); ++kind) {
    const Function function = {static_cast<Function::Kind>(kind), 0.3f, 0.7f};
    for (size_t i = 0; i < kCount; ++i) expected[i] = Apply(function, a[i]);
    const ActivationArgs args = {{function}, Row(a), Row(actual)};
    ForEachCpuTarget([&] {
      cpu::Compute(args, AllPixels(args.output), pool);
      EXPECT_EQ(Difference(actual, expected), "") << "function " << kind;
    });
  }
  for (int kind = 0; kind <= static_cast<int>(BinaryKind::kMaximum); ++kind) {
    BinaryArgs args = {static_cast<BinaryKind>(kind), {}, Row(a), Row(b), Row(expected)};
    reference::Compute(args);
    args.output = Row(actual);
    ForEachCpuTarget([&] {
      cpu::Compute(args, AllPixels(args.output), pool);
      EXPECT_EQ(Difference(actual, expected), "") << "binary " << kind;
    });
  }
}

}  // namespace
}  // namespace cacheinf
