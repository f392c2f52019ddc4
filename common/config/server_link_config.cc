#include "common/config/server_link_config.h"

#include <cstddef>
#include <string_view>

#include "common/base/number_text.h"

namespace cacheinf {

FieldTable ServerLinkConfig::Fields() {
  return {
      Field{"address", &address,
            "The server's address: tcp://HOST:PORT, mpi within one mpirun, or mpi:NAME. A name "
            "server knows NAME. With tcp://A,tcp://B the robot keeps the second ready, and goes on "
            "with it when the first is lost.",
            "Set it for these modes. Without the server the robot answers alone, as in mode "
            "\"cache\"."}
          .Flag("--server"),
      Field{
          "name_server", &name_server,
          "The file of the name server that knows mpi:NAME. By default $CACHEINF_NAME_SERVER, else "
          "name-server in ${CACHEINF_CACHE:-~/.cache/cacheinf}.",
          "Set it if there are several."}
          .Flag("--name-server"),
      Field{"interface", &interface,
            "For mpi:NAME, the only network interface to use, by its name or address, or all. By "
            "default the one towards the name server, as that says.",
            "Set it if the server is reached by another one."}
          .Flag("--interface"),
      Field{"robot_key", &robot_key,
            "The file of this robot's secret key, which cacheinf-server keygen writes. The "
            "server's list of robots needs the public one.",
            "Set it for tcp:// to another machine."}
          .Flag("--robot-key"),
      Field{"server_key", &server_key,
            "The server's public key, or the file that keygen wrote it to. The robot talks to no "
            "other server. Servers with keys of their own need a list, in the order of --server.",
            "Set it for tcp:// to another machine."}
          .Flag("--server-key"),
      Field{
          "wait", &wait_s,
          "Seconds to wait at the start until the server is ready; 0: answer alone until then. No "
          "frame is answered while it waits. In mode \"cacheinf\" it is ready once it has sent a "
          "plan.",
          "Set it if the server must have a part in the first frames, too."}
          .Between(0, 1e6)
          .Flag("--server-wait"),
      Field{
          "codec", &codec,
          "How pictures travel: raw, png, jpeg[:QUALITY], blocks[:QUALITY|:raw] or video. In full "
          "video[:ENCODER][:OPTION=VALUE]... by libavcodec, or video:gst:PIPELINE by GStreamer "
          "elements that make H.264.",
          "Use video on narrow links, raw or png if every bit counts."}
          .Flag("--codec"),
      Field{"mode", MakeChoice(server_mode),
            "What the server computes of a picture: all of it, or what changed. Both sides do so "
            "in mode \"split\".",
            "Use dense if the server is fast and most of the picture changes."}
          .Flag("--server-mode"),
      Field{
          "cuts", &cuts,
          "VALUE[:SHARE] for mode \"split\": the robot's share of the rows from this value on. "
          "It holds until the next cut and is none if left out. \"picture\" is the model's input; "
          "\"cacheinf-profile inspect\" prints the names of values, and \"cacheinf-schedule "
          "explain\" the cuts of its plans.",
          "Set it for mode \"split\"."}
          .AtMostItems(64)
          .Flag("--cut"),
      Field{"model", &model,
            "The model that the server computes in mode \"remote\", in place of the robot's. It "
            "takes the same frames and gives outputs of the same shapes.",
            "Set it to the network that a quantised model was made of, if the server has time for "
            "it."}
          .Flag("--server-model"),
      Field{"schedule", &schedule,
            "The file from cacheinf-schedule that says which plan is quickest when. Without it, "
            "robot and server make one when they first meet, and keep it.",
            "Set it to plan offline."}
          .Flag("--schedule"),
      Field{"slice_codec", MakeChoice(slice_codec),
            "How rows and answers travel: zstd loses nothing, fp16 rounds.",
            "Use zstd or fp16 on narrow links."}
          .Flag("--slice-codec"),
      Field{"emulate", &emulate,
            "Emulates a slow robot (5x), a poor link (93mbit,3ms), or both (5x,93mbit,3ms). The "
            "robot waits after every piece of work to take this many times as long; the link "
            "delivers what it sends at this speed and after this time, or as a trace says "
            "(FILE.csv[:COLUMN],3ms). Give the server the same link.",
            "Set it for experiments on one machine."}
          .Flag("--emulate"),
  };
}

std::string ChangeTrace(const std::string& emulation,
                        const std::function<std::string(const std::string& path)>& changed) {
  constexpr std::string_view kEnding = ".csv";
  const size_t ending = emulation.rfind(kEnding);
  if (ending == std::string::npos) return emulation;
  const size_t end = ending + kEnding.size();
  const size_t comma = emulation.find(',');
  const bool has_slowdown =
      comma != 0 && comma < ending && emulation[comma - 1] == 'x' &&
      NumberIn<double>(std::string_view(emulation).substr(0, comma - 1)).has_value();
  const size_t begin = has_slowdown ? comma + 1 : 0;
  return emulation.substr(0, begin) + changed(emulation.substr(begin, end - begin)) +
         emulation.substr(end);
}

}  // namespace cacheinf
