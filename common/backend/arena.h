#ifndef CACHEINF_COMMON_BACKEND_ARENA_H_
#define CACHEINF_COMMON_BACKEND_ARENA_H_

#include <cstddef>
#include <span>
#include <vector>

namespace cacheinf {

// Every buffer starts at a multiple of this many floats (64 bytes).
inline constexpr size_t kArenaAlignmentFloats = 16;

// The floats that a buffer occupies.
constexpr size_t AlignedFloats(size_t floats) {
  return (floats + kArenaAlignmentFloats - 1) / kArenaAlignmentFloats * kArenaAlignmentFloats;
}

// A buffer that an arena must hold.
struct BufferRequest {
  size_t floats = 0;
  // Its numbers matter between these steps: written at the first, last read at the last.
  int first_step = 0;
  int last_step = 0;
  // Its memory is never given to another buffer, whatever the steps.
  bool kept = false;
};

struct ArenaLayout {
  std::vector<size_t> offsets;  // in floats, one per request
  size_t floats = 0;            // of the whole arena
  size_t kept_floats = 0;
  // No layout can be smaller: the kept buffers plus the largest sum of the others at one step.
  size_t lower_bound_floats = 0;
};

// Places buffers in one arena so that no two overlap in both memory and time. Takes the largest
// first, and puts each into the tightest gap. Equal requests give equal layouts.
ArenaLayout LayOutArena(std::span<const BufferRequest> requests);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BACKEND_ARENA_H_
