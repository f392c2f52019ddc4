#include "client/frame_cache.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "common/exec/scroll.h"
#include "common/exec/spreads.h"
#include "common/model/picture.h"
#include "common/reuse/picture_warp.h"

namespace cacheinf {
namespace {

// Spreads of a much duller picture than those that follow make a change of every whisper, those of
// a much richer one of none.
constexpr double kMuchMoreContrast = 2.0;
constexpr double kLeastContrast = 1.0;  // in 8-bit levels
constexpr double kContrastOfNoise = 8.0;

// However much changes, reuse is tried again after so many frames.
constexpr int64_t kLongestRest = 32;

// No map of a usual network is coarser.
constexpr int kLargestStep = 64;

ChangePolicy PolicyOf(const CacheConfig& config) {
  ChangePolicy policy;
  policy.kind = static_cast<ChangePolicy::Kind>(config.policy);
  policy.threshold = static_cast<float>(config.change);
  policy.growth = config.growth;
  policy.stem_depth = config.policy == CacheConfig::Policy::kExact ? 0 : config.stem;
  return policy;
}

// Where the network itself decides what a change is, it is given every byte that differs.
ChangeConfig FinderConfig(const CacheConfig& cache, ChangeConfig change) {
  if (cache.policy == CacheConfig::Policy::kExact || cache.stem > 0) {
    change.rule = ChangeConfig::Rule::kDifference;
    change.threshold = 0.0;
    change.margin = 0;
    change.block = 1;
  }
  return change;
}

const Shape& PictureShape(const Executor& executor) {
  const Graph& graph = executor.graph();
  return graph.value(graph.inputs.front()).shape;
}

// Standard deviation of the levels, by a part of them.
double ContrastOf(const PictureView& picture) {
  constexpr size_t kStep = 13;
  double count = 0.0;
  double sum = 0.0;
  double squares = 0.0;
  for (size_t i = 0; i < picture.byte_count(); i += kStep) {
    const double level = picture.pixels[i];
    ++count;
    sum += level;
    squares += level * level;
  }
  const double mean = sum / count;
  return std::sqrt(std::max(squares / count - mean * mean, 0.0));
}

// How many times a map was halved from the picture's height.
size_t HalvingsOf(const Shape& map, double picture_height) {
  const double halvings = std::log2(picture_height / static_cast<double>(map[2]));
  return static_cast<size_t>(std::max(0.0, std::round(halvings)));
}

// A change of a map counts as much smaller as its resolution's factor is larger.
void ScaleSpreads(const Graph& graph, const std::vector<double>& scales, double picture_height,
                  InverseSpreads& spreads) {
  for (size_t value = 0; value < spreads.size() && !scales.empty(); ++value) {
    if (spreads[value].empty()) continue;
    const size_t halvings = HalvingsOf(graph.values[value].shape, picture_height);
    const double scale = scales[std::min(halvings, scales.size() - 1)];
    for (float& inverse : spreads[value]) inverse = static_cast<float>(inverse / scale);
  }
}

Homography Product(const Homography& a, const Homography& b) {
  Homography product;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      product.m[i][j] = a.m[i][0] * b.m[0][j] + a.m[i][1] * b.m[1][j] + a.m[i][2] * b.m[2][j];
    }
  }
  return product;
}

}  // namespace

FrameCache::FrameCache(const CacheConfig& cache, const ChangeConfig& change,
                       std::unique_ptr<Tracker> tracker, const Clock& clock, Executor& executor)
    : config_(cache),
      clock_(clock),
      executor_(executor),
      width_(static_cast<int>(PictureShape(executor)[3])),
      height_(static_cast<int>(PictureShape(executor)[2])),
      channels_(static_cast<int>(PictureShape(executor)[1])),
      inset_({{0, height_}, {0, width_}}, width_, height_),
      tracker_(tracker ? std::make_unique<InsetTracker>(std::move(tracker)) : nullptr),
      strip_step_(ShiftStep(executor.graph(), kLargestStep)),
      canvas_(width_, height_, channels_, strip_step_),
      finder_(FinderConfig(cache, change), width_, height_, channels_),
      policy_(PolicyOf(cache)),
      out_of_view_(height_, width_),
      reference_(static_cast<size_t>(ElementCount(PictureShape(executor)))),
      relit_(reference_.size()),
      active_(height_, width_),
      refresh_(height_, width_),
      unchanged_(height_, width_),
      renewed_(height_, width_),
      renewed_runs_(RunList::MaxRuns(height_, width_)) {}

