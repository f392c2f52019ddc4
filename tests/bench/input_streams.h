#ifndef CACHEINF_TESTS_BENCH_INPUT_STREAMS_H_
#define CACHEINF_TESTS_BENCH_INPUT_STREAMS_H_

#include <memory>

#include "common/model/picture.h"

// A network's picture as people send it today.

namespace cacheinf {

// A picture on its way: measured, both ends on one thread of this machine.
struct SentPicture {
  int64_t bytes = 0;
  double encode_ms = 0;
  double decode_ms = 0;
};

// REQUIRES: blue, green, red, or grey.
SentPicture SendJpeg(const Picture& picture, int quality);

// H.264 by libx264 as latency wants it: ultrafast, zerolatency, crf 23, no intra frame but the
// first; colours go to and from 4:2:0. Each picture is decoded before the next is encoded.
class VideoStream {
 public:
  // Throws InputError where libavcodec has no libx264.
  VideoStream(int width, int height);
  ~VideoStream();
  VideoStream(const VideoStream&) = delete;
  VideoStream& operator=(const VideoStream&) = delete;

  // REQUIRES: pictures of one size, as above, in the order of the clip.
  SentPicture Send(const Picture& picture);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_INPUT_STREAMS_H_
