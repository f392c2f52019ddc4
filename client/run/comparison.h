#ifndef CACHEINF_CLIENT_RUN_COMPARISON_H_
#define CACHEINF_CLIENT_RUN_COMPARISON_H_

#include <string>

#include "common/answer/answers.h"
#include "common/model/picture.h"
#include "common/source/frame_source.h"

namespace cacheinf {

// Writes a PNG file for people to judge an answer by. Shows, from left to right, the frame, the
// answer drawn over it, the true class of every pixel if the source knows it, and what was
// recomputed if not null (DrawRecomputed). Throws InputError if the file cannot be written.
// REQUIRES: a frame that is a picture.
void WriteComparison(const std::string& path, const Frame& frame, const PictureFit& fit,
                     const AnswerContent& content, const AnswerReader& reader,
                     const ClassMap* recomputed = nullptr);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_RUN_COMPARISON_H_
