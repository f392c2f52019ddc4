#ifndef CACHEINF_SERVER_SERVER_H_
#define CACHEINF_SERVER_SERVER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/base/clock.h"
#include "common/link/link.h"
#include "server/server_config.h"

namespace cacheinf {

// The link of the next robot; null: none came within a moment. Called on a thread of its own.
using AcceptRobot = std::function<std::unique_ptr<Link>()>;

// Serves robots: a session each (common/pair/session.h), which share models' weights and one thread
// that computes, fair by the stage. Ends when `stop` says so, after the frames in hand; with
// config.once after the first robot that was greeted has left, or when none came in time. Returns
// how many were greeted.
int ServeRobots(const AcceptRobot& accept, const ServerConfig& config, const Clock& clock,
                const std::function<bool()>& stop);

}  // namespace cacheinf

#endif  // CACHEINF_SERVER_SERVER_H_
