#ifndef CACHEINF_SPARSE_OPS_VIEWS_H_
#define CACHEINF_SPARSE_OPS_VIEWS_H_

#include <array>
#include <cstdint>
#include <type_traits>

namespace cacheinf {

// Half-open range of rows, columns or channels.
struct Range {
  int begin = 0;
  int end = 0;

  constexpr int size() const { return end > begin ? end - begin : 0; }
  constexpr bool empty() const { return end <= begin; }
  friend constexpr bool operator==(Range a, Range b) {
    return a.begin == b.begin && a.end == b.end;
  }
  friend constexpr bool operator!=(Range a, Range b) { return !(a == b); }
};

// A channels-last picture or feature map in somebody else's memory. Channels of a pixel are
// contiguous; between pixels and rows there may be gaps, so that a map can be a channel slice of a
// wider one (a concatenation written in place) or the inside of a padded one.
// Strides count floats.
template <typename T>
struct BasicImageView {
  T* data = nullptr;
  int batch = 0;
  int height = 0;
  int width = 0;
  int channels = 0;
  int64_t batch_stride = 0;
  int64_t row_stride = 0;
  int64_t pixel_stride = 0;

  constexpr T* Pixel(int n, int y, int x) const {
    return data + n * batch_stride + y * row_stride + x * pixel_stride;
  }

  operator BasicImageView<const T>() const {
    return {data, batch, height, width, channels, batch_stride, row_stride, pixel_stride};
  }
};
using ImageView = BasicImageView<float>;
using ConstImageView = BasicImageView<const float>;

// A tensor of any rank in somebody else's memory. `dims` are in the model's logical order (a
// feature map is batch, channels, height, width), `strides` in floats; a feature map's channel
// stride is 1.
template <typename T>
struct BasicTensorView {
  static constexpr int kMaxRank = 6;

  T* data = nullptr;
  int rank = 0;
  std::array<int64_t, kMaxRank> dims = {};
  std::array<int64_t, kMaxRank> strides = {};

  int64_t Count() const {
    int64_t count = 1;
    for (int i = 0; i < rank; ++i) count *= dims[i];
    return count;
  }

  operator BasicTensorView<const T>() const { return {data, rank, dims, strides}; }
};
using TensorView = BasicTensorView<float>;
using ConstTensorView = BasicTensorView<const float>;

// REQUIRES: rank 4 with a channel stride of 1 (or one channel).
template <typename T>
BasicImageView<T> AsImage(const BasicTensorView<T>& tensor) {
  return {tensor.data,
          static_cast<int>(tensor.dims[0]),
          static_cast<int>(tensor.dims[2]),
          static_cast<int>(tensor.dims[3]),
          static_cast<int>(tensor.dims[1]),
          tensor.strides[0],
          tensor.strides[2],
          tensor.strides[3]};
}

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_VIEWS_H_
