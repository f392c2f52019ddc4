// A libFuzzer target: any bytes are either a native model file, as robots send it to servers, or
// refused with an InputError. It needs no corpus: now and then it returns to a small valid model
// and damages it, mostly only its description. It repairs lengths and checksum, so that the rest is
// read.

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/file.h"
#include "common/model/graph/pack.h"
#include "common/model/onnx/onnx.h"
#include "tests/model/onnx_seeds.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace cacheinf {
namespace {

constexpr size_t kPart = 64;
constexpr size_t kDescriptionLength = 16;
constexpr size_t kFileLength = 24;
constexpr size_t kChecksum = 32;

std::vector<std::string> PackSeeds() {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("cacheinf_fuzz_" + std::to_string(getpid()));
  std::vector<std::string> seeds;
  for (const std::string& onnx : OnnxSeeds()) {
    WritePack(ImportOnnxBytes(onnx, "seed"), file);
    seeds.push_back(ReadFile(file, uint64_t{1} << 20));
  }
  std::filesystem::remove(file);
  return seeds;
}

std::shared_ptr<std::byte> Aligned(const uint8_t* data, size_t size) {
  constexpr std::align_val_t kAlignment{kPart};
  std::shared_ptr<std::byte> bytes(static_cast<std::byte*>(operator new(size, kAlignment)),
                                   [](std::byte* made) { operator delete(made, kAlignment); });
  std::memcpy(bytes.get(), data, size);
  return bytes;
}

// Changes the description and nothing else: what comes behind it moves along. Where there is none,
// or no room, changes any bytes.
size_t MutateDescription(uint8_t* data, size_t size, size_t max_size) {
  uint64_t length = 0;
  if (size >= kPart) std::memcpy(&length, data + kDescriptionLength, sizeof length);
  const size_t begin_of_blobs = kPart + (length + kPart - 1) / kPart * kPart;
  if (length == 0 || length > size || begin_of_blobs > size || size + kPart > max_size) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  const std::vector<uint8_t> blobs(data + begin_of_blobs, data + size);
  const size_t most = (max_size - kPart - blobs.size()) / kPart * kPart;
  length = LLVMFuzzerMutate(data + kPart, length, most);
  std::memcpy(data + kDescriptionLength, &length, sizeof length);
  size_t end = kPart + length;
  while (end % kPart != 0) data[end++] = 0;
  std::copy(blobs.begin(), blobs.end(), data + end);
  return end + blobs.size();
}

}  // namespace
}  // namespace cacheinf

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  static const std::vector<std::string> seeds = cacheinf::PackSeeds();
  constexpr unsigned int kOneIn = 16;
  const std::string& fresh = seeds[seed / kOneIn % seeds.size()];
  if ((size < cacheinf::kPart || seed % kOneIn == 1) && fresh.size() <= max_size) {
    std::memcpy(data, fresh.data(), fresh.size());
    size = fresh.size();
  }
  size = seed % 4 == 0 ? LLVMFuzzerMutate(data, size, max_size)
                       : cacheinf::MutateDescription(data, size, max_size);
  if (seed % 8 != 0) size -= size % cacheinf::kPart;
  if (seed % 8 == 0 || size < 2 * cacheinf::kPart) return size;
  const uint64_t length = size;
  std::memcpy(data + cacheinf::kFileLength, &length, sizeof length);
  const auto bytes = cacheinf::Aligned(data, size);
  const uint64_t checksum = cacheinf::PackChecksum({bytes.get(), size});
  std::memcpy(data + cacheinf::kChecksum, &checksum, sizeof checksum);
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    cacheinf::ReadPack(cacheinf::Aligned(data, size), size, "fuzzed");
  } catch (const cacheinf::InputError&) {
  }
  return 0;
}
