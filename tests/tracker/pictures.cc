#include "tests/tracker/pictures.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace cacheinf {
namespace {

uint8_t ToByte(double level) {
  return static_cast<uint8_t>(std::clamp(std::floor(level + 0.5), 0.0, 255.0));
}

double Hash(int64_t x, int64_t y, uint32_t layer) {
  uint64_t bits = static_cast<uint64_t>(x) * 0x9e3779b97f4a7c15u ^
                  static_cast<uint64_t>(y) * 0xc2b2ae3d27d4eb4fu ^
                  static_cast<uint64_t>(layer) * 0x165667b19e3779f9u;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((bits ^ (bits >> 31)) >> 40) / static_cast<double>(1 << 24);
}

double Smooth(double t) { return t * t * (3 - 2 * t); }

}  // namespace

TestPicture::TestPicture(int picture_width, int picture_height, int picture_channels, uint8_t level)
    : width(picture_width),
      height(picture_height),
      channels(picture_channels),
      pixels(static_cast<size_t>(width) * height * channels, level) {}

double World::Noise(double x, double y, uint32_t layer) const {
  const double left = std::floor(x);
  const double top = std::floor(y);
  const double u = Smooth(x - left);
  const double v = Smooth(y - top);
  const auto at = [&](int dx, int dy) {
    return Hash(static_cast<int64_t>(left) + dx, static_cast<int64_t>(top) + dy,
                seed_ * 64 + layer);
  };
  return (at(0, 0) * (1 - u) + at(1, 0) * u) * (1 - v) + (at(0, 1) * (1 - u) + at(1, 1) * u) * v;
}

double World::At(double x, double y, int channel) const {
  const auto layer = static_cast<uint32_t>(channel * 4);
  const double own = Noise(x / 40, y / 40, layer + 8);  // of the channel
  return 30 + 60 * Noise(x / 11, y / 11, 0) + 60 * Noise(x / 23, y / 23, 1) +
         50 * Noise(x / 61, y / 61, 2) + 25 * own;
}

TestPicture Photograph(const World& world, const Homography& world_from_picture, int width,
                       int height, int channels) {
  TestPicture picture(width, height, channels);
  const auto& m = world_from_picture.m;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double w = m[2][0] * x + m[2][1] * y + m[2][2];
      const double world_x = (m[0][0] * x + m[0][1] * y + m[0][2]) / w;
      const double world_y = (m[1][0] * x + m[1][1] * y + m[1][2]) / w;
      for (int c = 0; c < channels; ++c) {
        picture.Pixel(y, x)[c] = ToByte(world.At(world_x, world_y, c));
      }
    }
  }
  return picture;
}

void AddNoise(double deviation, uint32_t seed, TestPicture* picture) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise;
  for (uint8_t& pixel : picture->pixels) pixel = ToByte(pixel + deviation * noise(random));
}

void ChangeLight(double gain, double offset, TestPicture* picture) {
  for (uint8_t& pixel : picture->pixels) pixel = ToByte(gain * pixel + offset);
}

void Fill(Range rows, Range columns, uint8_t level, TestPicture* picture) {
  for (int y = rows.begin; y < rows.end; ++y) {
    for (int x = columns.begin; x < columns.end; ++x) {
      std::fill_n(picture->Pixel(y, x), picture->channels, level);
    }
  }
}

void Paste(const World& world, Range rows, Range columns, TestPicture* picture) {
  for (int y = rows.begin; y < rows.end; ++y) {
    for (int x = columns.begin; x < columns.end; ++x) {
      for (int c = 0; c < picture->channels; ++c) {
        picture->Pixel(y, x)[c] = ToByte(world.At(x, y, c));
      }
    }
  }
}

void PasteThing(const World& world, int width, int height, double left, double top, double scale,
                TestPicture* picture) {
  for (int y = 0; y < picture->height; ++y) {
    for (int x = 0; x < picture->width; ++x) {
      const double u = (x + 0.5 - left) / scale;
      const double v = (y + 0.5 - top) / scale;
      if (u < 0 || u >= width || v < 0 || v >= height) continue;
      for (int c = 0; c < picture->channels; ++c) {
        picture->Pixel(y, x)[c] = ToByte(world.At(u, v, c));
      }
    }
  }
}

Homography Shift(double x, double y) { return {{{1, 0, x}, {0, 1, y}, {0, 0, 1}}}; }

Homography Turn(double angle, double scale, double x, double y, double shift_x, double shift_y) {
  const double c = scale * std::cos(angle);
  const double s = scale * std::sin(angle);
  return {{{c, -s, x - c * x + s * y + shift_x}, {s, c, y - s * x - c * y + shift_y}, {0, 0, 1}}};
}

double CornerError(const Homography& a, const Homography& b, int width, int height) {
  const auto project = [](const Homography& h, double x, double y) {
    const double w = h.m[2][0] * x + h.m[2][1] * y + h.m[2][2];
    return std::pair((h.m[0][0] * x + h.m[0][1] * y + h.m[0][2]) / w,
                     (h.m[1][0] * x + h.m[1][1] * y + h.m[1][2]) / w);
  };
  double worst = 0;
  for (const double x : {0.0, width - 1.0}) {
    for (const double y : {0.0, height - 1.0}) {
      const auto [ax, ay] = project(a, x, y);
      const auto [bx, by] = project(b, x, y);
      worst = std::max(worst, std::hypot(ax - bx, ay - by));
    }
  }
  return worst;
}

}  // namespace cacheinf
