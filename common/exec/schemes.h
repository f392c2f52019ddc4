#ifndef CACHEINF_COMMON_EXEC_SCHEMES_H_
#define CACHEINF_COMMON_EXEC_SCHEMES_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/exec/backend.h"
#include "common/model/graph/graph.h"

// Which scheme computes each convolution. Schemes round differently, so a layer's scheme is chosen
// once, before its first frame, and never changes from frame to frame. And which tiles a GPU takes
// for how many active pixels, which changes no bit.

namespace cacheinf {

// One per operator; kDirect if it is no convolution.
using SchemePlan = std::vector<Scheme>;

// 3x3, stride 1, not dilated, transposed or depthwise.
bool WinogradApplies(const Graph& graph, const Operator& op);

// Throws InputError if the plan is not one of this graph: as many entries as operators, Winograd
// only where it applies.
void SetSchemes(Graph& graph, const SchemePlan& plan);

// What a convolution's time depends on, and nothing else: "3x3 64->64 1x56x56 pad 1,1 relu".
std::string LayerText(const Graph& graph, const Operator& op);

// 16 hexadecimal digits that differ if operators, their shapes or their order do. Times do not
// depend on weights, nor does this.
std::string ModelDigest(const Graph& graph);

struct LayerTimes {
  std::string layer;  // LayerText
  double direct_ms = 0.0;
  double winograd_ms = 0.0;
};
using SchemeTimes = std::vector<LayerTimes>;

struct Measuring {
  // Leaves time for the current layer, so that all ends within 20 seconds.
  static constexpr std::chrono::milliseconds kBudget{18000};

  int threads = 1;
  std::chrono::nanoseconds budget = kBudget;
  // After each layer; measuring ends if it returns false. May be empty.
  std::function<bool(int done, int of)> on_progress;
};

// Times every distinct layer where Winograd applies by both schemes, turn by turn on synthetic
// numbers, all pixels active: medians. Takes layers from `known` if they are there; leaves out
// those that the budget has no time for.
SchemeTimes MeasureSchemes(const Graph& graph, const Measuring& measuring, const Clock& clock,
                           SchemeTimes known = {});

// The faster scheme of every layer that was measured; kDirect of the others.
SchemePlan FasterSchemes(const Graph& graph, const SchemeTimes& times);

// How many distinct layers MeasureSchemes would time.
int LayersToMeasure(const Graph& graph, const SchemeTimes& known = {});

// ------------------------------------------------------------------------------------------------
// Tiles.

struct LayerTiles {
  std::string layer;          // LayerText
  int small_tiles_up_to = 0;  // op::Conv
};
using TileChoice = std::vector<LayerTiles>;

// Times every distinct convolution that has tiles with small and with large ones, turn by turn on
// synthetic numbers, for a part of its rows, twice as many, … up to all: medians. Takes layers from
// `known` and leaves out as MeasureSchemes does.
TileChoice MeasureTiles(const Graph& graph, const Measuring& measuring,
                        const std::function<std::unique_ptr<Backend>()>& make_backend,
                        const Clock& clock, TileChoice known = {});

// Sets those of the layers that were measured.
void SetTiles(Graph& graph, const TileChoice& tiles);

// How many distinct layers MeasureTiles would time.
int TilesToMeasure(const Graph& graph, const TileChoice& known = {});

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_SCHEMES_H_
