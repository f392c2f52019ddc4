#ifndef CACHEINF_CLIENT_FRAME_CACHE_H_
#define CACHEINF_CLIENT_FRAME_CACHE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "client/canvas/canvas.h"
#include "client/canvas/inset_tracker.h"
#include "client/tracker/tracker.h"
#include "common/base/clock.h"
#include "common/config/cache_config.h"
#include "common/config/tracker_config.h"
#include "common/exec/change_policy.h"
#include "common/exec/executor.h"
#include "common/reuse/change_finder.h"
#include "common/reuse/frame_work.h"
#include "common/reuse/inset.h"
#include "common/reuse/light_in_place.h"
#include "common/reuse/picture_input.h"
#include "sparse_ops/homography.h"
#include "sparse_ops/mask/lists.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {

// Computes of each frame what changed since the one before, with an executor that keeps all values.
//
// With the canvas as geometry the network sees the canvas (canvas.h), in the light of its anchor,
// instead of the frame; else the frame as it is, or in the light of what is stored
// (light_in_place.h). The reference is the picture whose results are stored: where a pixel was not
// computed anew, it stays what it was when it was. So a change that is too slow to be seen from
// frame to frame adds up until it is seen. The executor's input is all of what the network sees, so
// that what is computed is computed from that alone.
//
// With the geometry `warp` stored results and reference move along with the camera, and the
// reference follows its light.
class FrameCache {
 public:
  // For pictures of the graph's size. The executor keeps values, can move them if the geometry is
  // `warp`, has one input, a map, and outlives this; so does the clock. Where the configuration
  // follows no camera, the tracker may be null. REQUIRES: checked configurations.
  FrameCache(const CacheConfig& cache, const ChangeConfig& change, std::unique_ptr<Tracker> tracker,
             const Clock& clock, Executor& executor);

  // Where frames show something; at first everywhere. Forgets all that was before. REQUIRES: a
  // place in a picture of the graph's size, not empty.
  void SetPlaceOfFrames(const Rectangle& place);

  // Brings the executor's values to what the frame gives, as far as the policy goes. After an
  // exception the next call makes up for what this one missed.
  FrameWork Run(const PictureView& frame);

  // Moves what the answer did not need, and stores anew the strip of the picture whose turn it is,
  // so that none gets too old; where the canvas nears its end, the whole frame as the next anchor,
  // so that no answer has to wait for it. To be called once the answer is read. Returns what it
  // took but the time; nothing if there is nothing to do, as before a whole frame. REQUIRES: the
  // frame of the last Run, which has returned.
  std::optional<RefreshWork> Refresh(const PictureView& frame);

  // What is stored is of the last frame alone, as it is.
  bool last_was_whole() const { return last_was_whole_; }

  // Where a pixel that the network saw lies in the frame.
  const Homography& frame_from_seen() const { return canvas_.frame_from_canvas(); }

  // The pixels of what the network saw that the last frame found changed.
  ConstMaskView active() const { return active_; }

  // What the network saw last, if that was no frame.
  std::optional<PictureView> canvas() const;

  // From the next frame on, which is computed whole. REQUIRES: checked configurations of the same
  // geometry, which follow the camera, or not, as before.
  void Use(const CacheConfig& cache, const ChangeConfig& change);

  // The next frame is computed as if it were the first: what comes after depends on nothing that
  // was before.
  void Forget();
  bool keeps_nothing() const { return frames_ == 0; }

 private:
  bool IsWholeFrameDue(int64_t frame) const;
  bool Rests(int64_t frame) const { return frame < next_try_; }
  void JudgeReuse(double share);
  void RunWhole(const PictureView& frame);
  bool IsNewAnchorDue() const;
  Loss FollowOnCanvas(const PictureView& frame);
  Loss FollowByWarp(const PictureView& frame);
  void AlignReference(const Motion& motion);
  bool HasMoved() const;
  bool ComparesBytes() const;
  void FindActive(const PictureView& seen);
  Range StripToRenew() const;
  double RenewStrip(const PictureView& frame);
  Loss ShowInReferencesLight(const PictureView& frame);
  PictureView InAnchorsLight(const PictureView& frame, const Light& light);
  void Scroll(const Shift& shift);
  void ActivateWhatCameIn();
  void UpdateReference(const PictureView& seen);
  PictureView Seen(const PictureView& frame) const;
  PictureView ReferenceView() const;
  void MeasureSpreadsIfDue(const PictureView& seen);

  CacheConfig config_;
  const Clock& clock_;
  Executor& executor_;
  int width_;
  int height_;
  int channels_;
  Inset inset_;
  std::unique_ptr<InsetTracker> tracker_;
  int strip_step_;  // 0: the coarsest map's is not known
  Canvas canvas_;
  ChangeFinder finder_;
  ChangePolicy policy_;
  double contrast_ = 0.0;  // of the picture that the policy's spreads are of
  int64_t frames_ = 0;     // since the first, or since Forget
  bool last_was_whole_ = false;
  // Frames before this one are whole, since reuse did not pay; so many were, the last time.
  int64_t next_try_ = 0;
  int64_t rest_ = 0;
  // The tracker's reference is the anchor, or a later frame that lies here in it.
  Homography anchor_from_reference_;
  // Of that against the anchor; of `reference_`, moved or not, against the tracker's reference.
  Light reference_light_;
  Shift scrolled_;  // by the last frame
  // Of the last frame: where its pixels lie in the one before. The identity on a canvas.
  Homography reference_from_frame_;
  Mask out_of_view_;  // of `reference_`, since the last frame
  std::vector<uint8_t> reference_;
  LightInPlace light_in_place_;
  std::vector<uint8_t> relit_;
  bool sees_relit_ = false;  // without a canvas: instead of the last frame
  PictureInput input_;
  Mask active_;
  Mask refresh_;
  Mask unchanged_;
  Mask renewed_;  // what is stored anew
  RunList renewed_runs_;
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_FRAME_CACHE_H_
