#include "common/reuse/light_in_place.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <numeric>

namespace cacheinf {
namespace {

constexpr double kBrightestByte = 255.0;
constexpr double kMiddle = 128.0;
constexpr int kBlurredSide = 48;
constexpr int kLongestSquare = 256;        // whose column sums fit 16 bits
constexpr double kAlike = 2.0;             // levels by which squares may differ
constexpr double kLeastDifferent = 0.25;   // of the squares
constexpr double kMostUnexplained = 0.25;  // of those that differ
// Beyond these, answers in the stored light agree noticeably less with those in the frame's own.
constexpr double kLargestGain = 4.0 / 3.0;
constexpr double kLargestShift = 48.0;  // in levels, for a pixel of middling brightness

int SideOfSquares(const PictureView& picture) {
  const int side = std::max(picture.width, picture.height) / kBlurredSide;
  return std::clamp(side, 1, std::min({picture.width, picture.height, kLongestSquare}));
}

// How many squares are not what the reference shows in that light.
double CountDifferent(const std::vector<double>& frame, const std::vector<double>& reference,
                      const Light& light) {
  double count = 0;
  for (size_t i = 0; i < frame.size(); ++i) {
    const double expected =
        std::clamp(light.gain * reference[i] + light.offset, 0.0, kBrightestByte);
    count += std::abs(expected - frame[i]) > kAlike ? 1 : 0;
  }
  return count;
}

bool IsNearEnough(const Light& light) {
  return light.gain <= kLargestGain && light.gain * kLargestGain >= 1 &&
         std::abs(light.gain * kMiddle + light.offset - kMiddle) <= kLargestShift;
}

}  // namespace

std::optional<Light> LightInPlace::Find(const PictureView& frame, const PictureView& reference,
                                        Inset& inset) {
  Blur(inset.Crop(frame), &frame_);
  Blur(inset.Crop(reference), &reference_);
  const double different = CountDifferent(frame_, reference_, Light());
  if (different < kLeastDifferent * static_cast<double>(frame_.size())) return Light();
  const Light light = fit_.Fit(frame_, reference_);
  const bool explains = CountDifferent(frame_, reference_, light) <= kMostUnexplained * different;
  if (!explains) return Light();
  if (!IsNearEnough(light)) return std::nullopt;
  return light;
}

// Does not round: rounding halves up would make each frame look a little brighter than an equally
// dark reference, and what is stored darker with each.
void LightInPlace::Blur(const PictureView& picture, std::vector<double>* means) {
  const int side = SideOfSquares(picture);
  const auto square_bytes = static_cast<size_t>(side) * static_cast<size_t>(picture.channels);
  const auto squares = static_cast<size_t>(picture.width / side);
  means->clear();
  for (int row = 0; row + side <= picture.height; row += side) {
    sums_.assign(squares * square_bytes, 0);
    for (int y = row; y < row + side; ++y) {
      const uint8_t* const bytes = picture.Row(y);
      for (size_t i = 0; i < sums_.size(); ++i) {
        sums_[i] = static_cast<uint16_t>(sums_[i] + bytes[i]);
      }
    }
    for (size_t square = 0; square < squares; ++square) {
      const auto first = sums_.begin() + static_cast<std::ptrdiff_t>(square * square_bytes);
      const auto sum =
          std::accumulate(first, first + static_cast<std::ptrdiff_t>(square_bytes), uint32_t{0});
      means->push_back(static_cast<double>(sum) / (static_cast<double>(square_bytes) * side));
    }
  }
}

void ShowInLightOf(const PictureView& reference, const Light& light, const PictureView& frame,
                   const Rectangle& place, uint8_t* to) {
  const LevelTable of_reference = LevelsIn(light);
  const LevelTable of_frame = LevelsWithout(light);
  std::memcpy(to, frame.pixels, frame.byte_count());
  const int64_t first = int64_t{place.columns.begin} * frame.channels;
  const int64_t end = int64_t{place.columns.end} * frame.channels;
  for (int y = place.rows.begin; y < place.rows.end; ++y) {
    const uint8_t* const old = reference.Row(y);
    uint8_t* const row = to + y * frame.row_bytes();
    for (int64_t i = first; i < end; ++i) {
      const bool is_alike = std::abs(int{of_reference[old[i]]} - int{row[i]}) <= 1;
      row[i] = is_alike ? old[i] : of_frame[row[i]];
    }
  }
}

}  // namespace cacheinf
