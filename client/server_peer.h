#ifndef CACHEINF_CLIENT_SERVER_PEER_H_
#define CACHEINF_CLIENT_SERVER_PEER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/config/server_link_config.h"
#include "common/link/channel.h"
#include "common/link/delay_line.h"
#include "common/link/link.h"
#include "common/model/graph/graph.h"
#include "common/pair/messages.h"
#include "common/pair/server_connection.h"

namespace cacheinf {

// Throws InputError if no server can exist at a configured address, or its link cannot be emulated
// as configured. Does not look for servers, so it is quick.
void CheckServerLink(const ServerLinkConfig& config);

// Gives a link to a server, or null while there is none. Never waits.
using ConnectToServer = std::function<std::unique_ptr<Link>()>;
using ConnectToServers = std::vector<ConnectToServer>;

// A robot's servers, which may or may not be there: one that takes part in its frames, the first of
// the list that can, and the next one, which is kept ready to take over: it has the model, and its
// schedule is known. Connects to them again and again (reconnection.h) and notices when one is
// lost. Goes back to a server earlier in the list once that has been ready for a while. Logs one
// sentence for each change. Connects on threads of its own, so it may be called seldom.
class ServerPeer {
 public:
  // `connect` takes the place of the configured addresses, as for servers within the process.
  // Throws InputError if no such server can exist. The clock must outlive this. Given a seed
  // `by_hand`, the owner pumps the channels by Pump, instead of a thread, and nothing is random.
  ServerPeer(const ServerLinkConfig& config, const Graph& graph, const Clock& clock,
             ConnectToServers connect = {}, std::optional<uint64_t> by_hand = {});
  ~ServerPeer();  // says goodbye

  // Call between frames. Returns a new connection or null; never waits. Calls `let_go` if the
  // server has been lost or must give way to another: everything that refers to its connection must
  // go then.
  ServerConnection* Poll(const std::function<void()>& let_go = {});

  // Why no server can take frames, in one sentence; empty if one can, or nothing is known.
  std::string problem() const;

  // Asks every server for a schedule, now or when it is met (ServerConnection::AskForSchedule).
  void AskForSchedule(message::Settings settings, std::string robot_profile);

  // Returns each schedule of the current server once, and the last one again when it takes over.
  std::optional<message::Schedule> TakeSchedule();

  bool Pump();

  // Statistics of the current connection; the bytes on the wire include connections that have
  // ended.
  std::optional<ChannelStatistics> statistics() const;

 private:
  class Meeting;
  struct Server;

  std::unique_ptr<Channel> Open(std::unique_ptr<Link> link) const;
  std::unique_ptr<Channel> NextChannel(Server& server) const;
  void LookAfter(Server& server);
  void LetGo(Server& server);
  void Connect(Server& server);
  void NoteLoss(Server& server);
  void ReportProblem(Server& server);
  void HearNext(Server& server);
  bool IsBetterReady() const;
  Server* Choose();
  std::string At(const Server& server) const;
  std::string Probation(const Server& server) const;

  const Clock& clock_;
  const message::Hello greeting_;
  const MappedFile model_;
  const std::optional<LinkShape> link_shape_;
  const bool is_by_hand_;
  std::vector<std::unique_ptr<Server>> servers_;
  Server* current_ = nullptr;
  std::chrono::nanoseconds
      later_ones_from_;               // from when on a server that is not the first may be taken
  bool must_change_ = false;          // a better one is ready
  bool has_new_schedule_ = false;     // of the current server
  uint64_t past_sent_bytes_ = 0;      // by connections that have ended
  uint64_t past_received_bytes_ = 0;  // likewise
  std::optional<message::Settings> settings_;  // to ask for schedules with
  std::string robot_profile_;
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_SERVER_PEER_H_
