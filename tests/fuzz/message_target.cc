// A message of robot and server.

#include <vector>

#include "tests/fuzz/target.h"
#include "tests/pair/message_seeds.h"

namespace cacheinf::fuzz {
namespace {

bool ReadsMessage(Bytes bytes) {
  const std::string fault = message::VisitMessage(bytes, [](const auto& message) {
    const std::vector<uint8_t> written = message::Encode(message);
    auto again = message;
    Promise(message::Decode(written, &again).empty() && message::Encode(again) == written,
            "a message does not come back");
  });
  return fault.empty();
}

}  // namespace

const Target kMessage = {"message", message::MessageSeeds, {}, ReadsMessage};

}  // namespace cacheinf::fuzz