void FrameCache::SetPlaceOfFrames(const Rectangle& place) {
  inset_ = Inset(place, width_, height_);
  if (tracker_) tracker_->SetInset(inset_);
  canvas_.SetInset(inset_);
  Forget();
}

FrameWork FrameCache::Run(const PictureView& frame) {
  const auto begin = clock_.Now();
  FrameWork work;
  scrolled_ = {};
  sees_relit_ = false;
  reference_from_frame_ = {};
  ClearAll(out_of_view_);
  work.rests = Rests(frames_);
  bool is_whole = IsWholeFrameDue(frames_);
  if (!is_whole && config_.FollowsCamera()) {
    work.loss = config_.UsesCanvas() ? FollowOnCanvas(frame) : FollowByWarp(frame);
  } else if (!is_whole && config_.ComparesLight()) {
    work.loss = ShowInReferencesLight(frame);
  }
  is_whole = is_whole || work.loss != Loss::kNone;
  if (is_whole) {
    work.tracking = clock_.Now() - begin;
    RunWhole(frame);
    return work;
  }
  const PictureView seen = Seen(frame);
  FindActive(seen);
  ActivateWhatCameIn();
  Copy(std::as_const(active_), renewed_);
  // Before the run: if it fails, the executor itself knows what it missed.
  UpdateReference(seen);
  work.tracking = clock_.Now() - begin;
  // All of it, so that what is computed is computed from this frame: windows at the edges of what
  // changed would else read the levels of older frames beside it.
  input_.Set(seen, executor_);
  if (HasMoved()) executor_.Move(reference_from_frame_);
  const ConstMaskView renewed = std::as_const(renewed_);
  work.operators = executor_.RunChanged({&renewed, 1}, policy_);
  const ConstMaskView active = std::as_const(active_);
  MeasureSpreadsIfDue(seen);
  work.is_dense = false;
  work.active =
      static_cast<double>(CountActive(active)) / static_cast<double>(active.pixel_count());
  ++frames_;
  last_was_whole_ = false;
  JudgeReuse(work.share());
  return work;
}

// Rests are as long as reuse has not paid, twice over: so that a camera that comes to rest gains
// soon, and one that never does loses little.
void FrameCache::JudgeReuse(double share) {
  const bool pays = config_.most_work == 0.0 || share <= config_.most_work;
  rest_ = pays ? 0 : std::clamp<int64_t>(2 * rest_, 1, kLongestRest);
  next_try_ = frames_ + rest_;
}

std::optional<RefreshWork> FrameCache::Refresh(const PictureView& frame) {
  if (IsWholeFrameDue(frames_)) return std::nullopt;
  if (IsNewAnchorDue()) {
    RunWhole(frame);
    return RefreshWork{.share = 1.0, .is_anchor = true};
  }
  const bool has_settled = executor_.Settle();
  const bool has_old_parts =
      frames_ > 0 && !last_was_whole_ && policy_.kind != ChangePolicy::Kind::kExact;
  if (config_.refresh > 0 && has_old_parts) return RefreshWork{.share = RenewStrip(frame)};
  return has_settled ? std::make_optional<RefreshWork>() : std::nullopt;
}

bool FrameCache::IsNewAnchorDue() const {
  return config_.UsesCanvas() && frames_ > 0 && !last_was_whole_ && canvas_.IsNearItsEnd();
}

// Strips are of whole steps of the coarsest map, so that none of its pixels lies in two of them.
Range FrameCache::StripToRenew() const {
  const int step = std::max(1, strip_step_);
  const int steps = (height_ + step - 1) / step;
  const auto strip = static_cast<int>(frames_ % config_.refresh);
  return {step * (steps * strip / config_.refresh),
          std::min(height_, step * (steps * (strip + 1) / config_.refresh))};
}

