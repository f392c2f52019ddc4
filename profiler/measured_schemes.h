#ifndef CACHEINF_PROFILER_MEASURED_SCHEMES_H_
#define CACHEINF_PROFILER_MEASURED_SCHEMES_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/backend/backend.h"
#include "common/base/clock.h"
#include "common/model/graph/graph.h"
#include "common/model/graph/schemes.h"

// Which scheme is faster for each convolution, and up to how many active pixels a GPU takes small
// tiles (tiles change no bit).

namespace cacheinf {

// What a convolution's time depends on, such as "3x3 64->64 1x56x56 pad 1,1 relu". REQUIRES: a
// convolution.
std::string LayerText(const Graph& graph, const Operator& op);

// 16 hexadecimal digits that depend on the kinds, output shapes and order of the operators, and on
// LayerText where Winograd applies. Neither times nor this depend on weights.
std::string ModelDigest(const Graph& graph);

struct LayerTimes {
  std::string layer;  // LayerText
  double direct_ms = 0.0;
  double winograd_ms = 0.0;
};
using SchemeTimes = std::vector<LayerTimes>;

struct Measuring {
  // Leaves time to finish the current layer, so that measuring ends within 20 seconds.
  static constexpr std::chrono::milliseconds kBudget{18000};

  int threads = 1;
  std::chrono::nanoseconds budget = kBudget;
  // Called after each layer; measuring ends if it returns false. May be empty.
  std::function<bool(int done, int of)> on_progress;
};

// Times every distinct layer where Winograd applies, by both schemes in turn, on the CPU, on
// synthetic numbers with all pixels active; keeps medians. Does not time layers in `known` again,
// and leaves out layers for which the budget has no time.
SchemeTimes MeasureSchemes(const Graph& graph, const Measuring& measuring, const Clock& clock,
                           SchemeTimes known = {});

// The faster scheme of every measured layer; kDirect for the others.
Schemes FasterSchemes(const Graph& graph, const SchemeTimes& times);

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

// Sets the tiles of the layers that were measured.
void SetTiles(Graph& graph, const TileChoice& tiles);

// How many distinct layers MeasureTiles would time.
int TilesToMeasure(const Graph& graph, const TileChoice& known = {});

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_MEASURED_SCHEMES_H_
