#ifndef CACHEINF_CLIENT_TRACKER_TRACKER_H_
#define CACHEINF_CLIENT_TRACKER_TRACKER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/config/tracker_config.h"
#include "sparse_ops/homography.h"
#include "sparse_ops/views.h"

// How the camera moved: a new frame against the reference, the picture whose results are kept.

namespace cacheinf {

// A model's 8-bit picture (PictureFit), in memory that somebody else owns: 1 or 3 channels
// interleaved, rows without gaps. The order of the channels does not matter.
struct PictureView {
  const uint8_t* pixels = nullptr;
  int width = 0;
  int height = 0;
  int channels = 0;

  int64_t row_bytes() const { return int64_t{width} * channels; }
  size_t byte_count() const {
    return static_cast<size_t>(height) * static_cast<size_t>(row_bytes());
  }
  const uint8_t* Row(int y) const { return pixels + y * row_bytes(); }

  friend bool HaveSameShape(const PictureView& a, const PictureView& b) {
    return a.width == b.width && a.height == b.height && a.channels == b.channels;
  }
};

// Pixels of a picture.
struct Rectangle {
  Range rows;
  Range columns;
};

// Why no motion is known.
enum class Loss : uint8_t {
  kNone,
  kNoReference,    // none yet, or one of another shape
  kFewFeatures,    // black, uniform, blurred, or too small
  kFewInliers,     // features move everywhere: another scene, or noise
  kDegenerate,     // what fits is no view of a camera: it folds, flips, or shrinks too much
  kLittleOverlap,  // the reference shows too little of the frame
  kTooDifferent,   // aligned, but most pixels differ
};
inline constexpr int kLossCount = 7;
const char* NameOf(Loss loss);  // "few features"

struct Motion {
  // Where a pixel of the frame lies in the reference. Exactly the identity while the camera is
  // still, and where the motion is lost.
  Homography reference_from_frame;
  Loss loss = Loss::kNone;
  // Light: a pixel of the frame is about gain times that of the reference plus offset, in 8-bit
  // levels. Exactly 1 and 0 where the light is the same.
  double gain = 1;
  double offset = 0;
  // The share of features, or of blocks, that agree.
  double match_ratio = 1;

  bool is_lost() const { return loss != Loss::kNone; }
};

// Finds motions. What it gives depends on the pictures that it was given since the last
// SetReference and on nothing else: not on threads, time or chance. After the first frame of a
// size our own code allocates nothing. One thread at a time.
class Tracker {
 public:
  virtual ~Tracker() = default;

  // Makes the picture the reference; its pixels are read during the call only.
  virtual void SetReference(const PictureView& reference) = 0;

  // Makes the frame of the last Track the reference, without its pixels and mostly faster. Does
  // nothing if there was none.
  virtual void SetReferenceToLastFrame() = 0;

  // Never throws; whatever cannot be tracked is lost, for a reason. A lost frame leaves the
  // reference as it is. REQUIRES: a picture of 1 or 3 channels.
  virtual Motion Track(const PictureView& frame) = 0;
};

// The one that the configuration names. REQUIRES: a checked configuration.
std::unique_ptr<Tracker> MakeTracker(const TrackerConfig& config);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_TRACKER_TRACKER_H_
