#include "common/exec/moving_maps.h"

#include <algorithm>
#include <cstdint>

#include "common/backend/arena.h"
#include "common/backend/operator_call.h"
#include "common/model/graph/geometry.h"

namespace cacheinf {
namespace {

AxisPlacement PlaceInput(int64_t size, int64_t picture_size) {
  const double stride = static_cast<double>(picture_size) / static_cast<double>(size);
  return {stride, 0.5 * stride - 0.5};
}

bool AreEqual(const AxisPlacement& a, const AxisPlacement& b) {
  return a.stride == b.stride && a.offset == b.offset;
}

bool IsBroadcast(const Window& window) {
  return window.rows.kind == AxisWindow::Kind::kBroadcast ||
         window.columns.kind == AxisWindow::Kind::kBroadcast;
}

}  // namespace

MovingMaps::MovingMaps(const Graph& graph, const Layout& layout, float* arena, Backend& backend,
                       PixelSets& sets)
    : graph_(graph),
      layout_(layout),
      arena_(arena),
      backend_(backend),
      sets_(sets),
      second_offsets_(graph.values.size()),
      grid_of_(graph.values.size()),
      leaf_of_(graph.values.size()) {
  const std::vector<std::optional<MapPlacement>> placements = PlaceMaps();
  FindBuffers(placements);
  second_ = backend.Allocate(second_floats_);
  for (ValueId id = 0; id < static_cast<ValueId>(graph.values.size()); ++id) {
    if (!has_two_places(id)) continue;
    const Value& value = graph.value(id);
    if (value.is_map()) grid_of_[id] = GridOf(value, placements[id]);
    if (layout.is_done_by_placement[value.producer]) continue;
    leaf_of_[id] = leaves_.size();
    leaves_.push_back(
        {*grid_of_[id],
         value.type == DataType::kFloat32 ? Interpolation::kBilinear : Interpolation::kNearest,
         OwnChannels(id), sets.Make(HeightOf(value), WidthOf(value))});
  }
  for (OpId op = 0; op < static_cast<OpId>(graph.operators.size()); ++op) {
    reads_.push_back(ReadsOf(op));
  }
}

// One per value; none if it shows no picture. The first map among the graph inputs is the picture.
// Where an operator reads several maps, the first one counts.
std::vector<std::optional<MovingMaps::MapPlacement>> MovingMaps::PlaceMaps() const {
  std::vector<std::optional<MapPlacement>> placements(graph_.values.size());
  const Value* picture = nullptr;
  for (const ValueId id : graph_.inputs) {
    const Value& input = graph_.value(id);
    if (!input.is_map()) continue;
    if (picture == nullptr) picture = &input;
    placements[id] = MapPlacement{PlaceInput(input.shape[2], picture->shape[2]),
                                  PlaceInput(input.shape[3], picture->shape[3])};
  }
  for (const Operator& op : graph_.operators) {
    if (!IsLocal(graph_, op)) continue;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const std::optional<MapPlacement>& input = placements[op.inputs[i]];
      if (!input) continue;
      const Window window = InputWindow(graph_, op, static_cast<int>(i));
      if (IsBroadcast(window)) continue;
      placements[op.outputs[0]] = MapPlacement{PlaceOutput(input->rows, window.rows),
                                               PlaceOutput(input->columns, window.columns)};
      break;
    }
  }
  return placements;
}

// A buffer moves with the first map in it that moves.
void MovingMaps::FindBuffers(const std::vector<std::optional<MapPlacement>>& placements) {
  for (ValueId id = 0; id < static_cast<ValueId>(graph_.values.size()); ++id) {
    if (!placements[id] || !layout_.places[id].exists || !layout_.is_kept[id]) continue;
    const ValueId owner = OwnerOf(id);
    const Value& value = graph_.value(owner);
    if (value.producer == kNone || second_offsets_[owner]) continue;
    second_offsets_[owner] = second_floats_;
    second_floats_ += AlignedFloats(static_cast<size_t>(ElementCount(value.shape)));
  }
}

std::vector<MovingMaps::Read> MovingMaps::ReadsOf(OpId id) {
  const Operator& op = graph_.operators[id];
  const bool is_concat = op.As<op::Concat>() != nullptr;
  const bool is_local = IsLocal(graph_, op);
  std::vector<Read> reads;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const ValueId input = op.inputs[i];
    const Value& value = graph_.value(input);
    if (value.is_constant() || !has_two_places(input)) continue;
    const bool lies_in_output = is_concat ? layout_.places[input].viewed == op.outputs[0]
                                          : layout_.is_done_by_placement[id];
    const PixelWay way =
        is_local ? sets_.MakeWay(InputWindow(graph_, op, static_cast<int>(i))) : PixelWay();
    reads.push_back(
        {input, !is_local, way, lies_in_output, sets_.Make(HeightOf(value), WidthOf(value))});
  }
  return reads;
}

size_t MovingMaps::GridOf(const Value& map, const std::optional<MapPlacement>& placement) {
  const int height = HeightOf(map);
  const int width = WidthOf(map);
  for (size_t i = 0; i < grids_.size(); ++i) {
    const Grid& grid = grids_[i];
    if (grid.height != height || grid.width != width) continue;
    if (grid.placement.has_value() != placement.has_value()) continue;
    if (!placement || (AreEqual(grid.placement->rows, placement->rows) &&
                       AreEqual(grid.placement->columns, placement->columns))) {
      return i;
    }
  }
  grids_.push_back(
      {height, width, placement, {}, sets_.Make(height, width), sets_.Make(height, width)});
  return grids_.size() - 1;
}

