#ifndef CACHEINF_COMMON_SOURCE_SCENES_H_
#define CACHEINF_COMMON_SOURCE_SCENES_H_

#include <cstdint>
#include <memory>

#include "common/base/words.h"

// Generated video with its ground truth: textured shapes of a few classes move over a textured
// background, seen by a camera that may move too. The demo's network is trained on some scenes and
// scored on others, so there is one generator. Its pictures depend on the options alone: the
// same bytes on every machine.

namespace cacheinf {

inline constexpr int kSceneClassCount = 6;  // background, disk, box, triangle, ring, cross

enum class CameraMotion : uint8_t {
  kStill,
  kHandheld,  // sways by a few pixels
  kTravel,    // keeps panning, turns and zooms slowly
};
constexpr Words<3> WordsOf(CameraMotion) { return {"still", "handheld", "travel"}; }

struct SceneOptions {
  uint64_t seed = 1;
  int width = 320;
  int height = 240;
  int shapes = 16;            // in and around the picture; about half of them are in view
  double moving_share = 0.6;  // of the shapes; the others rest on the background
  CameraMotion camera = CameraMotion::kStill;
  double illumination = 0.0;  // amplitude of the changing light, 0 to 1
  double noise = 0.0;         // standard deviation of the sensor's noise, in 8-bit levels

  // Throws InputError when a value is out of its range.
  void Check() const;
};

class Scene {
 public:
  explicit Scene(const SceneOptions& options);  // throws InputError as Check() does

  const SceneOptions& options() const;

  // Draws frame 0, 1, …, in any order and from any thread. `bgr` takes height × width × 3 bytes in
  // the order blue, green, red, and `labels` height × width classes; `labels` may be null.
  void Render(int frame, uint8_t* bgr, uint8_t* labels) const;

 private:
  class Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_SOURCE_SCENES_H_
