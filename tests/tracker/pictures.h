#ifndef CACHEINF_TESTS_TRACKER_PICTURES_H_
#define CACHEINF_TESTS_TRACKER_PICTURES_H_

#include <cstdint>
#include <vector>

#include "common/tracker/tracker.h"
#include "sparse_ops/homography.h"

// Pictures to track. They are made here, so that the place of everything is known.

namespace cacheinf {

struct TestPicture {
  int width = 0;
  int height = 0;
  int channels = 3;
  std::vector<uint8_t> pixels;

  TestPicture(int picture_width, int picture_height, int picture_channels, uint8_t level = 0);

  PictureView view() const { return {pixels.data(), width, height, channels}; }
  uint8_t* Pixel(int y, int x) {
    return pixels.data() + (static_cast<size_t>(y) * width + x) * channels;
  }
  const uint8_t* Pixel(int y, int x) const {
    return pixels.data() + (static_cast<size_t>(y) * width + x) * channels;
  }
};

// A world without end: noise of several sizes, smooth between its grid's points. Coordinates are
// pixels.
class World {
 public:
  explicit World(uint32_t seed) : seed_(seed) {}
  // 0…255, by channel.
  double At(double x, double y, int channel) const;

 private:
  double Noise(double x, double y, uint32_t layer) const;
  uint32_t seed_;
};

// What a camera sees whose pixel (x, y) shows the world at world_from_picture (x, y).
TestPicture Photograph(const World& world, const Homography& world_from_picture, int width,
                       int height, int channels = 3);

void AddNoise(double deviation, uint32_t seed, TestPicture* picture);
void ChangeLight(double gain, double offset, TestPicture* picture);
void Fill(Range rows, Range columns, uint8_t level, TestPicture* picture);
// Pixels of another world in a rectangle.
void Paste(const World& world, Range rows, Range columns, TestPicture* picture);
// A thing: what another world has at 0…height, 0…width, put here and enlarged.
void PasteThing(const World& world, int width, int height, double left, double top, double scale,
                TestPicture* picture);

Homography Shift(double x, double y);
// Turned by `angle` (radians) and scaled about (x, y), then shifted.
Homography Turn(double angle, double scale, double x, double y, double shift_x, double shift_y);

// How far the two are apart at the corners of a picture, at most.
double CornerError(const Homography& a, const Homography& b, int width, int height);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TRACKER_PICTURES_H_
