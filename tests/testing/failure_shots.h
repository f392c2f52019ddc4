#ifndef CACHEINF_TESTS_TESTING_FAILURE_SHOTS_H_
#define CACHEINF_TESTS_TESTING_FAILURE_SHOTS_H_

#include <string>
#include <vector>

#include "common/model/picture.h"

// Generated video in which something goes wrong for some frames.

namespace cacheinf {

struct Shot {
  std::string name;
  int begin = 0;  // the first frame that is unlike those before it
  int end = 0;    // from here on the video is as before
  std::vector<Picture> frames;
};

// Shots of 40 frames of this size from a hand-held camera: a cut to another scene, a flash, blur, a
// rolling shutter in a shaken camera, black frames in the middle and at the start, a camera that is
// unplugged and sees the scene again seconds later, and one that changes its resolution and back.
std::vector<Shot> FailureShots(int width, int height);

// How many frames after the shot's `end` agreement with dense reaches `least` for good; -1 if it
// never does. REQUIRES: an agreement for each frame.
int FramesUntilBack(const Shot& shot, const std::vector<double>& agreement, double least);

// The mean over frames [begin, end).
double Mean(const std::vector<double>& of_frames, int begin, int end);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_FAILURE_SHOTS_H_
