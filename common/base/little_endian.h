#ifndef CACHEINF_COMMON_BASE_LITTLE_ENDIAN_H_
#define CACHEINF_COMMON_BASE_LITTLE_ENDIAN_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

// Integers on the wire, whatever the machine.

namespace cacheinf {

template <typename Integer>
void PutLittleEndian(Integer value, uint8_t* bytes) {
  const auto bits = static_cast<std::make_unsigned_t<Integer>>(value);
  for (size_t i = 0; i < sizeof(Integer); ++i) bytes[i] = static_cast<uint8_t>(bits >> (8 * i));
}

template <typename Integer>
void AppendLittleEndian(Integer value, std::vector<uint8_t>* bytes) {
  bytes->resize(bytes->size() + sizeof(Integer));
  PutLittleEndian(value, bytes->data() + bytes->size() - sizeof(Integer));
}

// Reads sizeof(Integer) bytes.
template <typename Integer>
Integer LittleEndianAt(const uint8_t* bytes) {
  using Bits = std::make_unsigned_t<Integer>;
  Bits bits = 0;
  for (size_t i = 0; i < sizeof(Integer); ++i) {
    bits = static_cast<Bits>(bits | static_cast<Bits>(static_cast<Bits>(bytes[i]) << (8 * i)));
  }
  return static_cast<Integer>(bits);
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_LITTLE_ENDIAN_H_
