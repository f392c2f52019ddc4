#include "common/config/record_config.h"

namespace cacheinf {

FieldTable RecordConfig::Fields() {
  return {
      Field{"folder", &folder,
            "Folder for recordings. When something looks wrong (the guard, an error, a late "
            "answer), the last seconds of frames, masks and settings are written to a new folder "
            "in it, ten times at most, for \"cacheinf-robot replay\" to run again. While set, a "
            "frame is computed whole every few seconds, so that a recording has a place to begin.",
            "Set it while you look for what goes wrong; empty: nothing is kept."}
          .Flag("--record"),
      Field{"seconds", &seconds, "The least seconds to keep, by the frames' time.",
            "Raise it if the cause lies further back than a recording reaches."}
          .Between(0.1, 3600),
      Field{"megabytes", &megabytes, "Megabytes of memory for what is kept, whatever the seconds.",
            "Raise it if large frames leave fewer seconds than asked for."}
          .Between(1, 1000000),
  };
}

}  // namespace cacheinf
