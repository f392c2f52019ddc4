#include "common/answer/recomputed.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "common/model/graph/cost.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {
namespace {

ClassMap MapOf(const ModelState& state, int level) {
  const Shape& picture = state.graph().value(state.graph().inputs.front()).shape;
  ClassMap map = {static_cast<int>(picture[3]), static_cast<int>(picture[2]), {}};
  map.classes.assign(static_cast<size_t>(map.width) * static_cast<size_t>(map.height), level);
  return map;
}

}  // namespace

ClassMap Recomputed(const ModelState& state) {
  ClassMap map = MapOf(state, 0);
  Mask over_picture(map.height, map.width);
  std::vector<double> done(map.classes.size());
  double all = 0.0;
  for (const Operator& op : state.graph().operators) {
    const ValueId output = op.outputs[0];
    const auto multiply_adds = static_cast<double>(CostOf(state.graph(), op).multiply_adds);
    const bool is_known = state.graph().value(output).is_map() && state.is_kept(output);
    if (multiply_adds == 0.0 || !is_known) continue;
    all += multiply_adds;
    Rescale(state.changed(output), over_picture);
    const ConstMaskView mask = std::as_const(over_picture);
    for (int y = 0; y < map.height; ++y) {
      for (int x = 0; x < map.width; ++x) {
        if (mask.Test(y, x)) done[static_cast<size_t>(y * map.width + x)] += multiply_adds;
      }
    }
  }
  if (all == 0.0) return map;
  std::transform(done.begin(), done.end(), map.classes.begin(), [all](double share) {
    return static_cast<int32_t>(std::lround(share / all * kMostRecomputed));
  });
  return map;
}

ClassMap AllRecomputed(const ModelState& state) { return MapOf(state, kMostRecomputed); }

}  // namespace cacheinf
