#ifndef CACHEINF_CLIENT_SERVER_PEER_H_
#define CACHEINF_CLIENT_SERVER_PEER_H_

#include <memory>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/config/server_link_config.h"
#include "common/link/channel.h"
#include "common/link/delay_line.h"
#include "common/link/mpi_link.h"
#include "common/model/graph/graph.h"
#include "common/pair/server_connection.h"

namespace cacheinf {

// A robot's server, which may be there or not: connects to it, again and again, and knows when it
// is lost. One that refuses the robot is asked more and more seldom. Each change is one sentence in
// the log.
class ServerPeer {
 public:
  // Throws InputError if there can be no such server. The clock outlives this.
  ServerPeer(const ServerLinkConfig& config, const Graph& graph, const Clock& clock);
  ~ServerPeer();  // says goodbye

  // Whether there was a server that is lost now. What refers to its connection must be gone before
  // the next Poll.
  bool is_lost() const { return connection_ && !connection_->fault().empty(); }

  // Between two frames; never waits. A new connection, or null.
  ServerConnection* Poll();

  // Of the connection that there is.
  std::optional<ChannelStatistics> statistics() const;

 private:
  void ReportProblem();

  const Clock& clock_;
  const MappedFile model_;
  MpiConnector connector_;
  const std::optional<LinkShape> link_shape_;
  std::unique_ptr<Channel> channel_;
  std::optional<ServerConnection> connection_;
  std::chrono::nanoseconds pause_;    // after the next server that refuses
  std::chrono::nanoseconds next_{0};  // no server is looked for before
  std::string problem_;               // the last one that was reported
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_SERVER_PEER_H_
