#ifndef CACHEINF_SPARSE_OPS_CUDA_PIXELS_H_
#define CACHEINF_SPARSE_OPS_CUDA_PIXELS_H_

namespace cacheinf {
namespace cuda {

// The output pixels that a launch computes, the same in every image of a batch: pixel i is
// list[i], or first + i without a list, as row * width + column. A launch writes no other pixel.
struct Pixels {
  const int* list = nullptr;   // on the device; ascending
  const int* count = nullptr;  // on the device; null: all of `most`
  int first = 0;
  int most = 0;  // no more than these are in the list
};

}  // namespace cuda
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CUDA_PIXELS_H_
