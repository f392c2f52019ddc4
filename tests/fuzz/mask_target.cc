// A mask, which takes no more bytes when it is encoded again. If the first byte is odd, the size in
// the header is made right, so that the payload is read.

#include <string>
#include <vector>

#include "sparse_ops/mask/wire.h"
#include "tests/fuzz/target.h"
#include "tests/sparse_ops/mask/wire_seeds.h"

namespace cacheinf::fuzz {
namespace {

std::vector<std::string> Masks() {
  std::vector<std::string> all;
  for (const std::string& mask : MaskSeeds()) {
    all.push_back('\0' + mask);
    all.push_back('\1' + mask);
  }
  return all;
}

const char* Decode(const std::string& bytes, Mask* mask) {
  constexpr size_t kMostWords = 1 << 14;
  const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
  return DecodeMask(exact.data(), exact.size(), kMostWords, mask);
}

bool ReadsMask(Bytes bytes) {
  constexpr size_t kHeader = 16;
  constexpr size_t kPayloadBytes = 12;  // where the header says how many they are
  if (bytes.empty()) return false;
  std::string text = ToText(bytes.subspan(1));
  if (bytes[0] % 2 == 1 && text.size() >= kHeader) {
    for (size_t i = 0; i < 4; ++i) {
      text[kPayloadBytes + i] = static_cast<char>((text.size() - kHeader) >> (8 * i));
    }
  }
  Mask mask;
  if (Decode(text, &mask) != nullptr) return false;
  const std::string encoded = Encoded(mask);
  Promise(encoded.size() <= text.size(), "a mask takes more bytes than before");
  Mask again;
  Promise(Decode(encoded, &again) == nullptr && AreEqual(mask, again), "a mask does not come back");
  return true;
}

}  // namespace

const Target kMask = {
    "mask", Masks, {std::string(4, '\0'), std::string(4, '\xff'), "M\1\2", "\x80"}, ReadsMask};

}  // namespace cacheinf::fuzz
