#ifndef CACHEINF_COMMON_ANSWER_SEEN_PICTURE_H_
#define CACHEINF_COMMON_ANSWER_SEEN_PICTURE_H_

#include "common/answer/answers.h"
#include "common/model/picture.h"
#include "sparse_ops/homography.h"

// Where in a frame lies what the network saw: it may have seen a canvas instead of the frame.

namespace cacheinf {

struct SeenPicture {
  const PictureFit* fit = nullptr;  // of the frame to the model's picture; null: a tensor
  // Of the model's picture, counted from the centre of its first pixel.
  Homography model_from_seen;

  // The smallest box in the frame that holds the network's box; corners count from the edge of the
  // first pixel.
  Detection InFrame(const Detection& seen) const;

  Keypoint InFrame(const Keypoint& seen) const;

  // A map over the model's picture, of its size: every pixel has the class of what lies in its
  // middle. What was out of view has the class at the edge; bars beside the frame stay.
  ClassMap InModel(const ClassMap& seen, int model_width, int model_height) const;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_ANSWER_SEEN_PICTURE_H_
