// A native model file, as robots send it to servers. If the first byte is odd, what follows is the
// description of a file whose lengths and checksum are right: of one with every kind of operator
// or, if its next bit is set, of one whose picture is an 8-bit map.

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "common/model/graph/pack.h"
#include "tests/fuzz/target.h"
#include "tests/model/every_kind.h"
#include "tests/model/packed_bytes.h"

namespace cacheinf::fuzz {
namespace {

PackedBytes Packed(const Graph& graph) {
  const MappedFile file = PackInMemory(graph);
  return {file.data.get(), file.data.get() + file.size};
}

const PackedBytes& GoodFile(bool has_levels) {
  static const PackedBytes of_every_kind = Packed(EveryKind());
  static const PackedBytes with_levels = Packed(GraphWithLevels());
  return has_levels ? with_levels : of_every_kind;
}

std::vector<std::string> FileAndDescriptions() {
  const PackedBytes& file = GoodFile(false);
  return {'\0' + std::string(reinterpret_cast<const char*>(file.data()), file.size()),
          '\1' + DescriptionOf(file), '\3' + DescriptionOf(GoodFile(true))};
}

bool ReadsPack(Bytes bytes) {
  if (bytes.empty()) return false;
  const std::string text = ToText(bytes.subspan(1));
  PackedBytes file(text.size());
  std::memcpy(file.data(), text.data(), text.size());
  if (bytes[0] % 2 == 1) file = WithDescription(GoodFile((bytes[0] & 2) != 0), text);
  return IsRead([&] { PackFromMemory(file, "fuzzed").Validate(); });
}

std::string NumberBytes(int64_t number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

}  // namespace

const Target kPack = {"pack",
                      FileAndDescriptions,
                      {NumberBytes(-1), NumberBytes(0), NumberBytes(1), NumberBytes(255),
                       NumberBytes(int64_t{1} << 31), NumberBytes(int64_t{1} << 32),
                       NumberBytes(INT64_MAX), NumberBytes(INT64_MIN)},
                      ReadsPack};

}  // namespace cacheinf::fuzz
