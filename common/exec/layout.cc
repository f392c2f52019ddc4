#include "common/exec/layout.h"

#include <algorithm>

#include "common/backend/arena.h"
#include "common/backend/operator_call.h"
#include "sparse_ops/view_transforms.h"

namespace cacheinf {
namespace {

using Strides = std::array<int64_t, TensorView::kMaxRank>;

Strides OwnStrides(const Shape& shape) {
  const auto rank = static_cast<int>(shape.size());
  return PackedView<float>(nullptr, shape.data(), rank, rank == 4 ? 1 : rank - 1).strides;
}

// Whether numbers lie in the order of the dimensions, without gaps.
bool LiesInLogicalOrder(const Shape& shape, const Strides& strides) {
  int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

class LayoutMaker {
 public:
  LayoutMaker(const Graph& graph, const std::vector<ValueId>& chosen, Keep keep)
      : graph_(graph),
        keep_(keep),
        is_needed_(graph.values.size(), false),
        keeps_buffer_(graph.values.size(), keep == Keep::kAllApart),
        lies_kept_(graph.values.size(), keep == Keep::kAll),
        spots_(graph.values.size()) {
    FindNeeded();
    FindKeepers(chosen);
    PlaceConcatenated();
    PlaceOthers();
  }

  Layout Make() const {
    Layout layout;
    for (const Operator& op : graph_.operators) {
      layout.is_done_by_placement.push_back(IsDoneByPlacement(op));
    }
    layout.is_kept = Kept().is_kept;
    layout.stages =
        keep_ == Keep::kChosen ? FindStages(graph_, layout.is_kept) : StagesOfOne(graph_);
    LayOutBuffers(layout);
    return layout;
  }

  KeptValues Kept() const {
    KeptValues kept;
    for (size_t id = 0; id < graph_.values.size(); ++id) {
      const Value& value = graph_.values[id];
      kept.is_kept.push_back(IsKept(id));
      kept.viewed.push_back(spots_[id].viewed);
      if (!OwnsBuffer(id) || value.is_constant() || !IsKept(id)) continue;
      kept.floats += AlignedFloats(static_cast<size_t>(ElementCount(value.shape)));
    }
    return kept;
  }

 private:
  // Where a value lies: in a buffer of its own, or in that of the value it is a view of.
  struct Spot {
    int buffer = kNone;  // kNone: not placed yet
    ValueId viewed = kNone;
    int64_t offset = 0;  // in floats, from the start of the buffer
    Strides strides = {};
  };

  void FindNeeded() {
    for (size_t id = 0; id < graph_.values.size(); ++id) {
      is_needed_[id] = !graph_.values[id].is_constant();
    }
    for (const Operator& op : graph_.operators) {
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        if (!IsParameter(op, i)) is_needed_[op.inputs[i]] = true;
      }
    }
    for (ValueId id : graph_.outputs) is_needed_[id] = true;
  }

  void FindKeepers(const std::vector<ValueId>& chosen) {
    if (keep_ == Keep::kChosen) lies_kept_ = AlwaysKept(graph_);
    std::vector<bool>& is_chosen = keep_ == Keep::kChosen ? lies_kept_ : keeps_buffer_;
    for (ValueId id : chosen) is_chosen[id] = true;
    for (ValueId id : graph_.outputs) keeps_buffer_[id] = true;
    for (size_t id = 0; id < graph_.values.size(); ++id) {
      if (graph_.values[id].producer == kNone) keeps_buffer_[id] = true;
    }
  }

  const Shape& ShapeOf(ValueId value) const { return graph_.value(value).shape; }
  bool IsPlaced(ValueId value) const { return spots_[value].buffer != kNone; }
  bool IsChannelConcat(const Operator& op) const {
    const auto* concat = op.As<op::Concat>();
    return concat != nullptr && concat->axis == 1 && graph_.value(op.outputs[0]).is_map();
  }

  bool OwnsBuffer(size_t value) const {
    return spots_[value].buffer != kNone && spots_[value].viewed == kNone;
  }
  // Whether the buffer that a value lies in is never given to another.
  bool IsInKeptBuffer(ValueId value) const { return keeps_numbers_[spots_[value].buffer]; }
  bool IsKept(size_t value) const {
    return graph_.values[value].producer == kNone || IsInKeptBuffer(static_cast<ValueId>(value));
  }
  // Whether a value may lie in the buffer that `other` lies in.
  bool MayShare(ValueId value, ValueId other) const {
    return !keeps_buffer_[value] && (!lies_kept_[value] || IsInKeptBuffer(other));
  }

  void GiveOwnBuffer(ValueId value) {
    const int buffer = static_cast<int>(keeps_numbers_.size());
    spots_[value] = {buffer, kNone, 0, OwnStrides(ShapeOf(value))};
    keeps_numbers_.push_back(keeps_buffer_[value] || lies_kept_[value]);
  }

  void View(ValueId value, ValueId viewed, int64_t offset, const Strides& strides) {
    const Spot& base = spots_[viewed];
    spots_[value] = {base.buffer, viewed, base.offset + offset, strides};
  }

  // Goes from the last concatenation to the first, so that one that is itself concatenated already
  // has its place when its inputs need it.
  void PlaceConcatenated() {
    for (size_t id = graph_.operators.size(); id-- > 0;) {
      const Operator& op = graph_.operators[id];
      if (!IsChannelConcat(op)) continue;
      const ValueId whole = op.outputs[0];
      if (!IsPlaced(whole)) GiveOwnBuffer(whole);
      int64_t channel = 0;
      for (ValueId part : op.inputs) {
        if (MayShare(part, whole) && !IsPlaced(part)) {
          View(part, whole, channel, spots_[whole].strides);
        }
        channel += ShapeOf(part)[1];
      }
    }
  }

  void PlaceOthers() {
    for (ValueId id = 0; id < static_cast<ValueId>(graph_.values.size()); ++id) {
      if (is_needed_[id] && graph_.value(id).producer == kNone) GiveOwnBuffer(id);
    }
    for (const Operator& op : graph_.operators) {
      for (ValueId output : op.outputs) {
        if (IsPlaced(output)) continue;
        if (!TryToViewInput(op)) GiveOwnBuffer(output);
      }
    }
  }

  bool TryToViewInput(const Operator& op) {
    if (!op.As<op::Reshape>() && !op.As<op::Slice>()) return false;
    if (!MayShare(op.outputs[0], op.inputs[0])) return false;
    if (op.As<op::Reshape>()) return TryToViewReshaped(op.inputs[0], op.outputs[0]);
    if (const auto* slice = op.As<op::Slice>()) {
      return TryToViewSlice(*slice, op.inputs[0], op.outputs[0]);
    }
    return false;
  }

  bool TryToViewReshaped(ValueId input, ValueId output) {
    const Strides strides = OwnStrides(ShapeOf(output));
    if (!LiesInLogicalOrder(ShapeOf(input), spots_[input].strides) ||
        !LiesInLogicalOrder(ShapeOf(output), strides)) {
      return false;
    }
    View(output, input, 0, strides);
    return true;
  }

  bool TryToViewSlice(const op::Slice& slice, ValueId input, ValueId output) {
    // A small slice that lives long would keep a large buffer from being reused.
    constexpr int64_t kLargestRatio = 4;
    const bool is_large =
        ElementCount(ShapeOf(output)) * kLargestRatio >= ElementCount(ShapeOf(input));
    if (!graph_.value(output).is_map() || slice.steps[1] != 1 || !is_large) return false;
    Strides strides = spots_[input].strides;
    int64_t offset = 0;
    for (size_t i = 0; i < slice.starts.size(); ++i) {
      offset += slice.starts[i] * strides[i];
      strides[i] *= slice.steps[i];
    }
    View(output, input, offset, strides);
    return true;
  }

  bool IsDoneByPlacement(const Operator& op) const {
    if (op.As<op::Reshape>() || op.As<op::Slice>()) {
      return spots_[op.outputs[0]].viewed == op.inputs[0];
    }
    if (!IsChannelConcat(op)) return false;
    int64_t offset = spots_[op.outputs[0]].offset;
    for (ValueId part : op.inputs) {
      if (spots_[part].viewed != op.outputs[0] || spots_[part].offset != offset) return false;
      offset += ShapeOf(part)[1];
    }
    return true;
  }

  void LayOutBuffers(Layout& layout) const {
    const ArenaLayout arena = LayOutArena(BufferRequests(layout.stages));
    layout.places.resize(graph_.values.size());
    for (size_t id = 0; id < graph_.values.size(); ++id) {
      const Spot& spot = spots_[id];
      if (spot.buffer == kNone) continue;
      layout.places[id] = {true, arena.offsets[spot.buffer] + static_cast<size_t>(spot.offset),
                           spot.viewed, spot.strides};
      if (graph_.values[id].is_constant()) {
        layout.constant_floats += AlignedFloats(graph_.values[id].constant.count());
      }
    }
    layout.arena_floats = arena.floats;
    layout.kept_floats = arena.kept_floats;
    layout.lower_bound_floats = arena.lower_bound_floats;
  }

  // A buffer lives from when the first of its values is computed until the last is read.
  std::vector<BufferRequest> BufferRequests(const std::vector<Stage>& stages) const {
    std::vector<BufferRequest> requests(keeps_numbers_.size());
    for (size_t id = 0; id < graph_.values.size(); ++id) {
      if (!OwnsBuffer(id)) continue;
      BufferRequest& request = requests[spots_[id].buffer];
      request.floats = static_cast<size_t>(ElementCount(graph_.values[id].shape));
      request.kept = IsInKeptBuffer(static_cast<ValueId>(id));
    }
    std::vector<bool> lives(requests.size(), false);
    int step = 0;
    const auto use = [&](const std::vector<ValueId>& values) {
      for (const ValueId id : values) {
        if (!IsPlaced(id)) continue;
        const int buffer = spots_[id].buffer;
        if (!lives[buffer]) requests[buffer].first_step = step;
        requests[buffer].last_step = step;
        lives[buffer] = true;
      }
    };
    const auto run = [&](OpId op) {
      use(graph_.operators[op].inputs);
      use(graph_.operators[op].outputs);
      ++step;
    };
    for (const Stage& stage : stages) {
      for (const OpId op : stage.inner) run(op);
      run(stage.root);
    }
    return requests;
  }

  const Graph& graph_;
  Keep keep_;
  std::vector<bool> is_needed_;
  std::vector<bool> keeps_buffer_;  // lies in no other's buffer
  std::vector<bool> lies_kept_;     // lies in a kept buffer
  std::vector<Spot> spots_;
  std::vector<bool> keeps_numbers_;  // one per buffer
};

}  // namespace

Layout MakeLayout(const Graph& graph, const std::vector<ValueId>& chosen, Keep keep) {
  return LayoutMaker(graph, chosen, keep).Make();
}

KeptValues FindKept(const Graph& graph, const std::vector<ValueId>& chosen) {
  return LayoutMaker(graph, chosen, Keep::kChosen).Kept();
}

TensorView ViewOf(const Graph& graph, const Layout& layout, ValueId value, float* arena) {
  const Shape& shape = graph.value(value).shape;
  const ValuePlace& place = layout.places[value];
  TensorView view;
  view.data = arena + place.offset;
  view.rank = static_cast<int>(shape.size());
  std::copy(shape.begin(), shape.end(), view.dims.begin());
  view.strides = place.strides;
  return view;
}

}  // namespace cacheinf
