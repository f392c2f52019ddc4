#ifndef CACHEINF_TESTS_SPARSE_OPS_CASE_CHECKS_H_
#define CACHEINF_TESTS_SPARSE_OPS_CASE_CHECKS_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/sparse_ops/cases.h"

// What every family of kernels must do with the cases of a table.

namespace cacheinf {

// Equal bits, all NaNs being equal. Returns an empty string, or says where they differ.
std::string Difference(const std::vector<float>& actual, const std::vector<float>& expected);

// The same for everything that the two cases wrote.
std::string Difference(const PreparedCase& actual, const PreparedCase& expected);

// Numbers of any bits; half of the second ones are small multiples of a half. Prints the seed.
std::pair<std::vector<float>, std::vector<float>> AnyOperands(unsigned seed);

// Calls check(family) for every family to check: each target and number of threads, say.
using CheckFamily = std::function<void(const OperatorFamily&)>;
using Families = std::function<void(const CheckFamily& check)>;

Families OnlyFamily(const OperatorFamily& family);

// The functions below return an empty string, or the first thing that is wrong. For Winograd, and
// for convolutions of a family that rounds, "the reference's bits" are those of the family's own
// dense run, which must be as close to the reference as rounding errors allow.

// Checks that every case has the reference's bits, in one run and cut into random rows in random
// order, and that no cut writes outside its rows. For a case with a map, unless the family takes
// only rows, also checks that random active pixels get the reference's bits and nothing else is
// written.
std::string CheckReferenceBits(const std::vector<OperatorCase>& cases, const Families& families,
                               unsigned seed);

// Checks that a change test finds and stores what reference::StorePixels does, where stored values
// are those of other inputs or close to the new ones, and that a repeated run changes nothing.
std::string CheckChanges(const std::vector<OperatorCase>& cases, const Families& families,
                         unsigned seed);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SPARSE_OPS_CASE_CHECKS_H_