// The channels that the value's operator writes.
std::vector<MovingMaps::TwoPlaces> MovingMaps::OwnChannels(ValueId id) const {
  const Operator& op = graph_.operators[graph_.value(id).producer];
  const TwoPlaces all = {AsImage(View(id, 0)), AsImage(View(id, 1))};
  const auto lies_here = [&](ValueId input) { return layout_.places[input].viewed == id; };
  if (op.As<op::Concat>() == nullptr || std::ranges::none_of(op.inputs, lies_here)) return {all};
  std::vector<TwoPlaces> own;
  int64_t channel = 0;
  for (const ValueId part : op.inputs) {
    const int64_t count = graph_.value(part).shape[1];
    const size_t offset = layout_.places[id].offset + static_cast<size_t>(channel);
    if (!lies_here(part) || layout_.places[part].offset != offset) {
      TwoPlaces some = all;
      for (ImageView& view : some) {
        view.data += channel;
        view.channels = static_cast<int>(count);
      }
      own.push_back(some);
    }
    channel += count;
  }
  return own;
}

ValueId MovingMaps::OwnerOf(ValueId value) const {
  while (layout_.places[value].viewed != kNone) value = layout_.places[value].viewed;
  return value;
}

bool MovingMaps::has_two_places(ValueId value) const {
  return layout_.places[value].exists && second_offsets_[OwnerOf(value)].has_value();
}

TensorView MovingMaps::View(ValueId value, int place) const {
  TensorView view = ViewOf(graph_, layout_, value, arena_);
  if (place == 0) return view;
  const ValueId owner = OwnerOf(value);
  view.data = second_.get() + *second_offsets_[owner] +
              (layout_.places[value].offset - layout_.places[owner].offset);
  return view;
}

// During a frame.

void MovingMaps::Move(const Homography& stored_from_frame) {
  front_ = 1 - front_;
  is_settled_ = false;
  for (const Leaf& leaf : leaves_) sets_.Clear(leaf.held);
  for (Grid& grid : grids_) {
    if (!grid.placement) continue;
    grid.stored_from_frame =
        OfMap(stored_from_frame, grid.placement->rows, grid.placement->columns);
    FindOutOfView(grid);
  }
}

void MovingMaps::FindOutOfView(const Grid& grid) {
  sets_.Clear(grid.out_of_view);
  sets_.Fill(grid.wanted);
  ImageView no_images;
  no_images.height = grid.height;
  no_images.width = grid.width;
  backend_.Warp({Interpolation::kNearest, grid.stored_from_frame, no_images, no_images, {}, {}},
                sets_, grid.wanted, grid.out_of_view);
}

PixelSet MovingMaps::out_of_view(ValueId value) const {
  const std::optional<size_t>& grid = grid_of_[value];
  return grid ? grids_[*grid].out_of_view : PixelSet();
}

void MovingMaps::FetchReads(OpId op, PixelSet output_pixels) {
  if (is_settled_) return;
  for (const Read& read : reads_[op]) FetchRead(read, output_pixels);
}

void MovingMaps::FetchRead(const Read& read, PixelSet reader_pixels) {
  sets_.Clear(read.pixels);
  read.is_whole ? sets_.FillIfAny(reader_pixels, read.pixels)
                : sets_.AddRead(read.way, reader_pixels, read.pixels);
  Fetch(read.value, read.pixels);
}

// The paper's halo fetch.
void MovingMaps::Fetch(ValueId value, PixelSet pixels) {
  if (is_settled_ || !has_two_places(value)) return;
  for (const Read& read : reads_[graph_.value(value).producer]) {
    if (read.lies_in_output) FetchRead(read, pixels);
  }
  if (!leaf_of_[value]) return;
  const Leaf& leaf = leaves_[*leaf_of_[value]];
  sets_.Copy(pixels, grids_[leaf.grid].wanted);
  FetchWanted(leaf);
  sets_.Add(pixels, leaf.held);
}

// Skips what is held. What is out of view is computed before it is read.
void MovingMaps::FetchWanted(const Leaf& leaf) {
  const Grid& grid = grids_[leaf.grid];
  sets_.Remove(leaf.held, grid.wanted);
  for (const TwoPlaces& channels : leaf.channels) {
    backend_.Warp({leaf.interpolation,
                   grid.stored_from_frame,
                   channels[static_cast<size_t>(1 - front_)],
                   channels[static_cast<size_t>(front_)],
                   {},
                   {}},
                  sets_, grid.wanted, PixelSet());
  }
}

void MovingMaps::AddComputed(ValueId value, PixelSet pixels) {
  if (!is_settled_ && leaf_of_[value]) sets_.Add(pixels, leaves_[*leaf_of_[value]].held);
}

// The paper's warp and merge.
bool MovingMaps::Settle() {
  if (is_settled_) return false;
  for (const Leaf& leaf : leaves_) {
    sets_.Fill(grids_[leaf.grid].wanted);
    FetchWanted(leaf);
  }
  is_settled_ = true;
  return true;
}

}  // namespace cacheinf
