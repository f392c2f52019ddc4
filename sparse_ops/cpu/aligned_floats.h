#ifndef CACHEINF_SPARSE_OPS_CPU_ALIGNED_FLOATS_H_
#define CACHEINF_SPARSE_OPS_CPU_ALIGNED_FLOATS_H_

#include <cstddef>
#include <memory>
#include <new>

namespace cacheinf {
namespace cpu {

// Numbers, at first zero, at an address that any vector may be loaded from.
class AlignedFloats {
 public:
  AlignedFloats() = default;
  explicit AlignedFloats(size_t count) : memory_(new (kAlignment) float[count]()) {}

  bool empty() const { return memory_ == nullptr; }
  float* data() { return memory_.get(); }
  const float* data() const { return memory_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(float* memory) const { ::operator delete[](memory, kAlignment); }
  };
  std::unique_ptr<float[], Free> memory_;
};

}  // namespace cpu
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CPU_ALIGNED_FLOATS_H_
