#ifndef CACHEINF_TESTS_SCHEDULER_RANDOM_NETWORKS_H_
#define CACHEINF_TESTS_SCHEDULER_RANDOM_NETWORKS_H_

#include <cstdint>

#include "common/plan/cost_model.h"
#include "tests/plan/profiles.h"

namespace cacheinf {

// An invented profiled network, with branches, strides, halos and sometimes an end that is not
// local, and the situation in which it runs. Both sides are about as fast and the link is narrow,
// so sharing rows often pays.
struct RandomNetwork {
  ProfilePair pair;
  Situation situation;
};

// Leaves at most `most_places` places for cuts. Equal seeds give equal networks.
RandomNetwork MakeRandomNetwork(uint32_t seed, size_t most_places);

// As many operators as Kapao has (a detector of 960 × 1280 pictures), with its costs and sizes.
ProfilePair MakeKapaoLike();

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SCHEDULER_RANDOM_NETWORKS_H_
