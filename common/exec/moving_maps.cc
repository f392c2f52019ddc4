#include "common/exec/moving_maps.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/exec/arena.h"
#include "common/exec/operator_call.h"
#include "common/model/graph/geometry.h"
#include "sparse_ops/warp.h"

namespace cacheinf {
namespace {

// Where a map's pixels lie in the picture.
struct MapPlacement {
  AxisPlacement rows;
  AxisPlacement columns;
};

AxisPlacement PlaceInput(int64_t size, int64_t picture_size) {
  const double stride = static_cast<double>(picture_size) / static_cast<double>(size);
  return {stride, 0.5 * stride - 0.5};
}

bool IsBroadcast(const Window& window) {
  return window.rows.kind == AxisWindow::Kind::kBroadcast ||
         window.columns.kind == AxisWindow::Kind::kBroadcast;
}

// One per value; none if it shows no picture. The first map among the graph inputs is the picture.
// Where an operator reads several maps, the first one counts.
std::vector<std::optional<MapPlacement>> PlaceMaps(const Graph& graph) {
  std::vector<std::optional<MapPlacement>> placements(graph.values.size());
  const Value* picture = nullptr;
  for (const ValueId id : graph.inputs) {
    const Value& input = graph.value(id);
    if (!input.is_map()) continue;
    if (picture == nullptr) picture = &input;
    placements[id] = MapPlacement{PlaceInput(input.shape[2], picture->shape[2]),
                                  PlaceInput(input.shape[3], picture->shape[3])};
  }
  for (const Operator& op : graph.operators) {
    if (!IsLocal(graph, op)) continue;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const std::optional<MapPlacement>& input = placements[op.inputs[i]];
      if (!input) continue;
      const Window window = InputWindow(graph, op, static_cast<int>(i));
      if (IsBroadcast(window)) continue;
      const MapPlacement output = {PlaceOutput(input->rows, window.rows),
                                   PlaceOutput(input->columns, window.columns)};
      for (const ValueId id : op.outputs) placements[id] = output;
      break;
    }
  }
  return placements;
}

// What maps of one size and placement share.
struct Grid {
  bool IsOf(int of_height, int of_width, const std::optional<MapPlacement>& of) const {
    if (height != of_height || width != of_width || placement.has_value() != of.has_value()) {
      return false;
    }
    const auto are_equal = [](const AxisPlacement& a, const AxisPlacement& b) {
      return a.stride == b.stride && a.offset == b.offset;
    };
    return !placement ||
           (are_equal(placement->rows, of->rows) && are_equal(placement->columns, of->columns));
  }

  int height;
  int width;
  std::optional<MapPlacement> placement;  // none: the pixels stay where they are
  Homography stored_from_frame;           // between these maps
  PixelSet out_of_view;
  PixelSet wanted;  // while they are fetched
};

// Adjacent channels of a map, in both places.
using TwoPlaces = std::array<ImageView, 2>;

// A value whose pixels are written by its own operator, not by earlier ones.
struct Leaf {
  size_t grid;
  Interpolation interpolation;
  std::vector<TwoPlaces> channels;  // without those that already lie in place in a concatenation
  PixelSet held;                    // in front: computed or fetched
};

// What makes up the numbers of a value in two places.
struct Content {
  int leaf = kNone;
  std::vector<ValueId> parts;  // that lie in this concatenation, pixel by pixel
  ValueId viewed = kNone;      // the value that this one is a view of, if its operator does not run
  // How pixels read those of `viewed`, unless views_all.
  PixelWay way;
  bool views_all = false;
  PixelSet viewed_pixels;
};

// What an operator reads of a value in two places.
struct Read {
  ValueId value;
  PixelWay way;     // if the operator is local
  PixelSet pixels;  // of the value
};

struct Reads {
  bool is_local = false;
  std::vector<Read> values;
};

}  // namespace

struct MovingMaps::State {
  State(const Graph& graph, const Layout& layout, float* arena, Backend& backend, PixelSets& sets)
      : graph(graph),
        layout(layout),
        arena(arena),
        backend(backend),
        sets(sets),
        contents(graph.values.size()),
        grid_of(graph.values.size()) {
    const std::vector<std::optional<MapPlacement>> placements = PlaceMaps(graph);
    FindBuffers(placements);
    second = backend.Allocate(second_floats);
    for (ValueId id = 0; id < static_cast<ValueId>(graph.values.size()); ++id) {
      if (!HasTwoPlaces(id)) continue;
      if (graph.value(id).is_map()) grid_of[id] = GridOf(graph.value(id), placements[id]);
      FillContent(id, contents[id]);
    }
    for (const Operator& op : graph.operators) reads.push_back(ReadsOf(op));
    all_of.resize(graph.values.size());
    for (const ValueId output : graph.outputs) {
      if (HasTwoPlaces(output)) all_of[output] = SetFor(graph.value(output));
    }
  }

