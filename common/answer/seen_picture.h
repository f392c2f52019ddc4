#ifndef CACHEINF_COMMON_ANSWER_SEEN_PICTURE_H_
#define CACHEINF_COMMON_ANSWER_SEEN_PICTURE_H_

#include "common/answer/answers.h"
#include "common/model/picture.h"
#include "sparse_ops/homography.h"

// Where the network's picture lies in a frame; it may be a canvas instead of the frame.

namespace cacheinf {

struct SeenPicture {
  const PictureFit* fit = nullptr;  // of the frame to the model's picture; null: a tensor
  // Between pixels of the model's picture, counted from the centre of the first.
  Homography model_from_seen;

  // The smallest box in the frame that holds the network's box; corners count from the edge of the
  // first pixel.
  Detection InFrame(const Detection& seen) const;

  Keypoint InFrame(const Keypoint& seen) const;          // clipped to the frame
  Keypoint InFrameOrBeyond(const Keypoint& seen) const;  // where it lies

  // Where a point of the frame lies in the network's picture.
  Keypoint InNetworkPicture(double frame_x, double frame_y) const;

  // Returns a map of the model's size; each pixel has the class of what lies in its middle. What
  // was out of view has the class at the edge; bars beside the frame stay.
  ClassMap InModel(const ClassMap& seen, int model_width, int model_height) const;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_ANSWER_SEEN_PICTURE_H_
