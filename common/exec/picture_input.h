#ifndef CACHEINF_COMMON_EXEC_PICTURE_INPUT_H_
#define CACHEINF_COMMON_EXEC_PICTURE_INPUT_H_

#include <vector>

#include "common/base/picture_view.h"
#include "common/exec/model_state.h"

namespace cacheinf {

// Gives pictures to executors of a graph that takes one, as the numbers 0 to 255.
class PictureInput {
 public:
  // REQUIRES: a picture of the graph's size.
  void Set(const PictureView& picture, ModelState& state);

 private:
  std::vector<float> numbers_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_PICTURE_INPUT_H_
