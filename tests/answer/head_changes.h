#ifndef CACHEINF_TESTS_ANSWER_HEAD_CHANGES_H_
#define CACHEINF_TESTS_ANSWER_HEAD_CHANGES_H_

#include <span>

#include "tests/answer/planted_heads.h"

// Ways in which a network's outputs, and what is said about them, may differ from what is expected.

namespace cacheinf {

struct HeadChange {
  const char* name;
  // False: it cannot be made of this head.
  bool (*apply)(PlantedHead* head, HeadRandom& random);
  // Why no number tells the changed head from a right one, if none does.
  const char* untold = nullptr;
};

// After these a head is still what its kind says.
std::span<const HeadChange> EquivalentChanges();

// After these it is not, or may not be.
std::span<const HeadChange> HeadMutations();

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_ANSWER_HEAD_CHANGES_H_
