#include "common/config/record_config.h"

namespace cacheinf {

FieldTable RecordConfig::Fields() {
  return {
      Field{
          "folder", &folder,
          "Folder to write the last seconds of frames, masks and settings to when something looks "
          "wrong (the guard, an error, a late answer), each time as a folder of its own that "
          "\"cacheinf-robot replay\" runs again. A frame is then computed whole every so many "
          "seconds, so that a recording has where to begin."}
          .Flag("--record"),
      Field{"seconds", &seconds, "Seconds that are kept at least, by the frames' time."}.Between(
          0.1, 3600),
      Field{"megabytes", &megabytes, "Memory for what is kept, whatever the seconds."}.Between(
          1, 1000000),
      Field{"most", &most, "Recordings that a run writes at most."}.Between(1, 100000),
  };
}

}  // namespace cacheinf
