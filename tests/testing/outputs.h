#ifndef CACHEINF_TESTS_TESTING_OUTPUTS_H_
#define CACHEINF_TESTS_TESTING_OUTPUTS_H_

#include "common/answer/outputs.h"
#include "common/base/picture_view.h"
#include "common/exec/model_state.h"

namespace cacheinf {

// All of a frame's outputs, whoever computed them.
inline OutputNumbers OutputsOf(const FrameOutputs& outputs) {
  OutputNumbers numbers;
  ReadOutputs(outputs, numbers);
  return numbers;
}

// Those of a dense run of this picture.
inline OutputNumbers DenseOutputs(ModelState& dense, const PictureView& picture) {
  dense.SetPicture(picture);
  dense.Run();
  return OutputsOf(dense);
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_OUTPUTS_H_
