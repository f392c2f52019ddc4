#ifndef CACHEINF_COMMON_REUSE_LIGHT_IN_PLACE_H_
#define CACHEINF_COMMON_REUSE_LIGHT_IN_PLACE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/light.h"
#include "common/base/picture_view.h"
#include "common/reuse/inset.h"
#include "common/tracker/light_fit.h"

// Finds changes of light by comparing pixels in place, for a camera that is not followed.

namespace cacheinf {

class LightInPlace {
 public:
  // How the frame is lit against the reference, by what the inset shows of both: a level of the
  // frame is about gain times the reference's plus offset. Exactly 1 and 0 if the light is the
  // same, or does not explain what differs, as with noise, moving things or a moving camera:
  // squares of the blurred pictures must differ by more than a little in a good part of the
  // picture, and nearly all of these agree once the light is allowed for. Nothing if the light is
  // so different that the reference is of no use.
  std::optional<Light> Find(const PictureView& frame, const PictureView& reference, Inset& inset);

 private:
  void Blur(const PictureView& picture, std::vector<double>* means);

  LightFit fit_ = LightFit({.largest_gain = 16, .largest_shift = 256});
  std::vector<uint16_t> sums_;  // over a row of squares, by byte
  std::vector<double> frame_;   // the squares' means
  std::vector<double> reference_;
};

// Writes the frame as it would look in the reference's light within `place`, and unchanged around
// it. Pixels that match the reference's in the frame's light to within a level become the
// reference's. REQUIRES: pictures of one shape, a gain above 0.
void ShowInLightOf(const PictureView& reference, const Light& light, const PictureView& frame,
                   const Rectangle& place, uint8_t* to);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_REUSE_LIGHT_IN_PLACE_H_
