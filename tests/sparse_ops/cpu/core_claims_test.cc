#include "sparse_ops/cpu/core_claims.h"

#include <gtest/gtest.h>

#include <vector>

namespace cacheinf {
namespace {

using Cores = std::vector<int>;

TEST(CoreClaimsTest, PoolsTakeFreeCoresInOrder) {
  CoreClaims claims;
  const Cores allowed = {1, 2, 5, 6, 7};
  EXPECT_EQ(claims.Claim(allowed, 2), (Cores{1, 2}));
  EXPECT_EQ(claims.Claim(allowed, 3), (Cores{5, 6, 7}));
}

TEST(CoreClaimsTest, PoolsShareWhereNoCoreIsFree) {
  CoreClaims claims;
  const Cores allowed = {0, 1};
  EXPECT_EQ(claims.Claim(allowed, 2), (Cores{0, 1}));
  EXPECT_EQ(claims.Claim(allowed, 2), (Cores{0, 1}));
}

TEST(CoreClaimsTest, CoresOfTheFewestPoolsComeNext) {
  CoreClaims claims;
  const Cores allowed = {0, 1, 2, 3};
  EXPECT_EQ(claims.Claim(allowed, 2), (Cores{0, 1}));
  EXPECT_EQ(claims.Claim(allowed, 4), (Cores{0, 1, 2, 3}));
  EXPECT_EQ(claims.Claim(allowed, 2), (Cores{2, 3}));
}

TEST(CoreClaimsTest, SharedCoresComeBeforeFreeOnes) {
  CoreClaims claims;
  const Cores allowed = {0, 1, 2};
  claims.Claim(allowed, 2);
  EXPECT_EQ(claims.Claim(allowed, 2), (Cores{0, 2}));
}

TEST(CoreClaimsTest, ReleasedCoresAreFreeAgain) {
  CoreClaims claims;
  const Cores allowed = {0, 1, 2, 3};
  const Cores first = claims.Claim(allowed, 2);
  const Cores second = claims.Claim(allowed, 2);
  claims.Release(first);
  EXPECT_EQ(claims.Claim(allowed, 2), first);
  claims.Release(second);
  EXPECT_EQ(claims.Claim(allowed, 2), second);
}

TEST(CoreClaimsTest, OnlyAllowedCoresAreTaken) {
  CoreClaims claims;
  EXPECT_EQ(claims.Claim({0, 1, 2, 3}, 2), (Cores{0, 1}));
  EXPECT_EQ(claims.Claim({0, 1}, 2), (Cores{0, 1}));
  EXPECT_EQ(claims.Claim({1, 3}, 1), (Cores{3}));
}

}  // namespace
}  // namespace cacheinf
