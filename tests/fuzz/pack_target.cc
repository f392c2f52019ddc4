// A native model file, as robots send it to servers. If the first byte is odd, what follows is the
// description of a file whose lengths and checksum are right.

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "common/model/graph/pack.h"
#include "tests/fuzz/target.h"
#include "tests/model/every_kind.h"
#include "tests/model/packed_bytes.h"

namespace cacheinf::fuzz {
namespace {

const PackedBytes& GoodFile() {
  static const PackedBytes file = [] {
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("cacheinf_fuzz_" + std::to_string(getpid()));
    WritePack(EveryKind(), path);
    PackedBytes bytes = ReadPacked(path);
    std::filesystem::remove(path);
    return bytes;
  }();
  return file;
}

std::vector<std::string> FileAndDescription() {
  const PackedBytes& file = GoodFile();
  return {'\0' + std::string(reinterpret_cast<const char*>(file.data()), file.size()),
          '\1' + DescriptionOf(file)};
}

bool ReadsPack(Bytes bytes) {
  if (bytes.empty()) return false;
  const std::string text = ToText(bytes.subspan(1));
  PackedBytes file(text.size());
  std::memcpy(file.data(), text.data(), text.size());
  if (bytes[0] % 2 == 1) file = WithDescription(GoodFile(), text);
  return IsRead([&] { PackFromMemory(file, "fuzzed").Validate(); });
}

std::string NumberBytes(int64_t number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

}  // namespace

const Target kPack = {"pack",
                      FileAndDescription,
                      {NumberBytes(-1), NumberBytes(0), NumberBytes(1), NumberBytes(255),
                       NumberBytes(int64_t{1} << 31), NumberBytes(int64_t{1} << 32),
                       NumberBytes(INT64_MAX), NumberBytes(INT64_MIN)},
                      ReadsPack};

}  // namespace cacheinf::fuzz
