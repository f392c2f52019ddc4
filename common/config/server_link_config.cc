#include "common/config/server_link_config.h"

namespace cacheinf {

FieldTable ServerLinkConfig::Fields() {
  return {
      Field{"address", &address,
            "Where the server is, for modes \"remote\", \"split\" and \"cacheinf\": mpi among the "
            "programs of one "
            "mpirun, or mpi:NAME for a server that listens under this name.",
            "Set it for these modes. Without the server the robot answers alone, as in mode "
            "\"cache\"."}
          .Flag("--server"),
      Field{
          "name_server", &name_server,
          "The file of the name server that knows mpi:NAME; by default $CACHEINF_NAME_SERVER, else "
          "name-server in ${CACHEINF_CACHE:-~/.cache/cacheinf}.",
          "Set it where there are several."}
          .Flag("--name-server"),
      Field{"wait", &wait_s,
            "Seconds to wait at the start until the server is ready; 0: the robot answers alone "
            "until it is.",
            "Set it for comparisons."}
          .Between(0, 1e6)
          .Flag("--server-wait"),
      Field{"codec", &codec,
            "How pictures travel in mode \"remote\": raw, png, jpeg[:QUALITY], "
            "blocks[:QUALITY|:raw], or video[:ENCODER][:OPTION=VALUE]....",
            "Take video on narrow links, raw or png where every bit counts."}
          .Flag("--codec"),
      Field{"mode", MakeChoice(server_mode),
            "What the server computes of a picture in mode \"remote\": all of it, or what changed.",
            "Take dense where the server is fast and most of the picture changes."}
          .Flag("--server-mode"),
      Field{"cuts", &cuts,
            "For mode \"split\", VALUE[:SHARE]: of what is computed from this value on, until the "
            "next cut, the robot takes this share of the rows that changed, none if left out. "
            "Values are named as \"cacheinf-profile inspect\" prints them.",
            "Set it for mode \"split\"."}
          .AtMostItems(64)
          .Flag("--cut"),
      Field{"schedule", &schedule,
            "For mode \"cacheinf\", the file of cacheinf-schedule that says which plan is quickest "
            "when; without one, robot and server make it when they first meet, and keep it.",
            "Set it to plan offline."}
          .Flag("--schedule"),
      Field{"slice_codec", MakeChoice(slice_codec),
            "How rows and answers travel: zstd loses nothing, fp16 rounds.",
            "Take zstd or fp16 on narrow links."}
          .Flag("--slice-codec"),
      Field{"emulate", &emulate,
            "After every piece of work the robot waits, so that it takes so many times as long "
            "(5x), and what leaves it does so at this speed and after this time (93mbit,3ms), or "
            "as a trace says (FILE.csv[:COLUMN],3ms); both: 5x,93mbit,3ms. Give the server the "
            "same link.",
            "Leave it empty but for experiments on one machine."}
          .Flag("--emulate"),
  };
}

}  // namespace cacheinf
