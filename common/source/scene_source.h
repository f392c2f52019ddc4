#ifndef CACHEINF_COMMON_SOURCE_SCENE_SOURCE_H_
#define CACHEINF_COMMON_SOURCE_SCENE_SOURCE_H_

#include <memory>
#include <string_view>

#include "common/source/frame_source.h"

namespace cacheinf {

// Scenes of scenes.h as a video with its truth. `options` is "seed=7,frames=100,…", with the keys
// seed, frames (0: without end), rate, width, height, shapes, moving, camera (still, handheld,
// travel), light and noise. Throws InputError that names a key at fault.
std::unique_ptr<FrameSource> OpenSceneSource(std::string_view options);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_SOURCE_SCENE_SOURCE_H_
