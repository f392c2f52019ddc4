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

// Below, an empty string is returned, or what is wrong first. The reference's bits of a case of
// Winograd, and of convolutions of a family that rounds, are those of the family's own dense run,
// which must be as close to the reference as rounding errors allow.

// Whether each of the cases that the families give has the reference's bits, at once and in random
// cuts into rows in random order, and each cut writes nothing outside its rows; whether of each
// with a map, unless the family takes only rows, random active pixels get the reference's bits and
// nothing else is written.
std::string CheckReferenceBits(const std::vector<OperatorCase>& cases, const Families& families,
                               unsigned seed);

// Whether of each that takes a change test, stored values being those of other inputs or close to
// the new ones, a change test finds what reference::StorePixels does and stores the same, and a
// repeated run changes nothing.
std::string CheckChanges(const std::vector<OperatorCase>& cases, const Families& families,
                         unsigned seed);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SPARSE_OPS_CASE_CHECKS_H_
