#ifndef CACHEINF_COMMON_EXEC_PICTURE_LEVELS_H_
#define CACHEINF_COMMON_EXEC_PICTURE_LEVELS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "common/base/picture_view.h"
#include "common/model/graph/graph.h"
#include "sparse_ops/views.h"

namespace cacheinf {

// Makes the words of a graph's input out of a picture (Graph::levels). REQUIRES: a graph with
// levels, which outlives this.
class PictureLevels {
 public:
  explicit PictureLevels(const Graph& graph);

  // The input's words, valid until the next call. Throws std::invalid_argument if the picture has
  // another size.
  ConstTensorView WordsOf(const PictureView& picture);

  // The picture that these numbers give, valid until the next call. Throws std::invalid_argument if
  // their dims are not those of the picture, and InputError if they are not levels.
  PictureView Read(const ConstTensorView& numbers);

 private:
  const Value& input_;
  const Shape shape_;                                           // of the levels
  std::vector<std::array<uint32_t, kLevels>> words_of_levels_;  // by channel, to be put together
  uint32_t spare_ = 0;                                          // what no channel fills
  std::vector<float> words_;
  std::vector<uint8_t> levels_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_PICTURE_LEVELS_H_
