#include "common/reuse/in_place.h"

#include <optional>

namespace cacheinf {

Placement InPlace::Place(const PictureView& frame, bool /*compares_bytes*/, bool relights,
                         Reference& reference) {
  Placement placement;
  placement.seen = frame;
  if (!relights) return placement;
  const std::optional<Light> light = light_.Find(frame, reference.view(), inset_);
  if (!light) {
    placement.loss = Loss::kTooDifferent;
  } else if (!light->IsIdentity()) {
    relit_.resize(frame.byte_count());
    ShowInLightOf(reference.view(), *light, frame, inset_.place(), relit_.data());
    placement.seen.pixels = relit_.data();
    placement.light = *light;
  }
  return placement;
}

}  // namespace cacheinf