// Returns the share of a dense run's multiply-adds.
double FrameCache::RenewStrip(const PictureView& frame) {
  const Range rows = StripToRenew();
  if (rows.empty()) return 0.0;
  ClearAll(refresh_);
  SetRectangle(rows, {0, width_}, refresh_);
  // What this frame's answer stored without a test need not be stored again.
  if (policy_.kind == ChangePolicy::Kind::kFixed && policy_.stem_depth == 0) {
    Subtract(std::as_const(refresh_), std::as_const(active_), refresh_);
  }
  Copy(std::as_const(refresh_), renewed_);
  UpdateReference(Seen(frame));
  // The input is what it was for the answer.
  ClearAll(unchanged_);
  const ConstMaskView unchanged = std::as_const(unchanged_);
  return executor_.RunChanged({&unchanged, 1}, policy_, std::as_const(refresh_)).share();
}

PictureView FrameCache::Seen(const PictureView& frame) const { return canvas().value_or(frame); }

std::optional<PictureView> FrameCache::canvas() const {
  if (config_.UsesCanvas()) return canvas_.picture();
  if (sees_relit_) return PictureView{relit_.data(), width_, height_, channels_};
  return std::nullopt;
}

void FrameCache::Use(const CacheConfig& cache, const ChangeConfig& change) {
  config_ = cache;
  finder_ = ChangeFinder(FinderConfig(cache, change), width_, height_, channels_);
  policy_ = PolicyOf(cache);
  Forget();
}

void FrameCache::Forget() {
  frames_ = 0;
  next_try_ = 0;
  rest_ = 0;
  policy_.spreads.reset();
}

bool FrameCache::IsWholeFrameDue(int64_t frame) const {
  return frame == 0 || Rests(frame) || (config_.flush > 0 && frame % config_.flush == 0);
}

void FrameCache::RunWhole(const PictureView& frame) {
  if (config_.FollowsCamera()) {
    if (config_.UsesCanvas()) canvas_.Anchor(frame);
    // Corners are found for those frames alone that another is followed from.
    if (!Rests(frames_ + 1)) tracker_->SetReference(frame);
    anchor_from_reference_ = {};
    reference_light_ = {};
  }
  std::memcpy(reference_.data(), frame.pixels, reference_.size());
  SetAll(active_);
  input_.Set(frame, executor_);
  executor_.Run();
  MeasureSpreadsIfDue(frame);
  ++frames_;
  last_was_whole_ = true;
}

// At first, and when there is much more or less to be seen than when they were measured: a camera
// may begin with black frames. Those in between are not measured.
void FrameCache::MeasureSpreadsIfDue(const PictureView& seen) {
  if (policy_.kind == ChangePolicy::Kind::kExact) return;
  const double contrast = std::max(ContrastOf(seen), kLeastContrast);
  const bool is_much_more = contrast >= kMuchMoreContrast * contrast_;
  const bool is_much_less =
      contrast >= kContrastOfNoise && contrast_ >= kMuchMoreContrast * contrast;
  if (policy_.spreads != nullptr && !is_much_more && !is_much_less) return;
  executor_.Settle();
  InverseSpreads spreads = MeasureSpreads(executor_);
  ScaleSpreads(executor_.graph(), config_.change_scales, height_, spreads);
  policy_.spreads = std::make_shared<const InverseSpreads>(std::move(spreads));
  contrast_ = contrast;
}

bool FrameCache::HasMoved() const { return !reference_from_frame_.IsIdentity(); }

// Then of a picture that moved all bytes may differ, and the network decides what a change is.
bool FrameCache::ComparesBytes() const {
  return finder_.config().rule == ChangeConfig::Rule::kDifference &&
         finder_.config().threshold == 0.0;
}

void FrameCache::FindActive(const PictureView& seen) {
  if (HasMoved() && ComparesBytes()) return SetAll(active_);
  finder_.Find(seen, ReferenceView(), std::as_const(out_of_view_), active_);
}

// Moves the reference along with the camera, and into the frame's light.
Loss FrameCache::FollowByWarp(const PictureView& frame) {
  const Motion motion = tracker_->Track(frame);
  if (motion.is_lost()) return motion.loss;
  reference_from_frame_ = motion.reference_from_frame;
  if (!ComparesBytes()) AlignReference(motion);
  if (!HasMoved()) return Loss::kNone;
  // While the camera is still the tracker's reference stays: a slow pan adds up until it is seen.
  tracker_->SetReferenceToLastFrame();
  reference_light_ = {};
  return Loss::kNone;
}

