#ifndef CACHEINF_COMMON_EXEC_MOVING_MAPS_H_
#define CACHEINF_COMMON_EXEC_MOVING_MAPS_H_

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "common/backend/backend.h"
#include "common/backend/pixel_sets.h"
#include "common/exec/layout.h"
#include "common/model/graph/graph.h"
#include "sparse_ops/homography.h"
#include "sparse_ops/views.h"
#include "sparse_ops/warp.h"

namespace cacheinf {

// The kept maps over the picture, for a camera that moves (Eq. 6 of the paper). Each has two
// places. Operators read and write the one in front. When the camera has moved, the two swap roles
// and nothing in front is valid: before an operator runs, the pixels that it reads are fetched from
// behind, through the homography, unless an operator of the frame has computed them. Settle fetches
// the rest in idle time. While the camera is still, nothing is fetched, copied or looked at.
//
// Graph inputs, which are set as a whole, and values that show no picture have one place. But what
// shares a buffer with a map that moves (parts of a concatenation, views) moves along; pixels of a
// part that shows no picture stay where they are.
//
// Values of an integer type (class numbers, say) take the nearest pixel; all others are
// interpolated. The constructor makes everything; a frame allocates nothing.
class MovingMaps {
 public:
  // `arena` has the first places, as the layout says; the second ones are allocated. All arguments
  // must outlive this.
  MovingMaps(const Graph& graph, const Layout& layout, float* arena, Backend& backend,
             PixelSets& sets);
  MovingMaps(const MovingMaps&) = delete;
  MovingMaps& operator=(const MovingMaps&) = delete;

  size_t second_floats() const { return second_floats_; }  // of the memory that was allocated

  bool has_two_places(ValueId value) const;

  // Where a value lies in its first or second place, if it has two. Every Move swaps which one is
  // in front.
  TensorView View(ValueId value, int place) const;
  int front() const { return front_; }

  // Pixel p of the next frame lies at stored_from_frame(p) in the last one. REQUIRES: settled maps.
  void Move(const Homography& stored_from_frame);

  // Whether everything in front is valid.
  bool is_settled() const { return is_settled_; }

  // The value's pixels that the last Move left without an old value to fetch: they must be computed
  // before they are read. A set that does not exist means that there are none. REQUIRES: a value in
  // two places.
  PixelSet out_of_view(ValueId value) const;

  // The functions below do nothing while the maps are settled, or for values that are not in two
  // places.

  // Fetches what an operator reads for these pixels of its output, or everything if it is not
  // local.
  void FetchReads(OpId op, PixelSet output_pixels);
  void Fetch(ValueId value, PixelSet pixels);

  // An operator computes these pixels in front.
  void AddComputed(ValueId value, PixelSet pixels);

  // Returns whether there was anything to do.
  bool Settle();

  // Takes everything in front as valid, because all of it will be computed.
  void Drop() { is_settled_ = true; }

 private:
  // Where a map's pixels lie in the picture.
  struct MapPlacement {
    AxisPlacement rows;
    AxisPlacement columns;
  };

  // What maps of one size and placement share.
  struct Grid {
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

  // What an operator reads of a value in two places.
  struct Read {
    ValueId value;
    bool is_whole;        // any output pixel reads all of it
    PixelWay way;         // if not is_whole
    bool lies_in_output;  // the operator leaves it where it is
    PixelSet pixels;      // of the value
  };

  std::vector<std::optional<MapPlacement>> PlaceMaps() const;
  void FindBuffers(const std::vector<std::optional<MapPlacement>>& placements);
  std::vector<Read> ReadsOf(OpId id);
  size_t GridOf(const Value& map, const std::optional<MapPlacement>& placement);
  std::vector<TwoPlaces> OwnChannels(ValueId id) const;
  ValueId OwnerOf(ValueId value) const;

  void FindOutOfView(const Grid& grid);
  void FetchRead(const Read& read, PixelSet reader_pixels);
  void FetchWanted(const Leaf& leaf);

  const Graph& graph_;
  const Layout& layout_;
  float* arena_;
  Backend& backend_;
  PixelSets& sets_;
  std::vector<std::optional<size_t>> second_offsets_;  // of values that own a buffer that moves
  size_t second_floats_ = 0;
  Backend::Memory second_;
  std::vector<Grid> grids_;
  std::vector<Leaf> leaves_;
  std::vector<std::optional<size_t>> grid_of_;  // one per value; for maps in two places
  std::vector<std::optional<size_t>> leaf_of_;  // one per value
  std::vector<std::vector<Read>> reads_;        // one per operator
  int front_ = 0;
  bool is_settled_ = true;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_MOVING_MAPS_H_
