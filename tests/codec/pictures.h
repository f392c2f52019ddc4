#ifndef CACHEINF_TESTS_CODEC_PICTURES_H_
#define CACHEINF_TESTS_CODEC_PICTURES_H_

#include <cstdint>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "common/codec/picture_codec.h"
#include "common/source/scenes.h"

namespace cacheinf {

using Bytes = std::vector<uint8_t>;

inline PictureView ViewOf(const Bytes& pixels, const PictureFormat& format) {
  return {pixels.data(), format.width, format.height, format.channels};
}

inline Bytes Noise(const PictureFormat& format, std::mt19937& random) {
  Bytes pixels(format.byte_count());
  for (uint8_t& byte : pixels) byte = static_cast<uint8_t>(random());
  return pixels;
}

// A generated clip, blue first or grey.
class SceneClip {
 public:
  explicit SceneClip(const PictureFormat& format, double moving_share = 0.6)
      : format_(format), scene_(OptionsFor(format, moving_share)) {}

  Bytes Picture(int frame) const {
    Bytes bgr(static_cast<size_t>(format_.width) * format_.height * 3);
    scene_.Render(frame, bgr.data(), nullptr);
    if (format_.channels == 3) return bgr;
    Bytes grey;
    for (size_t i = 1; i < bgr.size(); i += 3) grey.push_back(bgr[i]);
    return grey;
  }

 private:
  static SceneOptions OptionsFor(const PictureFormat& format, double moving_share) {
    SceneOptions options;
    options.seed = 7;
    options.width = format.width;
    options.height = format.height;
    options.moving_share = moving_share;
    return options;
  }

  PictureFormat format_;
  Scene scene_;
};

inline Bytes Encode(PictureEncoder& encoder, const Bytes& pixels, const PictureFormat& format) {
  Bytes bytes;
  encoder.Append(ViewOf(pixels, format), &bytes);
  return bytes;
}

// Why there is no picture; "" if there is one.
inline std::string Decode(PictureDecoder& decoder, const Bytes& bytes) {
  const char* error = decoder.Decode(bytes);
  return error == nullptr ? "" : error;
}

inline Bytes PixelsOf(const PictureDecoder& decoder) {
  const PictureView picture = decoder.picture();
  return {picture.pixels, picture.pixels + picture.byte_count()};
}

inline double MeanError(const Bytes& a, const Bytes& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
  return sum / static_cast<double>(a.size());
}

// The first two pictures of a clip, by every codec.
inline constexpr PictureFormat kSeedFormat = {40, 24, 3, true};

inline std::vector<std::string> PictureSeeds() {
  std::vector<std::string> seeds;
  const SceneClip clip(kSeedFormat);
  for (const char* codec : {"raw", "png", "jpeg", "blocks", "blocks:raw", "video"}) {
    PictureEncoder encoder(ParsePictureCodec(codec), kSeedFormat);
    for (int frame = 0; frame < 2; ++frame) {
      const Bytes bytes = Encode(encoder, clip.Picture(frame), kSeedFormat);
      seeds.emplace_back(bytes.begin(), bytes.end());
    }
  }
  return seeds;
}

// Gives the bytes to a decoder, after the clip's first picture if they claim to need it.
inline bool DecodesAsPicture(std::span<const uint8_t> bytes) {
  static const std::vector<std::string> seeds = PictureSeeds();
  constexpr size_t kKind = 2;
  PictureDecoder decoder(kSeedFormat);
  if (bytes.size() > kKind + 1 && bytes[kKind + 1] == 0) {
    for (const std::string& seed : seeds) {
      if (static_cast<uint8_t>(seed[kKind]) == bytes[kKind] && seed[kKind + 1] == 1) {
        decoder.Decode({reinterpret_cast<const uint8_t*>(seed.data()), seed.size()});
      }
    }
  }
  return decoder.Decode(bytes) == nullptr;
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_CODEC_PICTURES_H_
