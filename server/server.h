#ifndef CACHEINF_SERVER_SERVER_H_
#define CACHEINF_SERVER_SERVER_H_

#include <functional>
#include <memory>

#include "common/base/clock.h"
#include "common/link/link.h"
#include "server/server_config.h"

namespace cacheinf {

// Returns the next robot's link; null if none came within a moment. Runs on its own thread.
using AcceptRobot = std::function<std::unique_ptr<Link>()>;

// Serves robots, each in its own session (common/pair/session.h). Sessions share models' weights
// and one computing thread (turns.h). If no thread or memory is left for a robot, it is told so,
// and no other is disturbed. Ends when `stop` returns true; with config.once,
// after the first greeted robot has left, or if none came in time. Returns how many were greeted.
int ServeRobots(const AcceptRobot& accept, const ServerConfig& config, const Clock& clock,
                const std::function<bool()>& stop);

}  // namespace cacheinf

#endif  // CACHEINF_SERVER_SERVER_H_
