#ifndef CACHEINF_COMMON_CONFIG_SERVER_LINK_CONFIG_H_
#define CACHEINF_COMMON_CONFIG_SERVER_LINK_CONFIG_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/words.h"
#include "common/codec/slice_codec.h"
#include "common/config/fields.h"

namespace cacheinf {

// A robot's server, and what it does in modes remote and split.
struct ServerLinkConfig {
  enum class ServerMode : uint8_t { kDense, kCache };

  std::string address;      // empty: there is none
  std::string name_server;  // its file; empty: the default one
  std::string interface;    // for mpi:NAME (common/link/address.h); empty: the name server's
  std::string robot_key;    // the robot's own key pair, a file; empty: none
  std::string server_key;   // the server's public key or its file; empty: none
  double wait_s = 0;
  std::string codec = "jpeg";
  SliceCodec slice_codec = SliceCodec::kZstd;
  ServerMode server_mode = ServerMode::kCache;
  std::vector<std::string> cuts;
  std::string model;     // file of what the server computes in mode remote; empty: the robot's
  std::string schedule;  // file; empty: the server makes one
  std::string emulate;   // common/link/emulated_link.h

  // Tells the server which of a program's robots this is; has no key. Empty: the only one.
  std::string robot;

  // The table lies over this object, which must outlive it.
  FieldTable Fields();
};

// Changes the path of the trace in an emulation, "5x,FILE.csv:COLUMN,3ms"; slowdown, column and
// delay may be missing.
std::string ChangeTrace(const std::string& emulation,
                        const std::function<std::string(const std::string& path)>& changed);

constexpr Words<2> WordsOf(ServerLinkConfig::ServerMode) { return {"dense", "cache"}; }

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CONFIG_SERVER_LINK_CONFIG_H_
