#include "tests/link/exchange.h"

#include <chrono>
#include <cstring>

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kPatience(20000);

}  // namespace

uint64_t RandomPackets::Number() {
  state_ ^= state_ << 13;
  state_ ^= state_ >> 7;
  state_ ^= state_ << 17;
  return state_;
}

std::vector<uint8_t> RandomPackets::Next() {
  const uint64_t largest = Number() % 4 == 0 ? Link::kLargestPacket : 256;
  const uint64_t size = Number() % 16 == 0 ? largest : Number() % largest + 1;
  std::vector<uint8_t> packet(size);
  for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
    const uint64_t number = Number();
    std::memcpy(packet.data() + i, &number, std::min(sizeof(number), size - i));
  }
  return packet;
}

std::string Exchange(Link* link, int packets, uint64_t own_seed, uint64_t peer_seed) {
  RandomPackets own(own_seed);
  RandomPackets expected(peer_seed);
  std::vector<uint8_t> packet = own.Next();
  std::vector<uint8_t> arrived;
  int sent = 0;
  int received = 0;
  const auto until = steady_clock::now() + kPatience;
  while (sent < packets || received < packets) {
    const std::string fault = link->fault();
    bool has_moved = false;
    if (sent < packets && link->Send(packet)) {
      ++sent;
      packet = own.Next();
      has_moved = true;
    }
    if (received < packets && link->Receive(&arrived)) {
      if (arrived != expected.Next()) return "packet " + std::to_string(received) + " differs";
      ++received;
      has_moved = true;
    }
    if (has_moved) continue;
    const std::string so_far =
        std::to_string(sent) + " sent, " + std::to_string(received) + " received";
    if (!fault.empty()) return fault + ": " + so_far;
    if (steady_clock::now() > until) return "took too long: " + so_far;
    link->Wait(milliseconds(100));
  }
  return "";
}

std::string FaultOf(Link* link) {
  const auto until = steady_clock::now() + milliseconds(5000);
  std::vector<uint8_t> packet;
  while (link->fault().empty() && steady_clock::now() < until) {
    if (!link->Receive(&packet)) link->Wait(milliseconds(20));
  }
  return link->fault();
}

}  // namespace cacheinf
