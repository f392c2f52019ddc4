#include "common/config/record_config.h"

namespace cacheinf {

FieldTable RecordConfig::Fields() {
  return {
      Field{
          "folder", &folder,
          "Folder to write the last seconds of frames, masks and settings to when something looks "
          "wrong (the guard, an error, a late answer), ten times at most, each time as a folder of "
          "its own "
          "that \"cacheinf-robot replay\" runs again. A frame is then computed whole every so many "
          "seconds, so that a recording has where to begin.",
          "Set it while you look for what goes wrong; empty: nothing is kept."}
          .Flag("--record"),
      Field{"seconds", &seconds, "Seconds that are kept at least, by the frames' time.",
            "Raise it where the cause lies further back than a recording reaches."}
          .Between(0.1, 3600),
      Field{"megabytes", &megabytes, "Memory for what is kept, whatever the seconds.",
            "Raise it where large frames leave fewer seconds than asked for."}
          .Between(1, 1000000),
  };
}

}  // namespace cacheinf