  ValueId OwnerOf(ValueId value) const {
    while (layout.places[value].viewed != kNone) value = layout.places[value].viewed;
    return value;
  }

  // A buffer moves with the first map in it that moves.
  void FindBuffers(const std::vector<std::optional<MapPlacement>>& placements) {
    second_offsets.resize(graph.values.size());
    for (ValueId id = 0; id < static_cast<ValueId>(graph.values.size()); ++id) {
      if (!placements[id] || !layout.places[id].exists || !layout.is_kept[id]) continue;
      const ValueId owner = OwnerOf(id);
      if (graph.value(owner).producer == kNone || second_offsets[owner]) continue;
      second_offsets[owner] = second_floats;
      second_floats += AlignedFloats(static_cast<size_t>(ElementCount(graph.value(owner).shape)));
    }
  }

  bool HasTwoPlaces(ValueId value) const {
    return layout.places[value].exists && second_offsets[OwnerOf(value)].has_value();
  }

  TensorView View(ValueId value, int place) const {
    TensorView view = ViewOf(graph, layout, value, arena);
    if (place == 0) return view;
    const ValueId owner = OwnerOf(value);
    view.data = second.get() + *second_offsets[owner] +
                (layout.places[value].offset - layout.places[owner].offset);
    return view;
  }

  size_t GridOf(const Value& map, const std::optional<MapPlacement>& placement) {
    const int height = HeightOf(map);
    const int width = WidthOf(map);
    for (size_t i = 0; i < grids.size(); ++i) {
      if (grids[i].IsOf(height, width, placement)) return i;
    }
    grids.push_back(
        {height, width, placement, {}, sets.Make(height, width), sets.Make(height, width)});
    return grids.size() - 1;
  }

  void FillContent(ValueId id, Content& content) {
    const OpId producer = graph.value(id).producer;
    const Operator& op = graph.operators[producer];
    const bool is_view = layout.is_done_by_placement[producer];
    if (op.As<op::Concat>() != nullptr) {
      for (const ValueId part : op.inputs) {
        const bool is_listed =
            std::find(content.parts.begin(), content.parts.end(), part) != content.parts.end();
        if (layout.places[part].viewed == id && !is_listed) content.parts.push_back(part);
      }
    } else if (is_view) {
      FillView(op, content);
    }
    if (is_view) return;
    content.leaf = static_cast<int>(leaves.size());
    const Value& value = graph.value(id);
    leaves.push_back(
        {*grid_of[id],
         value.type == DataType::kFloat32 ? Interpolation::kBilinear : Interpolation::kNearest,
         OwnChannels(id, op, content), SetFor(value)});
  }

  PixelSet SetFor(const Value& value) { return sets.Make(HeightOf(value), WidthOf(value)); }

  void FillView(const Operator& op, Content& content) {
    content.viewed = op.inputs[0];
    content.views_all = !IsLocal(graph, op);
    if (!content.views_all) content.way = sets.MakeWay(InputWindow(graph, op, 0));
    content.viewed_pixels = SetFor(graph.value(content.viewed));
  }

