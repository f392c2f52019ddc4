// The number by which robots and servers of different releases know each other's arithmetic.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "sparse_ops/cpu/thread_pool.h"
#include "sparse_ops/ops.h"
#include "tests/sparse_ops/cases.h"
#include "tests/sparse_ops/cpu/family.h"

namespace cacheinf {
namespace {

// If this fails because bits have changed, raise kArithmetic. If only the table of cases has
// changed, leave it. Then write down what was found here.
TEST(ArithmeticTest, ANumberStandsForTheBits) {
  EXPECT_EQ(kArithmetic, 1);
  ThreadPool pool(1);
  const OperatorFamily family = CpuFamily(pool);
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, of words
  for (const OperatorCase& operator_case : OperatorCases()) {
    const PreparedCase prepared = operator_case.Prepare(family);
    if (!prepared.run) continue;
    prepared.run(prepared.rows(), nullptr);
    for (const float number : prepared.output()) {
      const uint32_t bits = std::isnan(number) ? 0x7fc00000 : std::bit_cast<uint32_t>(number);
      hash = (hash ^ bits) * 0x100000001b3;
    }
  }
  EXPECT_EQ(hash, 0x55ec28f48b8376b8u);
}

}  // namespace
}  // namespace cacheinf
