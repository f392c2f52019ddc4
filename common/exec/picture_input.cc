#include "common/exec/picture_input.h"

#include "common/model/picture.h"

namespace cacheinf {

void PictureInput::Set(const PictureView& picture, ModelState& state) {
  numbers_.resize(picture.byte_count());
  const TensorView numbers = {
      numbers_.data(),
      4,
      {1, picture.channels, picture.height, picture.width},
      {picture.row_bytes() * picture.height, 1, picture.row_bytes(), picture.channels}};
  ToFloats(picture.pixels, numbers);
  state.SetInput(0, numbers);
}

}  // namespace cacheinf
