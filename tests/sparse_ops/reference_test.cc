#include <gtest/gtest.h>

#include "tests/sparse_ops/cases.h"

namespace cacheinf {
namespace {

TEST(ReferenceTest, AnyCutIntoRowsGivesTheBitsOfTheWhole) {
  ExpectReferenceBits(ReferenceFamily(), 41);
}

}  // namespace
}  // namespace cacheinf
