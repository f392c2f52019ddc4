#ifndef CACHEINF_SPARSE_OPS_CUDA_PIXELS_H_
#define CACHEINF_SPARSE_OPS_CUDA_PIXELS_H_

namespace cacheinf::cuda {

// The output pixels that a launch computes, in every image of a batch. Pixel i is list[i], or
// first + i without a list, and stands for row * width + column. A launch writes no other pixel.
struct Pixels {
  const int* list = nullptr;   // on the device; ascending
  const int* count = nullptr;  // on the device; null: `most`
  int first = 0;
  int most = 0;  // the count is never larger
};

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_PIXELS_H_
