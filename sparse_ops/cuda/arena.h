#ifndef CACHEINF_SPARSE_OPS_CUDA_ARENA_H_
#define CACHEINF_SPARSE_OPS_CUDA_ARENA_H_

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <vector>

#include "sparse_ops/cuda/device.h"

namespace cacheinf::cuda {

// Gives out pieces of a few large allocations, which it keeps. Buffer<Arena<Device>, T> owns such a
// piece. A freed piece may be given out again at once: with more than one stream, wait first.
template <class Device>
class Arena {
 public:
  explicit Arena(Device& device) : device_(device) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() {
    for (unsigned char* block : blocks_) device_.Free(block);
  }

  // How much of the device's memory it holds. Never shrinks.
  size_t bytes() const { return bytes_; }

  // Aligned to 256. Throws OutOfDeviceMemory. Leaves a gap after every piece, so that a device that
  // checks addresses sees an overrun.
  void* Allocate(size_t bytes) {
    const size_t size = (bytes / kUnit + 2) * kUnit;
    auto place = std::find_if(free_.begin(), free_.end(),
                              [size](const auto& piece) { return piece.second >= size; });
    if (place == free_.end()) place = AddBlock(size);
    unsigned char* const first = place->first;
    const size_t left = place->second - size;
    free_.erase(place);
    if (left > 0) free_[first + size] = left;
    used_[first] = size;
    device_.Renew(first, bytes);
    return first;
  }

  // REQUIRES: null, or memory that Allocate returned.
  void Free(void* memory) {
    if (memory == nullptr) return;
    const auto used = used_.find(static_cast<unsigned char*>(memory));
    device_.Retire(used->first, used->second);
    auto piece = free_.emplace(used->first, used->second).first;
    used_.erase(used);
    JoinNext(piece);
    if (piece != free_.begin()) JoinNext(std::prev(piece));
  }

 private:
  static constexpr size_t kUnit = 256;
  // Sizes of pieces, by where they begin.
  using Pieces = std::map<unsigned char*, size_t>;

  typename Pieces::iterator AddBlock(size_t size) {
    size = std::max(size, Device::kBlockBytes);
    auto* const block = static_cast<unsigned char*>(device_.Allocate(size));
    blocks_.push_back(block);
    bytes_ += size;
    device_.Retire(block, size);
    return free_.emplace(block, size).first;
  }

  void JoinNext(typename Pieces::iterator piece) {
    const auto next = std::next(piece);
    const bool is_one = next != free_.end() && piece->first + piece->second == next->first &&
                        std::find(blocks_.begin(), blocks_.end(), next->first) == blocks_.end();
    if (!is_one) return;
    piece->second += next->second;
    free_.erase(next);
  }

  Device& device_;
  std::vector<unsigned char*> blocks_;
  size_t bytes_ = 0;
  Pieces free_;
  Pieces used_;
};

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_ARENA_H_
