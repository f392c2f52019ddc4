#include <gtest/gtest.h>

#include <vector>

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
  auto [a, b] = AnyOperands(20260302);
  ThreadPool pool(2);
  std::vector<float> expected(a.size());
  std::vector<float> actual(a.size());
  for (int kind = 0; kind <= static_cast<int>(Function::Kind::kIsZero); ++kind) {
    const Function function = {static_cast<Function::Kind>(kind), 0.3f, 0.7f};
    for (size_t i = 0; i < a.size(); ++i) expected[i] = Apply(function, a[i]);
    const ActivationArgs args = {{function}, Row(a), Row(actual)};
    ForEachCpuTarget([&] {
      cpu::Compute(args, AllPixels(args.output), pool);
      EXPECT_EQ(Difference(actual, expected), "") << "function " << kind;
    });
  }
  for (int kind = 0; kind <= static_cast<int>(BinaryKind::kModulo); ++kind) {
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