void FrameCache::AlignReference(const Motion& motion) {
  if (HasMoved()) {
    WarpPicture(ReferenceView(), motion.reference_from_frame, relit_.data(), out_of_view_);
    std::swap(reference_, relit_);
  }
  const Light light = Relative(motion.light, reference_light_);
  if (light.IsIdentity() || !(light.gain > 0.0)) return;
  Apply(LevelsIn(light), reference_.data(), reference_.size(), reference_.data());
  reference_light_ = motion.light;
}

// Draws the frame onto the canvas. Where that cannot be done, nothing has changed.
Loss FrameCache::FollowOnCanvas(const PictureView& frame) {
  const Motion motion = tracker_->Track(frame);
  if (motion.is_lost()) return motion.loss;
  const Homography anchor_from_frame = Product(anchor_from_reference_, motion.reference_from_frame);
  const Light light = Compose(motion.light, reference_light_);
  const std::optional<Shift> shift = canvas_.Draw(InAnchorsLight(frame, light), anchor_from_frame);
  if (!shift) return Loss::kLittleOverlap;
  if (shift->is_zero()) return Loss::kNone;
  Scroll(*shift);
  // What lies in the middle now is what the frames to come will show.
  tracker_->SetReferenceToLastFrame();
  anchor_from_reference_ = anchor_from_frame;
  reference_light_ = light;
  return Loss::kNone;
}

// So that what is stored stays of use; the light of the reference stays what it is.
Loss FrameCache::ShowInReferencesLight(const PictureView& frame) {
  const std::optional<Light> light = light_in_place_.Find(frame, ReferenceView(), inset_);
  if (!light) return Loss::kTooDifferent;
  sees_relit_ = !light->IsIdentity();
  if (sees_relit_) ShowInLightOf(ReferenceView(), *light, frame, inset_.place(), relit_.data());
  return Loss::kNone;
}

PictureView FrameCache::InAnchorsLight(const PictureView& frame, const Light& light) {
  if (light.IsIdentity() || !(light.gain > 0.0)) return frame;
  Apply(LevelsWithout(light), frame.pixels, relit_.size(), relit_.data());
  return {relit_.data(), width_, height_, channels_};
}

void FrameCache::Scroll(const Shift& shift) {
  scrolled_ = shift;
  executor_.Scroll(shift);
  const int64_t row_bytes = int64_t{width_} * channels_;
  const int64_t distance = (int64_t{shift.rows} * width_ + shift.columns) * channels_;
  const int64_t count = row_bytes * height_ - std::abs(distance);
  // What comes in from beyond is active, whatever it is compared with.
  std::memmove(reference_.data() + std::max<int64_t>(-distance, 0),
               reference_.data() + std::max<int64_t>(distance, 0), static_cast<size_t>(count));
}

// From beyond the picture, and where there was a bar and is none any more, or the other way round.
void FrameCache::ActivateWhatCameIn() {
  const auto came_over = [](int edge, int shift) {
    return shift > 0 ? Range{edge - shift, edge} : Range{edge, edge - shift};
  };
  const auto [rows, columns] = inset_.place();
  for (const int edge : {0, rows.begin, rows.end, height_}) {
    SetRectangle(came_over(edge, scrolled_.rows), {0, width_}, active_);
  }
  for (const int edge : {0, columns.begin, columns.end, width_}) {
    SetRectangle({0, height_}, came_over(edge, scrolled_.columns), active_);
  }
}

// Pixels that are computed now are what the network sees from now on.
void FrameCache::UpdateReference(const PictureView& seen) {
  renewed_runs_.Assign(std::as_const(renewed_), {0, height_});
  const ActivePixels renewed = renewed_runs_.pixels();
  std::for_each_n(renewed.runs, renewed.run_count, [&](const PixelRun& run) {
    const int64_t first = run.row * seen.row_bytes() + int64_t{run.begin} * channels_;
    std::memcpy(reference_.data() + first, seen.pixels + first,
                static_cast<size_t>(run.end - run.begin) * static_cast<size_t>(channels_));
  });
}

PictureView FrameCache::ReferenceView() const {
  return {reference_.data(), width_, height_, channels_};
}

}  // namespace cacheinf