  // The channels that its operator writes.
  std::vector<TwoPlaces> OwnChannels(ValueId id, const Operator& op, const Content& content) const {
    const TwoPlaces all = {AsImage(View(id, 0)), AsImage(View(id, 1))};
    if (content.parts.empty()) return {all};
    std::vector<TwoPlaces> own;
    int64_t channel = 0;
    for (const ValueId part : op.inputs) {
      const int64_t count = graph.value(part).shape[1];
      const bool lies_here =
          layout.places[part].viewed == id &&
          layout.places[part].offset == layout.places[id].offset + static_cast<size_t>(channel);
      if (!lies_here) {
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

  Reads ReadsOf(const Operator& op) {
    Reads found;
    found.is_local = IsLocal(graph, op);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const ValueId input = op.inputs[i];
      if (graph.value(input).is_constant() || !HasTwoPlaces(input)) continue;
      Read read = {input, {}, SetFor(graph.value(input))};
      if (found.is_local) read.way = sets.MakeWay(InputWindow(graph, op, static_cast<int>(i)));
      found.values.push_back(read);
    }
    return found;
  }

  void Move(const Homography& stored_from_frame) {
    front = 1 - front;
    is_settled = false;
    for (const Leaf& leaf : leaves) sets.Clear(leaf.held);
    for (Grid& grid : grids) {
      grid.stored_from_frame =
          grid.placement ? OfMap(stored_from_frame, grid.placement->rows, grid.placement->columns)
                         : Homography();
      if (grid.placement) FindOutOfView(grid);
    }
  }

  void FindOutOfView(const Grid& grid) {
    sets.Clear(grid.out_of_view);
    sets.Fill(grid.wanted);
    ImageView no_images;
    no_images.height = grid.height;
    no_images.width = grid.width;
    backend.Warp({Interpolation::kNearest, grid.stored_from_frame, no_images, no_images, {}, {}},
                 sets, grid.wanted, grid.out_of_view);
  }

  void Fetch(ValueId value, PixelSet pixels) {
    const Content& content = contents[value];
    for (const ValueId part : content.parts) Fetch(part, pixels);
    if (content.viewed != kNone) FetchViewed(content, pixels);
    if (content.leaf != kNone) FetchLeaf(leaves[static_cast<size_t>(content.leaf)], pixels);
  }

  void FetchViewed(const Content& content, PixelSet pixels) {
    sets.Clear(content.viewed_pixels);
    if (content.views_all) {
      sets.FillIfAny(pixels, content.viewed_pixels);
    } else {
      sets.AddRead(content.way, pixels, content.viewed_pixels);
    }
    Fetch(content.viewed, content.viewed_pixels);
  }

  // The paper's halo fetch.
  void FetchLeaf(const Leaf& leaf, PixelSet pixels) {
    sets.Copy(pixels, grids[leaf.grid].wanted);
    FetchWanted(leaf);
    sets.Add(pixels, leaf.held);
  }

  // Skips what is held. What is out of view is computed before it is read.
  void FetchWanted(const Leaf& leaf) {
    const Grid& grid = grids[leaf.grid];
    sets.Remove(leaf.held, grid.wanted);
    for (const TwoPlaces& channels : leaf.channels) {
      backend.Warp({leaf.interpolation,
                    grid.stored_from_frame,
                    channels[static_cast<size_t>(1 - front)],
                    channels[static_cast<size_t>(front)],
                    {},
                    {}},
                   sets, grid.wanted, PixelSet());
    }
  }

  void FetchReads(OpId op, PixelSet output_pixels) {
    const Reads& read_by_op = reads[static_cast<size_t>(op)];
    for (const Read& read : read_by_op.values) {
      sets.Clear(read.pixels);
      if (read_by_op.is_local) {
        sets.AddRead(read.way, output_pixels, read.pixels);
      } else {
        sets.FillIfAny(output_pixels, read.pixels);
      }
      Fetch(read.value, read.pixels);
    }
  }

  const Leaf* LeafOf(ValueId value) const {
    const int leaf = contents[value].leaf;
    return leaf == kNone ? nullptr : &leaves[static_cast<size_t>(leaf)];
  }

  // The paper's warp and merge.
  void Settle() {
    for (const Leaf& leaf : leaves) {
      sets.Fill(grids[leaf.grid].wanted);
      FetchWanted(leaf);
    }
    is_settled = true;
  }

  const Graph& graph;
  const Layout& layout;
  float* arena;
  Backend& backend;
  PixelSets& sets;
  std::vector<std::optional<size_t>> second_offsets;  // of values that own a buffer that moves
  size_t second_floats = 0;
  Backend::Memory second;
  std::vector<Content> contents;               // one per value
  std::vector<std::optional<size_t>> grid_of;  // one per value; for maps in two places
  std::vector<Grid> grids;
  std::vector<Leaf> leaves;
  std::vector<Reads> reads;      // one per operator
  std::vector<PixelSet> all_of;  // one per value; for graph outputs
  int front = 0;
  bool is_settled = true;
};

MovingMaps::MovingMaps(const Graph& graph, const Layout& layout, float* arena, Backend& backend,
                       PixelSets& sets)
    : state_(std::make_unique<State>(graph, layout, arena, backend, sets)) {}
MovingMaps::~MovingMaps() = default;

size_t MovingMaps::second_floats() const { return state_->second_floats; }
bool MovingMaps::has_two_places(ValueId value) const { return state_->HasTwoPlaces(value); }
TensorView MovingMaps::View(ValueId value, int place) const { return state_->View(value, place); }
int MovingMaps::front() const { return state_->front; }
bool MovingMaps::is_settled() const { return state_->is_settled; }

void MovingMaps::Move(const Homography& stored_from_frame) { state_->Move(stored_from_frame); }

PixelSet MovingMaps::out_of_view(ValueId value) const {
  const std::optional<size_t>& grid = state_->grid_of[value];
  return grid ? state_->grids[*grid].out_of_view : PixelSet();
}

void MovingMaps::FetchReads(OpId op, PixelSet output_pixels) {
  if (!is_settled()) state_->FetchReads(op, output_pixels);
}

void MovingMaps::Fetch(ValueId value, PixelSet pixels) {
  if (!is_settled()) state_->Fetch(value, pixels);
}

void MovingMaps::FetchAll(ValueId value) {
  if (is_settled() || !has_two_places(value)) return;
  const PixelSet all = state_->all_of[value];
  state_->sets.Fill(all);
  state_->Fetch(value, all);
}

void MovingMaps::AddComputed(ValueId value, PixelSet pixels) {
  if (is_settled()) return;
  if (const Leaf* leaf = state_->LeafOf(value)) state_->sets.Add(pixels, leaf->held);
}

bool MovingMaps::Settle() {
  if (is_settled()) return false;
  state_->Settle();
  return true;
}

void MovingMaps::Drop() { state_->is_settled = true; }

}  // namespace cacheinf
