#include "common/source/scenes.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/error.h"

// Uses only +, -, *, / and floor of doubles, and integers. These give the same on every machine,
// unlike, say, the C library's sine. Several random numbers in one expression stand inside braces,
// which fix their order.

namespace cacheinf {

namespace {

constexpr int kShapeKinds = kSceneClassCount - 1;
// The world's unit is a pixel of a picture whose shorter side has this many, so that every size of
// picture shows the same scene.
constexpr double kUnitsPerSide = 240.0;
constexpr double kMinRadius = 16.0;
constexpr double kMaxRadius = 40.0;
constexpr double kMaxAspect = 1.25;
constexpr double kTravelTurn = 0.03;  // amplitudes of the travelling camera
constexpr double kTravelZoom = 0.12;
constexpr double kHandheldTurn = 0.003;
constexpr double kHandheldZoom = 0.01;

uint64_t Mix(uint64_t x) {  // SplitMix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class Random {
 public:
  explicit Random(uint64_t seed) : state_(Mix(seed)) {}

  uint64_t Bits() {
    state_ += 0x9e3779b97f4a7c15u;
    return Mix(state_);
  }
  double Uniform() { return static_cast<double>(Bits() >> 11) * (1.0 / 9007199254740992.0); }
  double Uniform(double low, double high) { return low + (high - low) * Uniform(); }
  int Below(int bound) { return static_cast<int>(Bits() % static_cast<uint64_t>(bound)); }

 private:
  uint64_t state_;
};

// The sine of an angle in turns, to about 1e-7.
double Sine(double turns) {
  double x = turns - std::floor(turns);
  const bool negative = x >= 0.5;
  if (negative) x -= 0.5;
  if (x > 0.25) x = 0.5 - x;
  const double a = x * 6.283185307179586;
  const double a2 = a * a;
  const double series =
      1.0 -
      a2 / 6.0 * (1.0 - a2 / 20.0 * (1.0 - a2 / 42.0 * (1.0 - a2 / 72.0 * (1.0 - a2 / 110.0))));
  return negative ? -a * series : a * series;
}

double Cosine(double turns) { return Sine(turns + 0.25); }

// A slow swing to and fro.
struct Swing {
  double amplitude = 0.0;
  double period_frames = 1.0;
  double phase = 0.0;

  double At(int frame) const { return amplitude * Sine(frame / period_frames + phase); }
};

Swing MakeSwing(Random& random, double amplitude, double min_period, double max_period) {
  return {amplitude, random.Uniform(min_period, max_period), random.Uniform()};
}

struct Colour {
  double blue = 0.0;
  double green = 0.0;
  double red = 0.0;
};

Colour Blend(const Colour& a, const Colour& b, double share_of_b) {
  return {a.blue + (b.blue - a.blue) * share_of_b, a.green + (b.green - a.green) * share_of_b,
          a.red + (b.red - a.red) * share_of_b};
}

struct Hsv {
  double hue_turns = 0.0;  // red, green and blue are thirds of a turn apart
  double saturation = 0.0;
  double value = 0.0;
};

Colour ToColour(const Hsv& hsv) {
  const auto channel = [&](double offset) {
    const double x = hsv.hue_turns + offset;
    const double distance = std::abs(6.0 * (x - std::floor(x)) - 3.0);
    const double full = std::clamp(distance - 1.0, 0.0, 1.0);
    return 255.0 * hsv.value * (1.0 - hsv.saturation * (1.0 - full));
  };
  return {channel(1.0 / 3.0), channel(2.0 / 3.0), channel(0.0)};
}

uint8_t ToByte(double value) {
  return static_cast<uint8_t>(std::clamp(std::floor(value + 0.5), 0.0, 255.0));
}

// A square picture that repeats itself in both directions; its side is a power of two.
class Texture {
 public:
  explicit Texture(int side) : side_(side), bgr_(static_cast<size_t>(side) * side * 3) {}

  int side() const { return side_; }

  void Set(int x, int y, const Colour& colour) {
    uint8_t* texel = &bgr_[Offset(x, y)];
    texel[0] = ToByte(colour.blue);
    texel[1] = ToByte(colour.green);
    texel[2] = ToByte(colour.red);
  }

