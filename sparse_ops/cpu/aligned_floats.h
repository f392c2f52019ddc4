#ifndef CACHEINF_SPARSE_OPS_CPU_ALIGNED_FLOATS_H_
#define CACHEINF_SPARSE_OPS_CPU_ALIGNED_FLOATS_H_

#include <cstddef>
#include <memory>
#include <new>

namespace cacheinf::cpu {

// Numbers that start as zero, aligned for any vector. Large blocks lie in large pages if the system
// has them.
class AlignedFloats {
 public:
  AlignedFloats() = default;
  explicit AlignedFloats(size_t count);

  bool empty() const { return memory_ == nullptr; }
  float* data() { return memory_.get(); }
  const float* data() const { return memory_.get(); }

 private:
  struct Free {
    std::align_val_t alignment;
    void operator()(float* memory) const { ::operator delete[](memory, alignment); }
  };
  std::unique_ptr<float[], Free> memory_;
};

}  // namespace cacheinf::cpu

#endif  // CACHEINF_SPARSE_OPS_CPU_ALIGNED_FLOATS_H_
