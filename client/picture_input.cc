#include "client/picture_input.h"

#include <algorithm>

#include "common/model/picture.h"

namespace cacheinf {

void PictureInput::Set(const PictureView& picture, Executor& executor) {
  const TensorView numbers = NumbersOf(picture);
  ToFloats(picture.pixels, numbers);
  executor.SetInput(0, numbers);
}

void PictureInput::Set(const PictureView& picture, const ActivePixels& pixels, Executor& executor) {
  const TensorView numbers = NumbersOf(picture);
  std::for_each_n(pixels.runs, pixels.run_count, [&](const PixelRun& run) {
    const int64_t first = run.row * picture.row_bytes() + int64_t{run.begin} * picture.channels;
    const int64_t count = int64_t{run.end - run.begin} * picture.channels;
    std::transform(picture.pixels + first, picture.pixels + first + count, numbers.data + first,
                   [](uint8_t level) { return static_cast<float>(level); });
  });
  executor.SetInput(0, numbers, pixels);
}

TensorView PictureInput::NumbersOf(const PictureView& picture) {
  numbers_.resize(picture.byte_count());
  return {numbers_.data(),
          4,
          {1, picture.channels, picture.height, picture.width},
          {picture.row_bytes() * picture.height, 1, picture.row_bytes(), picture.channels}};
}

}  // namespace cacheinf
