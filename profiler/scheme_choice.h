#ifndef CACHEINF_PROFILER_SCHEME_CHOICE_H_
#define CACHEINF_PROFILER_SCHEME_CHOICE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/backend/backend.h"
#include "common/base/clock.h"
#include "common/config/robot_config.h"
#include "common/model/graph/words.h"

namespace cacheinf {

// Sets every convolution's scheme as configured, for that many threads. `auto` takes what an
// earlier run measured (scheme_file.h), or measures now, says so on stderr, and stores the result;
// `stop` ends the measurement. On a GPU every scheme is direct, and `auto` chooses tiles
// (ChooseTiles) unless the GPU fails; on the stand-in and the reference it does nothing.
void ChooseSchemes(const RobotConfig& config, int threads, const Clock& clock,
                   const std::atomic<bool>& stop, Graph& graph);

// Sets every convolution's scheme to the fastest on this processor. Measures and stores as
// ChooseSchemes does.
void ChooseFastestSchemes(int threads, const Clock& clock, const std::atomic<bool>& stop,
                          Graph& graph);

// Sets, for every convolution, up to how many active pixels small tiles are faster on this GPU,
// which `make_backend` opens. Measures and stores as ChooseSchemes does, separately for each
// precision.
void ChooseTiles(RobotConfig::Backend backend, int threads,
                 const std::function<std::unique_ptr<Backend>()>& make_backend, const Clock& clock,
                 const std::atomic<bool>& stop, Graph& graph);

// The scheme of one of a graph's convolutions; a list has them in order.
struct NamedScheme {
  std::string layer;  // the operator's name
  Scheme scheme = Scheme::kDirect;

  friend bool operator==(const NamedScheme&, const NamedScheme&) = default;
};
using NamedSchemes = std::vector<NamedScheme>;

NamedSchemes SchemesOf(const Graph& graph);

// Sets these schemes, whatever is configured. Throws InputError if the graph's convolutions differ
// in name or number, or one cannot use its scheme.
void SetNamedSchemes(const NamedSchemes& schemes, Graph& graph);

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_SCHEME_CHOICE_H_
