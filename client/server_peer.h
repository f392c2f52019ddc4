#ifndef CACHEINF_CLIENT_SERVER_PEER_H_
#define CACHEINF_CLIENT_SERVER_PEER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/config/server_link_config.h"
#include "common/link/channel.h"
#include "common/link/delay_line.h"
#include "common/link/link.h"
#include "common/link/link_ends.h"
#include "common/model/graph/graph.h"
#include "common/pair/server_connection.h"

namespace cacheinf {

// Throws InputError if no server can exist at the configured address. Looks for none, and is quick.
void CheckAddress(const ServerLinkConfig& config);

// Gives a link to a server, or null while there is none. Never waits.
using ConnectToServer = std::function<std::unique_ptr<Link>()>;

// A robot's server, which may or may not be there. Connects to it again and again and notices when
// it is lost. Asks a server that refuses the robot less and less often, but one that is lost again
// a second after it was met at the latest. Logs one sentence for each change.
class ServerPeer {
 public:
  // `connect` takes the place of the configured address, as for a server within the process.
  // Throws InputError if no such server can exist. The clock must outlive this.
  ServerPeer(const ServerLinkConfig& config, const Graph& graph, const Clock& clock,
             ConnectToServer connect = {});
  ~ServerPeer();  // says goodbye

  // Whether the server has been lost. Destroy what refers to its connection before the next Poll.
  bool is_lost() const { return connection_ && !connection_->fault().empty(); }

  // Call between frames. Returns a new connection or null; never waits.
  ServerConnection* Poll();

  // Why there is no server, in one sentence; empty if there is one, or nothing is known.
  const std::string& problem() const { return problem_; }

  // Of the current connection.
  std::optional<ChannelStatistics> statistics() const;

 private:
  void ReportProblem();

  const Clock& clock_;
  const std::string name_;  // of the robot
  const MappedFile model_;
  std::unique_ptr<LinkConnector> connector_;  // unless there is another way to connect
  const ConnectToServer connect_;
  const std::optional<LinkShape> link_shape_;
  std::unique_ptr<Channel> channel_;
  std::optional<ServerConnection> connection_;
  std::chrono::nanoseconds pause_;      // after the next server that refuses
  std::chrono::nanoseconds next_{0};    // look for no server before then
  std::chrono::nanoseconds met_at_{0};  // the current one
  std::string problem_;                 // the last one reported
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_SERVER_PEER_H_
