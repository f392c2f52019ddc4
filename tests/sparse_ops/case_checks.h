#ifndef CACHEINF_TESTS_SPARSE_OPS_CASE_CHECKS_H_
#define CACHEINF_TESTS_SPARSE_OPS_CASE_CHECKS_H_

#include <functional>
#include <string>
#include <vector>

#include "tests/sparse_ops/cases.h"

// What every family of kernels must do with the cases of a table.

namespace cacheinf {

// Equal bits, all NaNs being equal. Returns an empty string, or says where they differ.
std::string Difference(const std::vector<float>& actual, const std::vector<float>& expected);

// Everything that the two cases wrote: the same.
std::string Difference(const PreparedCase& actual, const PreparedCase& expected);

// Calls check(family) for every family to be checked: of each target and number of threads, say.
using CheckFamily = std::function<void(const OperatorFamily&)>;
using Families = std::function<void(const CheckFamily& check)>;

Families OnlyFamily(const OperatorFamily& family);

// Below, the reference's bits of a case of Winograd are those of the family's own dense run, which
// is expected to be as close to the reference as rounding errors allow. Cases that keep state are
// left to the check of their own.

// Expects of each of the cases that the families give the reference's bits, at once and in random
// cuts into rows in random order, and that each cut writes nothing outside its rows; of each with
// a map, unless the family takes only rows, that random active pixels get the reference's bits and
// that nothing else is written.
void ExpectReferenceBits(const std::vector<OperatorCase>& cases, const Families& families,
                         unsigned seed);

// Expects of each that keeps state that, call after call with random active pixels, the families
// give the reference's bits.
void ExpectReferenceBitsCallAfterCall(const std::vector<OperatorCase>& cases,
                                      const Families& families, unsigned seed);

// Expects of each that takes a change test, stored values being those of other inputs or close to
// the new ones, that a change test finds what reference::StorePixels does and stores the same, and
// that a repeated run changes nothing.
void ExpectChangesAsTheReference(const std::vector<OperatorCase>& cases, const Families& families,
                                 unsigned seed);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SPARSE_OPS_CASE_CHECKS_H_
