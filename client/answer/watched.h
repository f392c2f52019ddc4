#ifndef CACHEINF_CLIENT_ANSWER_WATCHED_H_
#define CACHEINF_CLIENT_ANSWER_WATCHED_H_

#include <vector>

#include "client/answer/answers.h"
#include "client/tracker/tracker.h"

namespace cacheinf {

// Whether answers of a kind hang on some parts of the picture more than on others.
bool CanBeWatched(AnswerReader::Kind kind);

// The parts of a picture of that size that an answer to it hangs on, to whole pixels and clipped to
// it; positions are those of the picture:
//  - boxes, enlarged on all sides by `margin` of their own width and height;
//  - of a map of classes, which covers the picture, the pixels beside a border between two classes,
//    where the next class is the likeliest to win, and their neighbours;
//  - squares around keypoints that reach `margin` of the picture's larger side to all sides.
std::vector<Rectangle> PartsToWatch(const AnswerContent& answer, double margin, int width,
                                    int height);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_ANSWER_WATCHED_H_
