#ifndef CACHEINF_TESTS_TESTING_FAILURE_SHOTS_H_
#define CACHEINF_TESTS_TESTING_FAILURE_SHOTS_H_

#include <string>
#include <vector>

#include "common/model/picture.h"

// Generated video in which something goes wrong for a while.

namespace cacheinf {

struct Shot {
  std::string name;
  int begin = 0;  // the first frame that is not what one expects after those before
  int end = 0;    // from here on all is as it was
  std::vector<Picture> frames;
};

// Each 40 frames of such a size, seen by a hand-held camera: a cut to another scene, a flash, blur,
// a rolling shutter in a shaken camera, black frames in the middle and at the start, a camera that
// is unplugged and sees the scene again seconds later, and one that switches its resolution and
// back.
std::vector<Shot> FailureShots(int width, int height);

// How many frames after the end of the shot its agreement with dense is, and stays, no lower than
// `least`; -1 if it never is. REQUIRES: an agreement for each frame.
int FramesUntilBack(const Shot& shot, const std::vector<double>& agreement, double least);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_FAILURE_SHOTS_H_
