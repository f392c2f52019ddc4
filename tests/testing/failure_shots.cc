#include "tests/testing/failure_shots.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "common/source/scenes.h"

namespace cacheinf {
namespace {

constexpr int kFrames = 40;
constexpr int kBegin = 16;
constexpr int kChannels = 3;
using Pixels = std::vector<uint8_t>;

class Film {
 public:
  Film(int width, int height, uint64_t seed) : scene_(Options(width, height, seed)) {}

  Picture Frame(int index) const { return Finished(Drawn(index)); }

  Picture Black() const { return Finished(Pixels(Count(), 0)); }

  // Far too much light.
  Picture Flash(int index) const {
    Pixels pixels = Drawn(index);
    for (uint8_t& level : pixels) level = static_cast<uint8_t>(std::min(2 * level + 70, 255));
    return Finished(std::move(pixels));
  }

  Picture Blurred(int index) const {
    Pixels pixels = Drawn(index);
    BlurAlong(width(), height(), kChannels, width() * kChannels, pixels);
    BlurAlong(height(), width(), width() * kChannels, kChannels, pixels);
    return Finished(std::move(pixels));
  }

  // The later a row is read, the further it lies to the side.
  Picture Rolling(int index) const {
    const Pixels straight = Drawn(index);
    const int most = width() / 12;
    Pixels pixels;
    for (int y = 0; y < height(); ++y) {
      const int aside = (index % 2 == 0 ? 1 : -1) * most * y / height();
      for (int x = 0; x < width(); ++x) {
        const int from = y * width() + std::clamp(x + aside, 0, width() - 1);
        pixels.insert(pixels.end(), straight.begin() + from * kChannels,
                      straight.begin() + (from + 1) * kChannels);
      }
    }
    return Finished(std::move(pixels));
  }

 private:
  static SceneOptions Options(int width, int height, uint64_t seed) {
    SceneOptions options;
    options.seed = seed;
    options.width = width;
    options.height = height;
    options.camera = CameraMotion::kHandheld;
    options.noise = 1.0;
    return options;
  }

  int width() const { return scene_.options().width; }
  int height() const { return scene_.options().height; }
  size_t Count() const {
    return static_cast<size_t>(width()) * static_cast<size_t>(height()) * kChannels;
  }

  Pixels Drawn(int index) const {
    const SceneOptions& options = scene_.options();
    Pixels pixels(static_cast<size_t>(options.width) * static_cast<size_t>(options.height) *
                  kChannels);
    scene_.Render(index, pixels.data(), nullptr);
    return pixels;
  }

  Picture Finished(Pixels pixels) const {
    return MakePicture(width(), height(), kChannels, std::move(pixels));
  }

  // Blurs along one axis: averages neighbours among `length` pixels, `step` bytes apart, in each of
  // `lines` lines, `line_step` bytes apart.
  static void BlurAlong(int length, int lines, int step, int line_step, Pixels& pixels) {
    constexpr int kReach = 4;
    const Pixels sharp = pixels;
    for (int line = 0; line < lines; ++line) {
      for (int i = 0; i < length; ++i) {
        const int begin = std::max(i - kReach, 0);
        const int end = std::min(i + kReach + 1, length);
        for (int channel = 0; channel < kChannels; ++channel) {
          int sum = 0;
          for (int j = begin; j < end; ++j) {
            sum += sharp[static_cast<size_t>(line * line_step + j * step + channel)];
          }
          pixels[static_cast<size_t>(line * line_step + i * step + channel)] =
              static_cast<uint8_t>(sum / (end - begin));
        }
      }
    }
  }

  Scene scene_;
};

}  // namespace

std::vector<Shot> FailureShots(int width, int height) {
  constexpr uint64_t kSeed = 21;
  const Film film(width, height, kSeed);
  const Film smaller(width * 3 / 4, height * 3 / 4, kSeed);
  const Film another(width, height, kSeed + 1);
  std::vector<Shot> shots;
  const auto add = [&](const char* name, int begin, int end, const auto& meanwhile,
                       const auto& afterwards) {
    Shot shot = {name, begin, end, {}};
    for (int i = 0; i < kFrames; ++i) {
      shot.frames.push_back(i < begin ? film.Frame(i) : (i < end ? meanwhile(i) : afterwards(i)));
    }
    shots.push_back(std::move(shot));
  };
  const auto usual = [&](int i) { return film.Frame(i); };
  const auto black = [&](int) { return film.Black(); };
  const auto other = [&](int i) { return another.Frame(i); };
  add("cut", kBegin, kBegin + 1, other, other);
  add(
      "flash", kBegin, kBegin + 2, [&](int i) { return film.Flash(i); }, usual);
  add(
      "blur", kBegin, kBegin + 4, [&](int i) { return film.Blurred(i); }, usual);
  add(
      "rolling shutter", kBegin, kBegin + 4, [&](int i) { return film.Rolling(i); }, usual);
  add("black", kBegin, kBegin + 5, black, usual);
  add("black at first", 0, 5, black, usual);
  const auto later = [&](int i) { return film.Frame(i + 90); };
  add("unplugged", kBegin, kBegin + 1, later, later);
  add(
      "other resolution", kBegin, kBegin + 8, [&](int i) { return smaller.Frame(i); }, usual);
  return shots;
}

int FramesUntilBack(const Shot& shot, const std::vector<double>& agreement, double least) {
  int back = static_cast<int>(agreement.size());
  while (back > shot.end && agreement[static_cast<size_t>(back - 1)] >= least) --back;
  return back == static_cast<int>(agreement.size()) ? -1 : back - shot.end;
}

double Mean(const std::vector<double>& of_frames, int begin, int end) {
  return std::accumulate(of_frames.begin() + begin, of_frames.begin() + end, 0.0) / (end - begin);
}

}  // namespace cacheinf
