#ifndef CACHEINF_SPARSE_OPS_CUDA_EMULATED_PLACE_H_
#define CACHEINF_SPARSE_OPS_CUDA_EMULATED_PLACE_H_

#include <cstring>
#include <string>

namespace cacheinf::cuda {

// Where a kernel calls its thread.
struct Place {
  const char* file;
  int line;
};
// For a function's last parameter: the line of the call. NOLINTNEXTLINE(bugprone-macro-parentheses)
#define CACHEINF_PLACE ::cacheinf::cuda::Place place = {__builtin_FILE(), __builtin_LINE()}

inline bool IsSame(const char* a, const char* b) { return a == b || std::strcmp(a, b) == 0; }
inline bool IsSame(const Place& a, const Place& b) {
  return a.line == b.line && IsSame(a.file, b.file);
}

inline std::string NameOf(const Place& place) {
  const std::string file = place.file;
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(place.line);
}

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_EMULATED_PLACE_H_