  // Bilinear, with weights of 1/256.
  void Sample(double x, double y, uint8_t* bgr) const {
    const auto fixed_x = static_cast<int64_t>(std::floor(x * 256.0));
    const auto fixed_y = static_cast<int64_t>(std::floor(y * 256.0));
    const int mask = side_ - 1;
    const int x0 = static_cast<int>((fixed_x >> 8) & mask);
    const int y0 = static_cast<int>((fixed_y >> 8) & mask);
    const int x1 = (x0 + 1) & mask;
    const int y1 = (y0 + 1) & mask;
    const int right = static_cast<int>(fixed_x & 255);
    const int down = static_cast<int>(fixed_y & 255);
    const uint8_t* texels[4] = {&bgr_[Offset(x0, y0)], &bgr_[Offset(x1, y0)], &bgr_[Offset(x0, y1)],
                                &bgr_[Offset(x1, y1)]};
    for (int c = 0; c < 3; ++c) {
      const int above = texels[0][c] * (256 - right) + texels[1][c] * right;
      const int below = texels[2][c] * (256 - right) + texels[3][c] * right;
      bgr[c] = static_cast<uint8_t>((above * (256 - down) + below * down + 32768) >> 16);
    }
  }

 private:
  size_t Offset(int x, int y) const {
    return (static_cast<size_t>(y) * static_cast<size_t>(side_) + static_cast<size_t>(x)) * 3;
  }

  int side_;
  std::vector<uint8_t> bgr_;
};

// Value noise that repeats after `side`: octaves of smoothly joined random lattices, in [0, 1].
std::vector<double> MakeNoise(Random& random, int side, int coarsest_cells, int octaves) {
  std::vector<double> noise(static_cast<size_t>(side) * side, 0.0);
  double weight = 1.0;
  double total = 0.0;
  for (int octave = 0, cells = coarsest_cells; octave < octaves; ++octave, cells *= 2) {
    std::vector<double> lattice(static_cast<size_t>(cells) * cells);
    for (double& value : lattice) value = random.Uniform();
    const int cell = side / cells;
    const auto smooth = [cell](int offset) {
      const double t = static_cast<double>(offset) / cell;
      return t * t * (3.0 - 2.0 * t);
    };
    for (int y = 0; y < side; ++y) {
      const double* row0 = &lattice[static_cast<size_t>(y / cell * cells)];
      const double* row1 = &lattice[static_cast<size_t>((y / cell + 1) % cells * cells)];
      const double ty = smooth(y % cell);
      for (int x = 0; x < side; ++x) {
        const int x0 = x / cell;
        const int x1 = (x0 + 1) % cells;
        const double tx = smooth(x % cell);
        const double above = row0[x0] + (row0[x1] - row0[x0]) * tx;
        const double below = row1[x0] + (row1[x1] - row1[x0]) * tx;
        noise[static_cast<size_t>(y) * side + x] += weight * (above + (below - above) * ty);
      }
    }
    total += weight;
    weight *= 0.6;
  }
  for (double& value : noise) value /= total;
  return noise;
}

enum class Pattern : uint8_t { kNone, kStripes, kPlanks, kChecker, kSpots, kCount };

// In [0, 1]. REQUIRES: `side` is a multiple of the period.
double PatternAt(Pattern pattern, int x, int y, int period) {
  const int half = period / 2;
  switch (pattern) {
    case Pattern::kStripes:
      return (x + y) % period < half ? 0.0 : 1.0;
    case Pattern::kPlanks:
      return y % period == 0 || (x + y / period * half) % (4 * period) == 0 ? 1.0 : 0.0;
    case Pattern::kChecker:
      return (x / half + y / half) % 2 == 0 ? 0.0 : 1.0;
    case Pattern::kSpots: {
      const int dx = x % period - half;
      const int dy = y % period - half;
      return 12 * (dx * dx + dy * dy) < period * period ? 1.0 : 0.0;
    }
    default:
      return 0.5;
  }
}

Texture MakeBackground(Random& random) {
  constexpr int kSide = 512;
  const double hue = random.Uniform();
  const auto muted = [&](double low_value, double high_value) {
    return ToColour(Hsv{hue + random.Uniform(-0.15, 0.15), random.Uniform(0.05, 0.35),
                        random.Uniform(low_value, high_value)});
  };
  const Colour dark = muted(0.15, 0.4);
  const Colour light = muted(0.45, 0.75);
  const Colour lines = muted(0.1, 0.8);
  constexpr Pattern kPatterns[] = {Pattern::kNone, Pattern::kStripes, Pattern::kPlanks};
  const Pattern pattern = kPatterns[random.Below(3)];
  const int period = 16 << random.Below(3);
  const double contrast = pattern == Pattern::kNone ? 0.0 : random.Uniform(0.15, 0.5);
  const std::vector<double> patches = MakeNoise(random, kSide, 4, 4);
  const std::vector<double> grain = MakeNoise(random, kSide, 64, 3);
  Texture texture(kSide);
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const size_t i = static_cast<size_t>(y) * kSide + x;
      const double share =
          std::clamp(0.5 + 1.8 * (patches[i] - 0.5) + 0.9 * (grain[i] - 0.5), 0.0, 1.0);
      const double line = contrast * PatternAt(pattern, x, y, period);
      texture.Set(x, y, Blend(Blend(dark, light, share), lines, line));
    }
  }
  return texture;
}

