#include "common/exec/stored_check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "common/backend/shadow.h"
#include "common/exec/stem.h"
#include "common/model/graph/geometry.h"
#include "sparse_ops/eight_bits.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {
namespace {

// The test sums in floats, in another order.
constexpr double kRounding = 1e-3;

bool HaveSameBits(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}
bool AreSame(float a, float b) { return HaveSameBits(a, b) || (std::isnan(a) && std::isnan(b)); }

TensorView PixelOf(TensorView map, const StoredPixel& pixel) {
  map.data += pixel.row * map.strides[2] + pixel.column * map.strides[3];
  map.dims[2] = map.dims[3] = 1;
  return map;
}

// Copies one pixel of each image, the channels of an image end to end.
void CopyPixel(const TensorView& map, const StoredPixel& pixel, Backend& backend,
               std::vector<float>& numbers) {
  const TensorView device = PixelOf(map, pixel);
  numbers.resize(static_cast<size_t>(device.Count()));
  TensorView host = device;
  host.data = numbers.data();
  host.strides = {device.dims[1], 1, device.dims[1], device.dims[1]};
  backend.CopyOut(device, host);
}

}  // namespace

StoredCheck::StoredCheck(const Graph& graph, const Layout& layout, PixelSets& sets)
    : graph_(graph), sets_(sets) {
  size_t most_words = 0;
  for (const Stage& stage : layout.stages) {
    const Operator& root = graph.operators[stage.root];
    const ValueId output = root.outputs[0];
    if (!IsLocal(graph, root) || layout.is_done_by_placement[stage.root]) continue;
    const auto reads_input = [&](OpId op) {
      const std::vector<ValueId>& reads = graph.operators[op].inputs;
      return std::ranges::any_of(reads, [&](ValueId value) {
        const OpId producer = graph.value(value).producer;
        if (producer != kNone) return PreparesInput(graph, graph.operators[producer]);
        return !graph.value(value).is_constant();
      });
    };
    const Value& value = graph.value(output);
    candidates_.push_back({output,
                           reads_input(stage.root) || std::ranges::any_of(stage.inner, reads_input),
                           sets.Make(HeightOf(value), WidthOf(value))});
    largest_map_ = std::max(largest_map_, static_cast<size_t>(ElementCount(value.shape)));
    largest_pixel_ = std::max(largest_pixel_, static_cast<size_t>(value.shape[0] * value.shape[1]));
    most_words = std::max(most_words, MaskWords(HeightOf(value), WidthOf(value)));
  }
  words_.resize(most_words);
}

void StoredCheck::AllComputed() {
  has_policy_ = false;
  covers_inactive_ = true;
  is_committed_ = has_promise_ = true;
}

void StoredCheck::ReceiveParts() {
  if (policy_.kind == ChangePolicy::Kind::kFixed) has_promise_ = false;
}

void StoredCheck::Begin(const ChangePolicy& policy, bool stores_small_changes) {
  Suspend();
  has_promise_ = true;
  const bool is_same = policy.kind == policy_.kind && policy.threshold == policy_.threshold &&
                       policy.spreads == policy_.spreads;
  const bool ends_promise = policy.kind == ChangePolicy::Kind::kFixed || stores_small_changes;
  if (ends_promise || (has_policy_ && !is_same)) covers_inactive_ = false;
  policy_ = policy;
  has_policy_ = true;
}

void StoredCheck::Move() {
  Suspend();
  covers_inactive_ = false;
}

void StoredCheck::Suspend() { is_committed_ = false; }

void StoredCheck::Commit() { is_committed_ = true; }

std::optional<StoredPixel> StoredCheck::Choose(std::mt19937& random, const FrameMasks& masks) {
  if (!is_committed_ || !has_promise_ || candidates_.empty()) return std::nullopt;
  const Candidate& candidate = candidates_[random() % candidates_.size()];
  const Value& value = graph_.value(candidate.map);
  const StoredPixel pixel = {candidate.map, static_cast<int>(random() % HeightOf(value)),
                             static_cast<int>(random() % WidthOf(value))};
  const MaskView mask(words_.data(), HeightOf(value), WidthOf(value));
  sets_.Read(masks.changed(pixel.map), mask);
  chosen_ = &candidate;
  is_chosen_active_ = mask.Test(pixel.row, pixel.column);
  const bool is_promised = covers_inactive_ && !candidate.reads_input;
  if (!is_promised && !is_chosen_active_) return std::nullopt;
  const PeerRows* peer = masks.peer();
  if (peer != nullptr && peer->last_row(pixel.map, pixel.row) != PeerRows::kComputed) {
    return std::nullopt;
  }
  if (masks.has_stale()) {
    sets_.Read(masks.stale(pixel.map), mask);
    if (mask.Test(pixel.row, pixel.column)) return std::nullopt;
  }
  return pixel;
}

PixelSet StoredCheck::Alone(const StoredPixel& pixel) {
  const MaskView mask(words_.data(), chosen_->alone.height, chosen_->alone.width);
  ClearAll(mask);
  mask.Set(pixel.row, pixel.column);
  sets_.Write(mask, chosen_->alone);
  return chosen_->alone;
}

void StoredCheck::MakeRoom(Backend& backend) {
  if (shadow_ != nullptr || largest_map_ == 0) return;
  shadow_ = backend.Allocate(largest_map_);
  stored_numbers_.reserve(largest_pixel_);
  numbers_.reserve(largest_pixel_);
}

TensorView StoredCheck::Shadow(const TensorView& stored) const {
  return ShadowOf(stored, shadow_.get());
}

bool StoredCheck::AreAlike(const StoredPixel& pixel, const TensorView& stored,
                           const TensorView& again, Backend& backend) {
  CopyPixel(stored, pixel, backend, stored_numbers_);
  CopyPixel(again, pixel, backend, numbers_);
  // Words of bytes may look like any NaN.
  const auto are_same = graph_.value(pixel.map).is_eight_bit() ? HaveSameBits : AreSame;
  if (std::ranges::equal(numbers_, stored_numbers_, are_same)) return true;
  const bool may_differ =
      has_policy_ && policy_.kind == ChangePolicy::Kind::kChange && !is_chosen_active_;
  return may_differ && policy_.spreads != nullptr && IsWithinThreshold(pixel.map);
}

// Only with a batch of one may kept values differ.
bool StoredCheck::IsWithinThreshold(ValueId map) const {
  const std::vector<float>& inverse_spread = (*policy_.spreads)[map];
  const Value& value = graph_.value(map);
  if (value.shape[0] != 1 || static_cast<int64_t>(inverse_spread.size()) != SpreadCount(value)) {
    return false;
  }
  const auto number = [&](const std::vector<float>& pixel, size_t c) {
    if (!value.is_eight_bit()) return double{pixel[c]};
    return static_cast<double>(ByteOf(pixel.data(), static_cast<int>(c), value.steps.is_signed));
  };
  double squares = 0.0;
  for (size_t c = 0; c < inverse_spread.size(); ++c) {
    const double change = (number(numbers_, c) - number(stored_numbers_, c)) * inverse_spread[c];
    squares += change * change;
  }
  return std::sqrt(squares / static_cast<double>(inverse_spread.size())) <=
         policy_.threshold * (1.0 + kRounding);
}

}  // namespace cacheinf
