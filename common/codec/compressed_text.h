#ifndef CACHEINF_COMMON_CODEC_COMPRESSED_TEXT_H_
#define CACHEINF_COMMON_CODEC_COMPRESSED_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cacheinf {

// Compresses a long text, such as a profile, as one frame of zstd.
std::vector<uint8_t> CompressText(std::string_view text);

// Trusts no byte. Returns null, or one sentence on what is wrong, as with more than `most_bytes`.
const char* DecompressText(std::span<const uint8_t> bytes, size_t most_bytes, std::string* text);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CODEC_COMPRESSED_TEXT_H_
