#ifndef CACHEINF_TESTS_LINK_EXCHANGE_H_
#define CACHEINF_TESTS_LINK_EXCHANGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/link/link.h"

namespace cacheinf {

// Packets of random sizes and bytes; the same seed gives the same ones.
class RandomPackets {
 public:
  explicit RandomPackets(uint64_t seed) : state_(seed * 2 + 1) {}
  std::vector<uint8_t> Next();

 private:
  uint64_t Number();

  uint64_t state_;
};

constexpr uint64_t kRobotSeed = 1;
constexpr uint64_t kServerSeed = 2;

// Sends and receives so many packets at the same time and compares what came. Empty if all is well;
// else what is wrong.
std::string Exchange(Link* link, int packets, uint64_t own_seed, uint64_t peer_seed);

// Waits until the link has a fault, or 5 seconds.
std::string FaultOf(Link* link);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_LINK_EXCHANGE_H_
