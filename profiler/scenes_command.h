#ifndef CACHEINF_PROFILER_SCENES_COMMAND_H_
#define CACHEINF_PROFILER_SCENES_COMMAND_H_

#include <filesystem>

#include "common/source/scenes.h"

namespace cacheinf {

struct ScenesCommand {
  SceneOptions scene;  // of the first clip; clip i has seed + i
  int clips = 1;
  int frames = 1;                    // a clip
  int frame_step = 1;                // between the frames that are written
  std::filesystem::path out_folder;  // made if it is not there
};

// Writes generated frames with their ground truth, clip after clip, as two arrays of bytes:
//   out_folder/pictures.npy  frames × height × width × 3, red, green, blue
//   out_folder/labels.npy    frames × height × width, classes
// Throws InputError when an option is out of range or a file cannot be written.
void RunScenesCommand(const ScenesCommand& command);

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_SCENES_COMMAND_H_
