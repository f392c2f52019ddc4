#include "server/server_config.h"

#include "common/base/cache_folder.h"
#include "common/base/file.h"
#include "common/config/config_options.h"
#include "common/link/address.h"
#include "common/link/emulated_link.h"

namespace cacheinf {
namespace {

constexpr double kMostThreads = 1024;
constexpr double kMostWait = 1e9;
constexpr uint64_t kLargestFile = 1 << 20;

}  // namespace

FieldTable ServerConfig::Fields() {
  return {
      Field{
          "listen", &listen,
          "Where robots find the server: mpi among the programs of one mpirun, or mpi:NAME through "
          "a name server (scripts/name-server).",
          "Set a name where robots are started apart."}
          .Flag("--listen"),
      Field{"name_server", &name_server,
            "The name server's file; by default $CACHEINF_NAME_SERVER, else name-server in "
            "${CACHEINF_CACHE:-~/.cache/cacheinf}.",
            "Set it where several name servers run on one machine."}
          .Flag("--name-server"),
      Field{"backend", MakeChoice(backend), kBackendHelp,
            "Take cuda on a machine with a GPU. A lower precision is for robots in mode remote, or "
            "whose policy is not exact."}
          .Flag("--backend"),
      Field{"threads", &threads, "Threads that compute; 0: one a core.",
            "Lower it to leave cores to others."}
          .Between(0, kMostThreads)
          .Flag("--threads"),
      Field{"models", &models,
            "Folder for the models that robots bring; by default served-models in "
            "${CACHEINF_CACHE:-~/.cache/cacheinf}.",
            "Set it where that disk is small."}
          .Flag("--models"),
      Field{
          "once", &once,
          "Serve the first robot that can be served, and end when it leaves: exit code 0, or 1 if "
          "none came.",
          "Set it in scripts and tests."}
          .Flag("--once"),
      Field{"wait", &wait_s, "With --once, seconds to wait for that robot; 0: for ever.",
            "Set it where nobody looks after the server."}
          .Between(0, kMostWait)
          .Flag("--wait"),
      Field{"emulate", &emulate,
            "After every piece of work the server waits, so that it takes so many times as long "
            "(5x), and what leaves it does so at this speed and after this time (93mbit,3ms), or "
            "as a trace says (FILE.csv[:COLUMN],3ms); both: 5x,93mbit,3ms. Give the robot the same "
            "link.",
            "Leave it empty but for experiments on one machine."}
          .Flag("--emulate"),
      Field{
          "dump_pictures", &dump_pictures,
          "Folder for the pictures of mode \"remote\" as they were decoded: N/000017.png is frame "
          "17 of the robot that came as the Nth, and folder N a source for cacheinf-robot.",
          "Set it to see what a lossy codec leaves of a picture."}
          .Flag("--dump-pictures"),
      Field{"log_level", MakeChoice(log_level),
            "The least important messages that are written to stderr.",
            "Lower it to find out why robots leave."}
          .Flag("--log-level"),
  };
}

void ServerConfig::Load(const ConfigOptions& options) {
  if (!options.file().empty()) {
    ReadJson(ReadFile(options.file(), kLargestFile), options.file(), Fields());
  }
  options.Override(Fields());
  CheckBounds("configuration", Fields());
  if (models.empty()) models = (CacheFolder() / "served-models").string();
  ParseLinkAddress("--listen", listen, name_server);
  ParseEmulation(emulate);
}

}  // namespace cacheinf
