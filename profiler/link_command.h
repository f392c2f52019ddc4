#ifndef CACHEINF_PROFILER_LINK_COMMAND_H_
#define CACHEINF_PROFILER_LINK_COMMAND_H_

#include <atomic>
#include <filesystem>
#include <string>

#include "common/base/clock.h"

namespace cacheinf {

struct LinkCommand {
  std::string server;       // common/link/address.h
  std::string name_server;  // the name server's file; empty: the default
  std::string robot_key;    // common/config/server_link_config.h, as the next two
  std::string server_key;
  std::string interface;
  std::string emulate;  // ParseLinkShape, for what leaves here
  double wait_s = 10;   // for the server
  int rounds = 9;
  std::filesystem::path out;  // JSON; empty: none
};

// Times messages of 1 byte to 1 MB to a server and back (common/pair/link_probe.h). Returns a
// table. Throws InputError if there is no such server or it was lost, Stopped once
// `stop` is set.
std::string RunLinkCommand(const LinkCommand& command, const Clock& clock,
                           const std::atomic<bool>& stop);

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_LINK_COMMAND_H_
