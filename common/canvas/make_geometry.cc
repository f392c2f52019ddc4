#include "common/canvas/make_geometry.h"

#include <utility>

#include "common/canvas/canvas_geometry.h"
#include "common/canvas/warp_geometry.h"
#include "common/exec/scroll.h"
#include "common/reuse/in_place.h"

namespace cacheinf {

std::unique_ptr<Geometry> MakeGeometry(const ReuseSettings& settings, const Graph& graph,
                                       std::unique_ptr<Tracker> tracker) {
  const Shape picture = graph.value(graph.inputs.front()).shape_of_numbers();
  const auto channels = static_cast<int>(picture[1]);
  const auto height = static_cast<int>(picture[2]);
  const auto width = static_cast<int>(picture[3]);
  if (settings.is_on_canvas()) {
    return std::make_unique<CanvasGeometry>(width, height, channels, ShiftStep(graph, kLargestStep),
                                            std::move(tracker));
  }
  if (settings.is_by_warp())
    return std::make_unique<WarpGeometry>(width, height, std::move(tracker));
  return std::make_unique<InPlace>(width, height);
}

}  // namespace cacheinf