Texture MakeSkin(Random& random) {
  constexpr int kSide = 128;
  const double hue = random.Uniform();
  const Colour first = ToColour(Hsv{hue, random.Uniform(0.55, 1.0), random.Uniform(0.6, 1.0)});
  const Colour second = ToColour(
      Hsv{hue + random.Uniform(-0.2, 0.2), random.Uniform(0.4, 1.0), random.Uniform(0.35, 1.0)});
  const auto pattern = static_cast<Pattern>(random.Below(static_cast<int>(Pattern::kCount)));
  const int period = 16 << random.Below(2);
  const double contrast = random.Uniform(0.3, 0.9);
  const std::vector<double> grain = MakeNoise(random, kSide, 8, 4);
  Texture texture(kSide);
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const double noise = grain[static_cast<size_t>(y) * kSide + x];
      const double share = contrast * PatternAt(pattern, x, y, period) + (1.0 - contrast) * noise;
      texture.Set(x, y, Blend(first, second, std::clamp(share, 0.0, 1.0)));
    }
  }
  return texture;
}

// Whether a shape of size one around the origin covers a point. `label` is its class.
bool Covers(int label, double x, double y) {
  const double ax = std::abs(x);
  const double ay = std::abs(y);
  switch (label) {
    case 1:
      return x * x + y * y <= 1.0;
    case 2:
      return ax <= 0.85 && ay <= 0.85;
    case 3:  // of equal sides, around its centre
      return y <= 0.5 && 1.7320508075688772 * ax - y <= 1.0;
    case 4: {
      const double r2 = x * x + y * y;
      return r2 <= 1.0 && r2 >= 0.3;
    }
    default:
      return ax <= 1.0 && ay <= 1.0 && (ax <= 0.32 || ay <= 0.32);
  }
}

struct Figure {
  int label = 1;
  double radius = 1.0;
  double aspect = 1.0;
  double x = 0.0;  // at frame 0
  double y = 0.0;
  double velocity_x = 0.0;  // units a frame
  double velocity_y = 0.0;
  double angle = 0.0;  // turns
  double spin = 0.0;   // turns a frame
  Texture skin;
};

// Where the camera looks. A point at (x, y) in the picture shows the world at
//   centre + rotation by `angle` of (x - width / 2, y - height / 2) / pixels_per_unit.
struct CameraPose {
  double centre_x = 0.0;
  double centre_y = 0.0;
  double angle = 0.0;  // in turns
  double pixels_per_unit = 1.0;
};

double Wrap(double x, double half_extent) {
  const double extent = 2.0 * half_extent;
  return x - extent * std::floor(x / extent + 0.5);
}

}  // namespace

