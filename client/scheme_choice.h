#ifndef CACHEINF_CLIENT_SCHEME_CHOICE_H_
#define CACHEINF_CLIENT_SCHEME_CHOICE_H_

#include <atomic>

#include "common/base/clock.h"
#include "common/config/robot_config.h"
#include "common/model/graph.h"

namespace cacheinf {

// Sets the scheme of every convolution as the configuration says, for so many threads. `auto` takes
// what was measured at an earlier start (SchemeFolder), or measures now, says so on stderr, and
// keeps it for the next; `stop` ends the measuring.
void ChooseSchemes(RobotConfig::Scheme choice, int threads, const Clock& clock,
                   const std::atomic<bool>& stop, Graph& graph);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_SCHEME_CHOICE_H_
