#ifndef CACHEINF_PROFILER_SCENES_COMMAND_H_
#define CACHEINF_PROFILER_SCENES_COMMAND_H_

#include <filesystem>

#include "common/source/scenes.h"

namespace cacheinf {

struct ScenesCommand {
  SceneOptions scene;  // of the first clip; clip i has seed + i
  int clips = 1;
  int frames = 1;                    // per clip
  int frame_step = 1;                // between written frames
  std::filesystem::path out_folder;  // made if missing
};

// Writes generated frames with their ground truth, clip after clip, as two arrays of bytes:
//   out_folder/pictures.npy  frames × height × width × 3, red, green, blue
//   out_folder/labels.npy    frames × height × width, classes
// Throws InputError if an option is out of range or a file cannot be written.
void RunScenesCommand(const ScenesCommand& command);

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_SCENES_COMMAND_H_