void SceneOptions::Check() const {
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw InputError("the generated scene's ", what);
  };
  require(width >= 16 && width <= 8192, "width must be between 16 and 8192");
  require(height >= 16 && height <= 8192, "height must be between 16 and 8192");
  require(shapes >= 0 && shapes <= 1000, "number of shapes must be between 0 and 1000");
  require(moving_share >= 0.0 && moving_share <= 1.0, "moving share must be between 0 and 1");
  require(illumination >= 0.0 && illumination <= 1.0, "illumination must be between 0 and 1");
  require(noise >= 0.0 && noise <= 64.0, "noise must be between 0 and 64");
}

class Scene::Impl {
 public:
  explicit Impl(const SceneOptions& options) : options_(options), background_(Prepare(options)) {
    Random random(options.seed * 4 + 1);
    PlanCamera(random);
    PlanLight(random);
    PlaceShapes(random);
  }

  const SceneOptions& options() const { return options_; }

  CameraPose CameraAt(int frame) const {
    CameraPose pose;
    pose.centre_x = start_x_ + pan_x_ * frame + sway_x_.At(frame);
    pose.centre_y = start_y_ + pan_y_ * frame + sway_y_.At(frame);
    pose.angle = turn_.At(frame);
    pose.pixels_per_unit = PixelsPerUnit() * (1.0 + zoom_.At(frame));
    return pose;
  }

  void Render(int frame, uint8_t* bgr, uint8_t* labels) const {
    const CameraPose pose = CameraAt(frame);
    DrawBackground(pose, bgr);
    if (labels != nullptr) std::fill(labels, labels + PixelCount(), uint8_t{0});
    for (const Figure& shape : shapes_) DrawShape(shape, frame, pose, bgr, labels);
    if (options_.illumination > 0.0) Light(frame, bgr);
    if (options_.noise > 0.0) AddNoise(frame, bgr);
  }

 private:
  static Texture Prepare(const SceneOptions& options) {
    options.Check();
    Random random(options.seed * 4);
    return MakeBackground(random);
  }

  size_t PixelCount() const { return static_cast<size_t>(options_.width) * options_.height; }
  double PixelsPerUnit() const { return std::min(options_.width, options_.height) / kUnitsPerSide; }

  void PlanCamera(Random& random) {
    start_x_ = random.Uniform(0.0, 512.0);
    start_y_ = random.Uniform(0.0, 512.0);
    const double heading = random.Uniform();
    const double speed = random.Uniform(0.6, 1.6);
    if (options_.camera == CameraMotion::kTravel) {
      pan_x_ = speed * Cosine(heading);
      pan_y_ = speed * Sine(heading);
      turn_ = MakeSwing(random, kTravelTurn, 150.0, 400.0);
      zoom_ = MakeSwing(random, kTravelZoom, 150.0, 400.0);
    } else if (options_.camera == CameraMotion::kHandheld) {
      sway_x_ = MakeSwing(random, 3.0, 25.0, 60.0);
      sway_y_ = MakeSwing(random, 2.0, 25.0, 60.0);
      turn_ = MakeSwing(random, kHandheldTurn, 30.0, 70.0);
      zoom_ = MakeSwing(random, kHandheldZoom, 40.0, 90.0);
    }
  }

  void PlanLight(Random& random) {
    brightness_ = MakeSwing(random, 0.6 * options_.illumination, 80.0, 250.0);
    light_x_ = MakeSwing(random, 0.4 * options_.illumination, 60.0, 200.0);
    light_y_ = MakeSwing(random, 0.4 * options_.illumination, 60.0, 200.0);
  }

