#ifndef CACHEINF_COMMON_BASE_OBJECTIVE_H_
#define CACHEINF_COMMON_BASE_OBJECTIVE_H_

#include <cstdint>

#include "common/base/words.h"

namespace cacheinf {

// What a robot chooses its plans by: the best answer in hand at the deadline, or the quickest one.
enum class Objective : uint8_t { kOnTime, kLatency };
constexpr Words<2> WordsOf(Objective) { return {"on-time", "latency"}; }

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_OBJECTIVE_H_
