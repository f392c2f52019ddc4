#ifndef CACHEINF_SERVER_SERVER_CONFIG_H_
#define CACHEINF_SERVER_SERVER_CONFIG_H_

#include <string>

#include "common/base/log.h"
#include "common/config/fields.h"
#include "common/config/robot_config.h"
#include "common/link/address.h"

namespace cacheinf {

class ConfigOptions;

struct ServerConfig {
  std::string listen = "mpi";
  std::string name_server;  // empty: the default file
  std::string interface;    // of mpi:NAME (common/link/address.h); empty: the name server's
  std::string key;          // the server's key pair, a file; empty: none
  std::string robots;       // the list of robots' public keys, a file; empty: none
  RobotConfig::Backend backend = RobotConfig::Backend::kCpu;
  int threads = 0;     // 0: one per core
  std::string models;  // folder
  bool trust_robots = false;
  // Limits for all robots with one key together.
  double robot_memory_mb = 4096;
  double robot_disk_mb = 16384;
  double robot_measuring_s = 900;  // in an hour
  bool once = false;
  double wait_s = 0;          // with `once`; 0: forever
  std::string emulate;        // common/link/emulated_link.h
  std::string dump_pictures;  // folder; empty: none
  LogLevel log_level = LogLevel::kInfo;

  // The table refers to this object, which must outlive it.
  FieldTable Fields();

  // Where it listens. Throws InputError.
  LinkAddress Address() const;

  // Applies the options. Throws InputError.
  void Load(const ConfigOptions& options);
};

}  // namespace cacheinf

#endif  // CACHEINF_SERVER_SERVER_CONFIG_H_
