#ifndef CACHEINF_CLIENT_ANSWER_OVERLAY_H_
#define CACHEINF_CLIENT_ANSWER_OVERLAY_H_

#include <array>
#include <cstdint>
#include <memory>
#include <opencv2/core/mat.hpp>
#include <string>

#include "common/answer/answers.h"
#include "common/model/picture.h"

namespace cacheinf {

// A colour for each class, blue, green, red: bright, and far from those of the classes around it.
std::array<uint8_t, 3> ClassColour(int index);

// In colour, to draw on.
cv::Mat ColourCopy(const Picture& picture);

// Draws an answer over its frame: classes of pixels blended in, boxes with their names, keypoints
// as dots, the best classes as text. Gives a picture of the frame's size.
Picture DrawAnswer(const Picture& frame, const PictureFit& fit, const AnswerContent& content,
                   const AnswerReader& reader);

// Outlines in white where at least half of the work was done (recomputed.h), on a picture of the
// frame's size that may hold other drawings.
Picture OutlineRecomputed(const Picture& drawn, const PictureFit& fit, const ClassMap& recomputed);

// The frame, dark where results were kept and bright where they were recomputed.
Picture DrawRecomputed(const Picture& frame, const PictureFit& fit, const ClassMap& recomputed);

// Writes drawn answers as a video (MPEG-4). The first frame decides its size; later ones are
// resized.
class OverlayVideo {
 public:
  OverlayVideo(std::string path, double frame_rate);
  ~OverlayVideo();

  // Throws InputError if the file cannot be written.
  void Write(const Picture& drawn);

  // Call it after the last frame. The codec's library does not report a full disk: throws
  // InputError if the file cannot be read as a video.
  void Close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_ANSWER_OVERLAY_H_