  // Shapes live in a window around the camera, as large as the camera ever sees plus a shape. They
  // leave it and come back on the other side unseen.
  void PlaceShapes(Random& random) {
    const double zoom_out = 1.0 / ((1.0 - zoom_.amplitude) * PixelsPerUnit());
    const double half_width = 0.5 * options_.width * zoom_out;
    const double half_height = 0.5 * options_.height * zoom_out;
    const double sine = Sine(turn_.amplitude);
    const double margin = kMaxRadius * kMaxAspect * 1.4143;  // the corner of a cross
    window_x_ = half_width + half_height * sine + margin;
    window_y_ = half_height + half_width * sine + margin;

    const int first_kind = random.Below(kShapeKinds);
    for (int i = 0; i < options_.shapes; ++i) {
      Figure shape{.skin = MakeSkin(random)};
      shape.label = 1 + (first_kind + i) % kShapeKinds;
      shape.radius = random.Uniform(kMinRadius, kMaxRadius);
      shape.aspect = random.Uniform(1.0 / kMaxAspect, kMaxAspect);
      shape.angle = random.Uniform();
      const double heading = random.Uniform();
      const double speed = random.Uniform(0.4, 2.5);
      const double spin = random.Uniform(-0.006, 0.006);
      if (random.Uniform() < options_.moving_share) {
        shape.velocity_x = speed * Cosine(heading);
        shape.velocity_y = speed * Sine(heading);
        shape.spin = spin;
      }
      std::tie(shape.x, shape.y) = FreePlace(random);
      shapes_.push_back(std::move(shape));
    }
  }

  // The best of a few random places: the one farthest from the shapes already there.
  std::pair<double, double> FreePlace(Random& random) const {
    std::pair<double, double> best;
    double best_distance = -1.0;
    for (int attempt = 0; attempt < 12; ++attempt) {
      const double x = random.Uniform(-window_x_, window_x_);
      const double y = random.Uniform(-window_y_, window_y_);
      double nearest = 1e18;
      for (const Figure& other : shapes_) {
        const double dx = Wrap(x - other.x, window_x_);
        const double dy = Wrap(y - other.y, window_y_);
        nearest = std::min(nearest, dx * dx + dy * dy);
      }
      if (nearest > best_distance) {
        best_distance = nearest;
        best = {x, y};
      }
    }
    return best;
  }

  void DrawBackground(const CameraPose& pose, uint8_t* bgr) const {
    const double cosine = Cosine(pose.angle) / pose.pixels_per_unit;
    const double sine = Sine(pose.angle) / pose.pixels_per_unit;
    for (int row = 0; row < options_.height; ++row) {
      const double dy = row - 0.5 * options_.height;
      uint8_t* out = bgr + static_cast<size_t>(row) * options_.width * 3;
      for (int column = 0; column < options_.width; ++column, out += 3) {
        const double dx = column - 0.5 * options_.width;
        background_.Sample(pose.centre_x + cosine * dx - sine * dy,
                           pose.centre_y + sine * dx + cosine * dy, out);
      }
    }
  }

  void DrawShape(const Figure& shape, int frame, const CameraPose& pose, uint8_t* bgr,
                 uint8_t* labels) const {
    // The shape's centre against the camera's, in the world, then in the picture.
    const double world_x =
        Wrap(shape.x + shape.velocity_x * frame - (pose.centre_x - start_x_), window_x_);
    const double world_y =
        Wrap(shape.y + shape.velocity_y * frame - (pose.centre_y - start_y_), window_y_);
    const double camera_cosine = Cosine(pose.angle);
    const double camera_sine = Sine(pose.angle);
    const double centre_x =
        0.5 * options_.width +
        (camera_cosine * world_x + camera_sine * world_y) * pose.pixels_per_unit;
    const double centre_y =
        0.5 * options_.height +
        (camera_cosine * world_y - camera_sine * world_x) * pose.pixels_per_unit;

    const double radius = shape.radius * pose.pixels_per_unit;
    const double reach = radius * kMaxAspect * 1.4143 + 1.0;
    const int top = std::max(0, static_cast<int>(std::floor(centre_y - reach)));
    const int bottom =
        std::min(options_.height - 1, static_cast<int>(std::floor(centre_y + reach)));
    const int left = std::max(0, static_cast<int>(std::floor(centre_x - reach)));
    const int right = std::min(options_.width - 1, static_cast<int>(std::floor(centre_x + reach)));

    const double angle = shape.angle + shape.spin * frame - pose.angle;
    const double cosine = Cosine(angle) / radius;
    const double sine = Sine(angle) / radius;
    constexpr double kOffsets[4][2] = {{-0.25, -0.25}, {0.25, -0.25}, {-0.25, 0.25}, {0.25, 0.25}};
    const double texels = shape.skin.side() * 0.5;
    for (int row = top; row <= bottom; ++row) {
      for (int column = left; column <= right; ++column) {
        const auto to_shape = [&](double offset_x, double offset_y) {
          const double dx = column + offset_x - centre_x;
          const double dy = row + offset_y - centre_y;
          return std::pair((cosine * dx + sine * dy) * shape.aspect,
                           (cosine * dy - sine * dx) / shape.aspect);
        };
        int covered = 0;
        for (const auto& offset : kOffsets) {
          const auto [x, y] = to_shape(offset[0], offset[1]);
          covered += Covers(shape.label, x, y) ? 1 : 0;
        }
        const auto [x, y] = to_shape(0.0, 0.0);
        const size_t pixel = static_cast<size_t>(row) * options_.width + column;
        if (labels != nullptr && Covers(shape.label, x, y)) {
          labels[pixel] = static_cast<uint8_t>(shape.label);
        }
        if (covered == 0) continue;
        uint8_t skin[3];
        shape.skin.Sample((x + 1.0) * texels, (y + 1.0) * texels, skin);
        uint8_t* out = bgr + pixel * 3;
        for (int c = 0; c < 3; ++c) {
          out[c] = static_cast<uint8_t>((skin[c] * covered + out[c] * (4 - covered) + 2) / 4);
        }
      }
    }
  }

