#ifndef CACHEINF_COMMON_SOURCE_FRAME_SOURCE_H_
#define CACHEINF_COMMON_SOURCE_FRAME_SOURCE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/model/graph/graph.h"
#include "common/model/picture.h"

namespace cacheinf {

// What a camera, or its stand-in, delivers at one moment: a picture, or a tensor that needs no
// preprocessing.
struct Frame {
  int64_t index = 0;  // counts from 0; frames that could not be read count too
  // When it was taken: by the clock if the source is live, else since the start of the record.
  std::chrono::nanoseconds stamp{0};
  std::string name;  // for messages: a file's path, or the source and the index
  Picture picture;
  Tensor tensor;  // of the model's input, as the model has it
  Picture truth;  // one channel: the true class of every pixel, where the source knows it
  // The picture as fitted to the model (PictureFit), if that is done already; else null.
  std::shared_ptr<const std::vector<uint8_t>> fitted;
};

class FrameSource {
 public:
  virtual ~FrameSource() = default;

  // The next frame that can be read; nothing at the end. Frames that are broken are logged, skipped
  // and counted. The size may change from frame to frame. Throws InputError if the source turns
  // out to have no frame at all.
  virtual std::optional<Frame> Next() = 0;

  virtual int64_t skipped() const = 0;
  virtual bool is_live() const = 0;
  // Whether Next may wait without limit.
  virtual bool may_block() const { return is_live(); }

  // Whether frames are tensors.
  virtual bool has_tensors() const = 0;

  // The frame rate that the source states; 0: none.
  virtual double frame_rate() const = 0;

  // How many classes the frames' truth tells apart; 0: no truth.
  virtual int truth_class_count() const { return 0; }
};

// The source is not there yet: a camera that is not plugged in, a stream that nobody sends.
class AbsentSource final : public InputError {
 public:
  using InputError::InputError;
};

// What to do when a camera is not there yet, or stops giving frames (reopening_source.h).
struct CameraPatience {
  std::chrono::nanoseconds longest{0};  // longest wait for it; 0: none
  std::function<bool()> is_over;        // whether to stop waiting; empty: never
};

// Opens what `spec` names:
//   generated[:seed=7,frames=100,width=640,…]  scenes with their truth (scene_source.h)
//   0, 1, …                                    a camera
//   … ! appsink                                a GStreamer pipeline
//   a folder                                   its .npy tensors (float32) or pictures, by name
//   rtsp://…, rtmp://…, udp://…, …             what a camera sends over a network
//   http://…, https://…                        the same; a video where it states its length
//   a file, or another address                 a picture or a video
// Cameras, pipelines and what comes over a network are live. Patience applies to these, except to
// pipelines that have an end: those with filesrc or num-buffers. Throws InputError, in one
// sentence, if the source is missing, broken or empty, and AbsentSource if what is waited for does
// not come. The clock and what patience.is_over uses must outlive the source.
std::unique_ptr<FrameSource> OpenSource(const std::string& spec, const Clock& clock,
                                        const CameraPatience& patience = {});

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_SOURCE_FRAME_SOURCE_H_
