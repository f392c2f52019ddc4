#include "common/config/server_link_config.h"

namespace cacheinf {

FieldTable ServerLinkConfig::Fields() {
  return {
      Field{"address", &address,
            "The server's address, for modes \"remote\", \"split\" and \"cacheinf\": mpi within "
            "one mpirun, or mpi:NAME for a server that listens under this name.",
            "Set it for these modes. Without the server the robot answers alone, as in mode "
            "\"cache\"."}
          .Flag("--server"),
      Field{
          "name_server", &name_server,
          "The file of the name server that knows mpi:NAME; by default $CACHEINF_NAME_SERVER, else "
          "name-server in ${CACHEINF_CACHE:-~/.cache/cacheinf}.",
          "Set it if there are several."}
          .Flag("--name-server"),
      Field{"wait", &wait_s,
            "Seconds to wait at the start until the server is ready and, in mode \"cacheinf\", has "
            "sent a plan; 0: the robot answers alone until then.",
            "Set it for comparisons."}
          .Between(0, 1e6)
          .Flag("--server-wait"),
      Field{"codec", &codec,
            "How pictures travel in mode \"remote\": raw, png, jpeg[:QUALITY], "
            "blocks[:QUALITY|:raw], video[:ENCODER][:OPTION=VALUE]... by libavcodec, or "
            "video:gst:PIPELINE by GStreamer elements that make H.264.",
            "Use video on narrow links, raw or png if every bit counts."}
          .Flag("--codec"),
      Field{"mode", MakeChoice(server_mode),
            "What the server computes of a picture in mode \"remote\", and both sides in mode "
            "\"split\": all of it, or what changed.",
            "Use dense if the server is fast and most of the picture changes."}
          .Flag("--server-mode"),
      Field{"cuts", &cuts,
            "For mode \"split\", VALUE[:SHARE]: from this value on, until the next cut, the robot "
            "computes this share of the rows that changed, none if left out. \"picture\" is the "
            "model's input; \"cacheinf-profile inspect\" prints the names of values, and "
            "\"cacheinf-schedule explain\" the cuts of its plans.",
            "Set it for mode \"split\"."}
          .AtMostItems(64)
          .Flag("--cut"),
      Field{
          "schedule", &schedule,
          "For mode \"cacheinf\", the file from cacheinf-schedule that says which plan is quickest "
          "when. Without it, robot and server make one when they first meet, and keep it.",
          "Set it to plan offline."}
          .Flag("--schedule"),
      Field{"slice_codec", MakeChoice(slice_codec),
            "How rows and answers travel: zstd loses nothing, fp16 rounds.",
            "Use zstd or fp16 on narrow links."}
          .Flag("--slice-codec"),
      Field{"emulate", &emulate,
            "Emulates a slow robot, which waits after every piece of work to take this many times "
            "as long (5x), and a link that delivers what it sends at this speed and after this "
            "time (93mbit,3ms), or as a trace says (FILE.csv[:COLUMN],3ms); both: 5x,93mbit,3ms. "
            "Give the server the same link.",
            "Leave it empty except for experiments on one machine."}
          .Flag("--emulate"),
  };
}

}  // namespace cacheinf
