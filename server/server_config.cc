#include "server/server_config.h"

#include "common/base/cache_folder.h"
#include "common/base/file.h"
#include "common/config/config_options.h"
#include "common/config/server_link_config.h"
#include "common/link/address.h"
#include "common/link/emulated_link.h"

namespace cacheinf {
namespace {

constexpr double kMostThreads = 1024;
constexpr double kMostWait = 1e9;
constexpr uint64_t kLargestFile = 1 << 20;
constexpr double kMostMegabytes = 1 << 30;

}  // namespace

FieldTable ServerConfig::Fields() {
  return {
      Field{"listen", &listen,
            "Where robots find the server: tcp://HOST:PORT, mpi within one mpirun, or mpi:NAME "
            "through a name server. HOST is an address or interface of this machine, or * for all; "
            "port 0 lets the system choose.",
            "Set it if robots are started separately."}
          .Flag("--listen"),
      Field{"name_server", &name_server,
            "The name server's file. By default $CACHEINF_NAME_SERVER, else name-server in "
            "${CACHEINF_CACHE:-~/.cache/cacheinf}.",
            "Set it if several name servers run on one machine."}
          .Flag("--name-server"),
      Field{"interface", &interface,
            "With mpi:NAME, the only network interface to listen at, by its name or address, or "
            "all. By default the one towards the name server, as that says.",
            "Set it if robots come by another one."}
          .Flag("--interface"),
      Field{"key", &key,
            "The file of the server's secret key, which cacheinf-server keygen writes. Robots need "
            "the public one.",
            "Set it for tcp:// to other machines."}
          .Flag("--key"),
      Field{"robots", &robots,
            "The file that lists the robots that may come, a public key and a name a line. A key "
            "that is struck from it is cut off within a second.",
            "Set it for tcp:// to other machines."}
          .Flag("--robots"),
      Field{"backend", MakeChoice(backend), kBackendHelp,
            "Use cuda on a machine with a GPU. A lower precision is for robots in mode remote, or "
            "whose policy is not exact."}
          .Flag("--backend")
          .Unlisted(kEmulatedBackends),
      Field{"threads", &threads, "Threads that compute; 0: one per core.",
            "Lower it to leave cores to others."}
          .Between(0, kMostThreads)
          .Flag("--threads"),
      Field{"models", &models,
            "Folder for the models that robots bring; by default served-models in "
            "${CACHEINF_CACHE:-~/.cache/cacheinf}.",
            "Set it if that disk is small."}
          .Flag("--models"),
      Field{"trust_robots", &trust_robots,
            "Runs code that any robot's model brings, unchecked. That is: TorchScript operators "
            "outside of CacheInf's own set, which LibTorch runs. Without it only models of robots "
            "that "
            "are marked trusted in the list of robots may bring such code.",
            "Set it only if you trust everyone who reaches the server."}
          .Flag("--trust-robots"),
      Field{"robot_memory_mb", &robot_memory_mb,
            "The most memory that models of robots with one key, and their states, may take. "
            "Robots without keys are not limited.",
            "Raise it for large models or for many robots with one key."}
          .Between(1, kMostMegabytes)
          .Flag("--robot-memory-mb"),
      Field{"robot_disk_mb", &robot_disk_mb,
            "The most that the models of robots with one key may fill of the disk; those that were "
            "not used for the longest time make room for others.",
            "Lower it if the disk is small."}
          .Between(1, kMostMegabytes)
          .Flag("--robot-disk-mb"),
      Field{"robot_measuring_s", &robot_measuring_s,
            "How many seconds of an hour the server may measure and solve for robots with one key.",
            "Raise it where robots often bring new models."}
          .Between(0, kMostWait)
          .Flag("--robot-measuring-s"),
      Field{
          "once", &once,
          "Serves the first robot that can be served, and exits when it leaves. The code is 0, or "
          "1 if none came.",
          "Set it in scripts and tests."}
          .Flag("--once"),
      Field{"wait", &wait_s, "With --once, seconds to wait for that robot; 0: forever.",
            "Set it if nobody looks after the server."}
          .Between(0, kMostWait)
          .Flag("--wait"),
      Field{"emulate", &emulate,
            "Emulates a slow server (5x), a poor link (93mbit,3ms), or both (5x,93mbit,3ms). As "
            "--emulate of cacheinf-robot. Give the robot the same link.",
            "Set it for experiments on one machine."}
          .Flag("--emulate"),
      Field{"dump_pictures", &dump_pictures,
            "Folder for the pictures of mode \"remote\" as decoded. N/000017.png is frame 17 of "
            "the Nth robot, and folder N is a source for cacheinf-robot.",
            "Set it to see what a lossy codec leaves of a picture."}
          .Flag("--dump-pictures"),
      Field{"log_level", MakeChoice(log_level), "The lowest level of messages to write to stderr.",
            "Lower it to find out why robots leave."}
          .Flag("--log-level"),
  };
}

LinkAddress ServerConfig::Address() const {
  return ParseLinkAddress("--listen", listen, {name_server, key, robots, interface});
}

void ServerConfig::Load(const ConfigOptions& options) {
  if (!options.file().empty()) {
    ReadJson(ReadFile(options.file(), kLargestFile), options.file(), Fields());
    const std::filesystem::path folder = std::filesystem::path(options.file()).parent_path();
    for (std::string* path : {&name_server, &key, &robots, &models, &dump_pictures}) {
      if (!path->empty()) *path = (folder / *path).string();
    }
    emulate = ChangeTrace(emulate,
                          [&folder](const std::string& path) { return (folder / path).string(); });
  }
  options.Override(Fields());
  CheckBounds("configuration", Fields());
  if (models.empty()) models = (CacheFolder() / "served-models").string();
  Address();
  ParseEmulation(emulate);
}

}  // namespace cacheinf
