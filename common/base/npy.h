#ifndef CACHEINF_COMMON_BASE_NPY_H_
#define CACHEINF_COMMON_BASE_NPY_H_

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// Arrays in NumPy's file format (.npy): 32-bit floats or 64-bit integers, little-endian, in C
// order.

namespace cacheinf {

struct NpyArray {
  std::vector<int64_t> shape;
  std::variant<std::vector<float>, std::vector<int64_t>> values;
};

// Throws InputError, naming the file, if it is not such an array or its size contradicts its
// header. Allocates no more than the file's length.
NpyArray ReadNpy(const std::filesystem::path& path);

// The same from a file's bytes; `name` is for messages.
NpyArray ParseNpy(std::string_view bytes, std::string_view name);

// The start of a file whose elements have this type, such as "<f4".
std::string NpyHead(std::string_view type, std::span<const int64_t> shape);

// REQUIRES: as many values as the shape has. Throws InputError if the file cannot be written.
void WriteNpy(const std::filesystem::path& path, std::span<const int64_t> shape,
              std::span<const float> values);
void WriteNpy(const std::filesystem::path& path, std::span<const int64_t> shape,
              std::span<const int64_t> values);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_NPY_H_
