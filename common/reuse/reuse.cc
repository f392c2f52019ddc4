#include "common/reuse/reuse.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/exec/cache_choice.h"
#include "common/exec/spreads.h"
#include "common/exec/stem.h"

namespace cacheinf {
namespace {

// Spreads from a much duller picture than those that follow make every whisper a change; those from
// a much richer one make none.
constexpr double kMuchMoreContrast = 2.0;
constexpr double kLeastContrast = 1.0;  // in 8-bit levels
constexpr double kContrastOfNoise = 8.0;

// However much changes, reuse is tried again after this many frames.
constexpr int64_t kLongestRest = 32;

bool ComparesBytes(const ChangeConfig& change) {
  return change.rule == ChangeConfig::Rule::kDifference && change.threshold == 0.0;
}

Shape PictureShape(const Graph& graph) {
  return graph.value(graph.inputs.front()).shape_of_numbers();
}

// Standard deviation of a sample of the levels.
double ContrastOf(const PictureView& picture) {
  constexpr size_t kStep = 13;
  int64_t sum = 0;
  int64_t squares = 0;
  for (size_t i = 0; i < picture.byte_count(); i += kStep) {
    const int64_t level = picture.pixels[i];
    sum += level;
    squares += level * level;
  }
  const size_t steps = (picture.byte_count() + kStep - 1) / kStep;
  const auto count = static_cast<double>(steps);
  const double mean = static_cast<double>(sum) / count;
  const double variance = static_cast<double>(squares) / count - mean * mean;
  return std::max(std::sqrt(std::max(variance, 0.0)), kLeastContrast);
}

// How many times a map was halved from the picture's height.
size_t HalvingsOf(const Shape& map, double picture_height) {
  const double halvings = std::log2(picture_height / static_cast<double>(map[2]));
  return static_cast<size_t>(std::max(0.0, std::round(halvings)));
}

// The larger the factor of a map's resolution, the smaller its changes count.
void ScaleSpreads(const Graph& graph, const std::vector<double>& scales, double picture_height,
                  InverseSpreads& spreads) {
  for (size_t value = 0; value < spreads.size() && !scales.empty(); ++value) {
    if (spreads[value].empty()) continue;
    const size_t halvings = HalvingsOf(graph.values[value].shape, picture_height);
    const double scale = scales[std::min(halvings, scales.size() - 1)];
    for (float& inverse : spreads[value]) inverse = static_cast<float>(inverse / scale);
  }
}

}  // namespace

// Always keeps the maps on which a stem's changes are judged.
StateOptions OptionsFor(const ReuseSettings& settings, const Graph& graph) {
  const bool moves = settings.is_by_warp();
  if (settings.budget_mb == 0) return {.chosen = {}, .keep = Keep::kAll, .moves = moves};
  const auto budget_bytes = static_cast<size_t>(settings.budget_mb * 1e6);
  const std::vector<ValueId> tested = StemOutputs(graph, settings.change_policy().stem_depth);
  const CacheChoice choice = ChooseCaches(graph, budget_bytes, tested, moves);
  if (choice.bytes > budget_bytes) {
    throw InputError(fmt::format("cache.budget_mb is {}, but model '{}' needs {:.1f} MB",
                                 settings.budget_mb, graph.name,
                                 std::ceil(static_cast<double>(choice.bytes) / 1e5) / 10));
  }
  return {.chosen = choice.kept, .keep = Keep::kChosen, .moves = moves};
}

Reuse::Reuse(const ReuseSettings& settings, const Graph& graph, std::unique_ptr<Geometry> geometry)
    : configured_(settings),
      settings_(settings),
      graph_(graph),
      width_(static_cast<int>(PictureShape(graph)[3])),
      height_(static_cast<int>(PictureShape(graph)[2])),
      step_(ShiftStep(graph, kLargestStep)),
      inset_({{0, height_}, {0, width_}}, width_, height_),
      geometry_(std::move(geometry)),
      finder_(settings_.picture_test(), width_, height_, static_cast<int>(PictureShape(graph)[1])),
      reference_(width_, height_, static_cast<int>(PictureShape(graph)[1])),
      policy_(settings_.change_policy()) {
  decision_.number = -1;
  decision_.changed = Mask(height_, width_);
  decision_.forced = Mask(height_, width_);
}

void Reuse::SetPlaceOfFrames(const Rectangle& place) {
  inset_ = Inset(place, width_, height_);
  geometry_->SetInset(inset_);
  are_spreads_due_ = false;
  Forget();
}

void Reuse::TakeIn(const Verdict& verdict) {
  if (verdict.level != level_) Use(verdict.level);
  if (verdict.forget) Forget();
}

void Reuse::Use(SafetyLevel level) {
  level_ = level;
  settings_ = SettingsAt(level, configured_);
  finder_ = ChangeFinder(settings_.picture_test(), width_, height_, reference_.view().channels);
  policy_ = settings_.change_policy();
  ++version_;
  Forget();
}

void Reuse::Forget() {
  frames_ = 0;
  next_try_ = 0;
  rest_frames_ = 0;
  is_to_be_timed_ = false;
  policy_.spreads.reset();
}

bool Reuse::IsWholeDue(int64_t frame) const {
  return frame == 0 || Rests(frame) || (settings_.flush > 0 && frame % settings_.flush == 0);
}

// Resets what belongs to a single decision.
void Reuse::Begin(FrameDecision::Kind kind) {
  ++decision_.number;
  decision_.base = frames_ == 0 ? -1 : committed_;
  decision_.kind = kind;
  ClearAll(decision_.forced);
  decision_.scroll = {};
  decision_.stored_from_frame = {};
  decision_.light = {};
  decision_.settings = version_;
}

const FrameDecision& Reuse::Decide(int64_t index, const PictureView& frame,
                                   const Verdict& verdict) {
  TakeIn(verdict);
  if (std::exchange(is_to_be_timed_, false)) JudgeReuse(verdict);
  decision_.frame = index;
  rest_ = Rests(frames_) ? why_rest_ : Rest::kNone;
  placement_ = {};
  if (IsWholeDue(frames_)) return DecideWhole(frame);
  placement_ =
      geometry_->Place(frame, ComparesBytes(finder_.config()), settings_.relights(), reference_);
  if (placement_.loss != Loss::kNone) return DecideWhole(frame);
  sees_frame_ = placement_.seen.pixels == frame.pixels;
  Begin(FrameDecision::Kind::kChanged);
  decision_.scroll = placement_.scroll;
  decision_.stored_from_frame = placement_.stored_from_frame;
  decision_.light = placement_.light;
  FindChanged();
  ActivateWhatCameIn(placement_.scroll);
  // This comes before execution: if that fails, the state itself knows what it missed.
  reference_.Assign(placement_.seen, std::as_const(decision_.changed));
  return decision_;
}

const FrameDecision& Reuse::DecideWhole(const PictureView& frame) {
  Begin(FrameDecision::Kind::kWhole);
  SetAll(decision_.changed);
  const Loss loss = placement_.loss;
  placement_ = {};
  placement_.loss = loss;
  placement_.seen = frame;
  sees_frame_ = true;
  geometry_->Begin(frame, /*is_followed=*/!Rests(frames_ + 1) && settings_.flush != 1);
  reference_.Assign(frame);
  return decision_;
}

const FrameDecision* Reuse::DecideRefresh(const PictureView& frame, const Verdict& verdict) {
  TakeIn(verdict);
  if (IsWholeDue(frames_) || last_was_whole_) return nullptr;
  if (sees_frame_) placement_.seen = frame;
  if (geometry_->IsNearItsEnd()) {
    placement_ = {};
    return &DecideWhole(frame);
  }
  const Range rows = settings_.refresh() > 0 ? StripToRefresh() : Range();
  if (rows.empty() && is_settled_) return nullptr;
  // Pixels that this frame's answer stored without a test need not be stored again.
  const bool is_partly_new = decision_.kind == FrameDecision::Kind::kChanged &&
                             policy_.kind == ChangePolicy::Kind::kFixed && policy_.stem_depth == 0;
  Begin(FrameDecision::Kind::kRefresh);
  SetRectangle(rows, {0, width_}, decision_.forced);
  if (is_partly_new) {
    Subtract(std::as_const(decision_.forced), std::as_const(decision_.changed), decision_.forced);
  }
  ClearAll(decision_.changed);
  reference_.Assign(placement_.seen, std::as_const(decision_.forced));
  return &decision_;
}

FrameWork Reuse::Commit(const ChangedWork& done, bool holds_all) {
  committed_ = decision_.number;
  const ConstMaskView changed = decision_.changed;
  const FrameWork work = {
      .share = decision_.kind == FrameDecision::Kind::kWhole ? 1.0 : done.share(),
      .active =
          static_cast<double>(CountActive(changed)) / static_cast<double>(changed.pixel_count()),
      .is_dense = decision_.kind == FrameDecision::Kind::kWhole,
      .loss = placement_.loss,
      .rest = rest_};
  if (decision_.kind == FrameDecision::Kind::kRefresh) {
    is_settled_ = true;
    return work;
  }
  ++frames_;
  last_was_whole_ = work.is_dense;
  is_settled_ = decision_.stored_from_frame.IsIdentity();
  if (policy_.kind != ChangePolicy::Kind::kExact) last_contrast_ = ContrastOf(placement_.seen);
  if (!last_was_whole_ && settings_.most_work != 0.0) {
    is_to_be_timed_ = done.share() <= settings_.most_work;
    if (!is_to_be_timed_) BeginRest(Rest::kTooMuchChanged);
  }
  are_spreads_due_ = AreSpreadsOld() && holds_all;
  needs_all_ = AreSpreadsOld() && !holds_all;
  return work;
}

// Each rest is twice as long as the last, while reuse does not pay: a camera that comes to rest
// gains soon, and one that never does loses little.
void Reuse::BeginRest(Rest why) {
  why_rest_ = why;
  rest_frames_ = std::clamp<int64_t>(2 * rest_frames_, 1, kLongestRest);
  next_try_ = frames_ + rest_frames_;
}

// By the clock, once that is known.
void Reuse::JudgeReuse(const Verdict& verdict) {
  if (verdict.is_slow) return BeginRest(Rest::kTooSlow);
  rest_frames_ = 0;
}

// A camera may begin with black frames.
bool Reuse::AreSpreadsOld() const {
  if (policy_.kind == ChangePolicy::Kind::kExact) return false;
  if (policy_.spreads == nullptr) return true;
  const bool is_much_more = last_contrast_ >= kMuchMoreContrast * contrast_;
  const bool is_much_less =
      last_contrast_ >= kContrastOfNoise && contrast_ >= kMuchMoreContrast * last_contrast_;
  return is_much_more || is_much_less;
}

void Reuse::MeasureSpreadsIfDue(ModelState& stored) {
  if (!std::exchange(are_spreads_due_, false)) return;
  InverseSpreads spreads = MeasureSpreads(stored);
  ScaleSpreads(graph_, settings_.change_scales(), height_, spreads);
  policy_.spreads = std::make_shared<const InverseSpreads>(std::move(spreads));
  contrast_ = last_contrast_;
  is_settled_ = true;
  ++version_;
}

void Reuse::FindChanged() {
  const bool has_moved = !placement_.stored_from_frame.IsIdentity();
  // All bytes may differ then, so the network decides what a change is.
  if (has_moved && ComparesBytes(finder_.config())) return SetAll(decision_.changed);
  finder_.Find(placement_.seen, reference_.view(), placement_.out_of_view, decision_.changed);
}

// From beyond the picture, and where a bar has gone or appeared.
void Reuse::ActivateWhatCameIn(const Shift& shift) {
  const auto came_over = [](int edge, int distance) {
    return distance > 0 ? Range{edge - distance, edge} : Range{edge, edge - distance};
  };
  const auto [rows, columns] = inset_.place();
  for (const int edge : {0, rows.begin, rows.end, height_}) {
    SetRectangle(came_over(edge, shift.rows), {0, width_}, decision_.changed);
  }
  for (const int edge : {0, columns.begin, columns.end, width_}) {
    SetRectangle({0, height_}, came_over(edge, shift.columns), decision_.changed);
  }
}

// Strips have whole steps of the coarsest map, so that none of its pixels lies in two strips.
Range Reuse::StripToRefresh() const {
  const int step = std::max(1, step_);
  const int steps = (height_ + step - 1) / step;
  const auto strip = static_cast<int>(frames_ % settings_.refresh());
  return {step * (steps * strip / settings_.refresh()),
          std::min(height_, step * (steps * (strip + 1) / settings_.refresh()))};
}

}  // namespace cacheinf
