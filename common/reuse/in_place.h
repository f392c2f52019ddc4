#ifndef CACHEINF_COMMON_REUSE_IN_PLACE_H_
#define CACHEINF_COMMON_REUSE_IN_PLACE_H_

#include <cstdint>
#include <vector>

#include "common/reuse/geometry.h"
#include "common/reuse/light_in_place.h"

namespace cacheinf {

// Follows no camera: compares every pixel in place. If asked to relight, shows frames in the light
// of what is stored, so that this stays useful; the reference keeps its light.
class InPlace final : public Geometry {
 public:
  InPlace(int width, int height) : inset_({{0, height}, {0, width}}, width, height) {}

  void SetInset(const Inset& inset) override { inset_ = inset; }
  void Begin(const PictureView&, bool) override {}
  Placement Place(const PictureView& frame, bool compares_bytes, bool relights,
                  Reference& reference) override;

 private:
  Inset inset_;
  LightInPlace light_;
  std::vector<uint8_t> relit_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_REUSE_IN_PLACE_H_
