#include "common/backend/arena.h"

#include <algorithm>
#include <limits>
#include <map>

namespace cacheinf {
namespace {

bool MeetInTime(const BufferRequest& a, const BufferRequest& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

size_t LargestSumAtOneStep(std::span<const BufferRequest> requests) {
  std::map<int, ptrdiff_t> change_at_step;
  for (const BufferRequest& request : requests) {
    if (request.kept) continue;
    change_at_step[request.first_step] += static_cast<ptrdiff_t>(AlignedFloats(request.floats));
    change_at_step[request.last_step + 1] -= static_cast<ptrdiff_t>(AlignedFloats(request.floats));
  }
  ptrdiff_t sum = 0;
  ptrdiff_t largest = 0;
  for (const auto& [step, change] : change_at_step) {
    sum += change;
    largest = std::max(largest, sum);
  }
  return static_cast<size_t>(largest);
}

// Shared buffers placed so far, in the order of their offsets.
class SharedBuffers {
 public:
  explicit SharedBuffers(std::span<const BufferRequest> requests) : requests_(requests) {}

  // The start of the smallest gap that fits the request, between buffers alive at the same time.
  size_t TightestOffset(const BufferRequest& request) const {
    size_t best_offset = 0;
    size_t best_gap = std::numeric_limits<size_t>::max();
    size_t gap_begin = 0;
    for (const Placed& placed : placed_) {
      if (!MeetInTime(request, requests_[placed.request])) continue;
      const bool fits = placed.begin >= gap_begin + AlignedFloats(request.floats);
      if (fits && placed.begin - gap_begin < best_gap) {
        best_gap = placed.begin - gap_begin;
        best_offset = gap_begin;
      }
      gap_begin = std::max(gap_begin, placed.end);
    }
    return best_gap == std::numeric_limits<size_t>::max() ? gap_begin : best_offset;
  }

  void Place(size_t request, size_t offset) {
    const Placed placed{offset, offset + AlignedFloats(requests_[request].floats), request};
    const auto position = std::ranges::upper_bound(
        placed_, placed, [](const Placed& a, const Placed& b) { return a.begin < b.begin; });
    placed_.insert(position, placed);
    end_ = std::max(end_, placed.end);
  }

  size_t end() const { return end_; }

 private:
  struct Placed {
    size_t begin;
    size_t end;
    size_t request;
  };
  std::span<const BufferRequest> requests_;
  std::vector<Placed> placed_;
  size_t end_ = 0;
};

}  // namespace

ArenaLayout LayOutArena(std::span<const BufferRequest> requests) {
  ArenaLayout layout;
  layout.offsets.resize(requests.size());

  std::vector<size_t> shared;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].kept) {
      layout.offsets[i] = layout.kept_floats;
      layout.kept_floats += AlignedFloats(requests[i].floats);
    } else {
      shared.push_back(i);
    }
  }

  std::ranges::stable_sort(
      shared, [&](size_t a, size_t b) { return requests[a].floats > requests[b].floats; });
  SharedBuffers buffers(requests);
  for (size_t i : shared) {
    const size_t offset = buffers.TightestOffset(requests[i]);
    buffers.Place(i, offset);
    layout.offsets[i] = layout.kept_floats + offset;
  }

  layout.floats = layout.kept_floats + buffers.end();
  layout.lower_bound_floats = layout.kept_floats + LargestSumAtOneStep(requests);
  return layout;
}

}  // namespace cacheinf