  // A light that swells and wanders: brighter on one side.
  void Light(int frame, uint8_t* bgr) const {
    const double base = 1.0 + brightness_.At(frame);
    const double slope_x = light_x_.At(frame) / options_.width;
    const double slope_y = light_y_.At(frame) / options_.height;
    for (int row = 0; row < options_.height; ++row) {
      const double row_gain = base + slope_y * (row - 0.5 * options_.height);
      uint8_t* out = bgr + static_cast<size_t>(row) * options_.width * 3;
      for (int column = 0; column < options_.width; ++column, out += 3) {
        const double gain = row_gain + slope_x * (column - 0.5 * options_.width);
        for (int c = 0; c < 3; ++c) out[c] = ToByte(out[c] * gain);
      }
    }
  }

  // Nearly Gaussian: the sum of four uniform numbers.
  void AddNoise(int frame, uint8_t* bgr) const {
    constexpr double kDeviation = 18.466185312619388;  // of the sum of four of 0…31
    constexpr int kMean = 62;
    const auto scale = static_cast<int>(std::floor(options_.noise / kDeviation * 65536.0 + 0.5));
    const uint64_t key = Mix(options_.seed * 4 + 2) ^ Mix(static_cast<uint64_t>(frame) + 0x5ce9e5);
    for (size_t pixel = 0; pixel < PixelCount(); ++pixel) {
      uint64_t bits = Mix(key + pixel);
      for (int c = 0; c < 3; ++c) {
        int sum = 0;
        for (int i = 0; i < 4; ++i, bits >>= 5) sum += static_cast<int>(bits & 31);
        const int shift = ((sum - kMean) * scale + 32768) >> 16;
        uint8_t& value = bgr[pixel * 3 + static_cast<size_t>(c)];
        value = static_cast<uint8_t>(std::clamp(value + shift, 0, 255));
      }
    }
  }

  SceneOptions options_;
  Texture background_;
  std::vector<Figure> shapes_;  // those behind first
  double start_x_ = 0.0;
  double start_y_ = 0.0;
  double pan_x_ = 0.0;  // units a frame
  double pan_y_ = 0.0;
  Swing sway_x_;
  Swing sway_y_;
  Swing turn_;
  Swing zoom_;
  Swing brightness_;
  Swing light_x_;
  Swing light_y_;
  double window_x_ = 0.0;  // half the extent of the shapes' window
  double window_y_ = 0.0;
};

Scene::Scene(const SceneOptions& options) : impl_(std::make_shared<const Impl>(options)) {}

const SceneOptions& Scene::options() const { return impl_->options(); }

void Scene::Render(int frame, uint8_t* bgr, uint8_t* labels) const {
  impl_->Render(frame, bgr, labels);
}

}  // namespace cacheinf
