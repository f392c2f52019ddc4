#ifndef CACHEINF_COMMON_EXEC_MOVING_MAPS_H_
#define CACHEINF_COMMON_EXEC_MOVING_MAPS_H_

#include <cstddef>
#include <memory>

#include "common/exec/backend.h"
#include "common/exec/layout.h"
#include "common/exec/pixel_sets.h"
#include "common/model/graph/graph.h"
#include "sparse_ops/homography.h"
#include "sparse_ops/views.h"

namespace cacheinf {

// The kept maps over the picture, for a camera that moves (Eq. 6 of the paper). Each has two
// places. Operators read and write the one in front. When the camera has moved, the two swap roles
// and nothing in front is valid: before an operator runs, pixels that it reads and that no operator
// of the frame has computed are fetched from behind, through the homography. Settle fetches the
// rest in idle time. While the camera is still, nothing is fetched, copied or looked at.
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
  ~MovingMaps();
  MovingMaps(const MovingMaps&) = delete;
  MovingMaps& operator=(const MovingMaps&) = delete;

  size_t second_floats() const;  // of the memory that was allocated

  bool has_two_places(ValueId value) const;

  // Where a value lies in its first or second place, if it has two. Every Move swaps which one is
  // in front.
  TensorView View(ValueId value, int place) const;
  int front() const;

  // Pixel p of the next frame lies at stored_from_frame(p) in the last one. REQUIRES: settled maps.
  void Move(const Homography& stored_from_frame);

  // Whether everything in front is valid.
  bool is_settled() const;

  // The value's pixels that the last Move left without an old value to fetch: they must be computed
  // before they are read. The set may not exist: there are none. REQUIRES: a value in two places.
  PixelSet out_of_view(ValueId value) const;

  // The functions below do nothing while the maps are settled, or for values that are not in two
  // places.

  // Fetches what an operator reads for these pixels of its output, or everything if it is not
  // local.
  void FetchReads(OpId op, PixelSet output_pixels);
  void Fetch(ValueId value, PixelSet pixels);
  void FetchAll(ValueId value);  // REQUIRES: a graph output

  // An operator computes these pixels in front.
  void AddComputed(ValueId value, PixelSet pixels);

  // Returns whether there was anything to do.
  bool Settle();

  // Takes everything in front as valid, because all of it will be computed.
  void Drop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_MOVING_MAPS_H_
