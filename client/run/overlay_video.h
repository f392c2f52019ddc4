#ifndef CACHEINF_CLIENT_RUN_OVERLAY_VIDEO_H_
#define CACHEINF_CLIENT_RUN_OVERLAY_VIDEO_H_

#include <memory>
#include <string>
#include <vector>

#include "client/run/caption.h"
#include "common/codec/video_codec.h"
#include "common/model/picture.h"

namespace cacheinf {

// Writes drawn answers, with captions, as an MP4 file that common players show: H.264 with 4:2:0
// colours by libavcodec's own choice of encoder, which the log names. Later frames are resized to
// the size of the first.
class OverlayVideo {
 public:
  // Without an encoder's name the video is MPEG-4 Part 2, with a warning.
  OverlayVideo(std::string path, double frame_rate, std::string h264_encoder = NameOfH264Encoder());
  ~OverlayVideo();

  // Throws InputError if the file cannot be written.
  void Write(const Picture& drawn, const std::vector<CaptionEntry>& caption);

  // Call after the last frame. The codec library does not report a full disk, so this throws
  // InputError if the file cannot be read back as a video.
  void Close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_RUN_OVERLAY_VIDEO_H_
