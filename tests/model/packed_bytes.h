#ifndef CACHEINF_TESTS_MODEL_PACKED_BYTES_H_
#define CACHEINF_TESTS_MODEL_PACKED_BYTES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "common/base/file.h"
#include "common/model/graph/pack.h"

// A native model file as bytes that can be changed.

namespace cacheinf {

using PackedBytes = std::vector<std::byte>;

inline PackedBytes ReadPacked(const std::filesystem::path& path) {
  const std::string text = ReadFile(path);
  PackedBytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

inline Graph PackFromMemory(const PackedBytes& bytes, const std::string& name) {
  auto* memory = static_cast<std::byte*>(::operator new (bytes.size(), std::align_val_t{64}));
  std::copy(bytes.begin(), bytes.end(), memory);
  std::shared_ptr<const std::byte> owner(memory, [](const std::byte* data) {
    ::operator delete (const_cast<std::byte*>(data), std::align_val_t{64});
  });
  return ReadPack(owner, bytes.size(), name);
}

// Gives a changed file the checksum that hides the change, so that later checks are tested.
inline void Reseal(PackedBytes& bytes) {
  constexpr size_t kChecksumOffset = 32;
  const uint64_t checksum = PackChecksum(bytes);
  std::memcpy(bytes.data() + kChecksumOffset, &checksum, sizeof(checksum));
}

inline std::string DescriptionOf(const PackedBytes& file) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, file.data() + 16, sizeof(bytes));
  return {reinterpret_cast<const char*>(file.data()) + 64, bytes};
}

// The file with another description, sealed.
inline PackedBytes WithDescription(const PackedBytes& file, const std::string& text) {
  const size_t blobs = 64 + (DescriptionOf(file).size() + 63) / 64 * 64;
  PackedBytes bytes(file.begin(), file.begin() + 64);
  bytes.resize(64 + (text.size() + 63) / 64 * 64);
  std::memcpy(bytes.data() + 64, text.data(), text.size());
  bytes.insert(bytes.end(), file.begin() + static_cast<std::ptrdiff_t>(blobs), file.end());
  const uint64_t sizes[2] = {text.size(), bytes.size()};
  std::memcpy(bytes.data() + 16, sizes, sizeof(sizes));
  Reseal(bytes);
  return bytes;
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_MODEL_PACKED_BYTES_H_
