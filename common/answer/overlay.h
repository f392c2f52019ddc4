#ifndef CACHEINF_COMMON_ANSWER_OVERLAY_H_
#define CACHEINF_COMMON_ANSWER_OVERLAY_H_

#include <array>
#include <cstdint>
#include <opencv2/core/mat.hpp>
#include <string>

#include "common/answer/answers.h"
#include "common/model/picture.h"

namespace cacheinf {

// Returns a bright colour (blue, green, red) for a class, far from those of neighbouring classes.
std::array<uint8_t, 3> ClassColour(int index);

// Returns a copy in colour to draw on.
cv::Mat ColourCopy(const Picture& picture);

// Draws an answer over its frame: pixel classes blended in, boxes with names, keypoints as dots,
// best classes as text. Returns a picture of the frame's size.
Picture DrawAnswer(const Picture& frame, const PictureFit& fit, const AnswerContent& content,
                   const AnswerReader& reader);

// Outlines in white where at least half of the work was done (recomputed.h). `drawn` has the
// frame's size and may hold other drawings.
Picture OutlineRecomputed(const Picture& drawn, const PictureFit& fit, const ClassMap& recomputed);

// Returns the frame, dark where results were kept and bright where they were recomputed.
Picture DrawRecomputed(const Picture& frame, const PictureFit& fit, const ClassMap& recomputed);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_ANSWER_OVERLAY_H_
