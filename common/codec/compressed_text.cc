#include "common/codec/compressed_text.h"

#include <zstd.h>

#include <stdexcept>

namespace cacheinf {
namespace {

constexpr int kTextLevel = 9;

}  // namespace

std::vector<uint8_t> CompressText(std::string_view text) {
  std::vector<uint8_t> bytes(ZSTD_compressBound(text.size()));
  const size_t size =
      ZSTD_compress(bytes.data(), bytes.size(), text.data(), text.size(), kTextLevel);
  if (ZSTD_isError(size) != 0) {
    throw std::runtime_error(std::string("zstd: ") + ZSTD_getErrorName(size));
  }
  bytes.resize(size);
  return bytes;
}

const char* DecompressText(std::span<const uint8_t> bytes, size_t most_bytes, std::string* text) {
  const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) {
    return "these bytes are not a compressed text";
  }
  if (size > most_bytes) return "a compressed text is longer than any can be";
  text->resize(size);
  const size_t got = ZSTD_decompress(text->data(), text->size(), bytes.data(), bytes.size());
  if (got != size) return "a compressed text is damaged";
  return nullptr;
}

}  // namespace cacheinf
