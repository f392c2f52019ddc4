#ifndef CACHEINF_COMMON_CANVAS_MAKE_GEOMETRY_H_
#define CACHEINF_COMMON_CANVAS_MAKE_GEOMETRY_H_

#include <memory>

#include "common/model/graph/graph.h"
#include "common/reuse/geometry.h"
#include "common/reuse/settings.h"
#include "common/tracker/tracker.h"

namespace cacheinf {

// The geometry that the settings name, for pictures of the graph's size.
// REQUIRES: a tracker if they follow the camera.
std::unique_ptr<Geometry> MakeGeometry(const ReuseSettings& settings, const Graph& graph,
                                       std::unique_ptr<Tracker> tracker);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CANVAS_MAKE_GEOMETRY_H_
