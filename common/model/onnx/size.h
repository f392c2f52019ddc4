#ifndef CACHEINF_COMMON_MODEL_ONNX_SIZE_H_
#define CACHEINF_COMMON_MODEL_ONNX_SIZE_H_

#include <cstdint>
#include <string_view>

namespace cacheinf {

// What any file may take, whatever its size.
inline constexpr int64_t kFreeBytes = int64_t{256} << 20;

// Scans an ONNX file's bytes without building anything. Throws InputError if its parts would take
// more than kFreeBytes plus twice the file's size once parsed and imported (a node takes two bytes
// in a file, and hundreds in memory), or if the bytes are not messages at all. REQUIRES: at most
// 2^31 - 1 bytes.
void CheckParsedSize(std::string_view bytes);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_ONNX_SIZE_H_
