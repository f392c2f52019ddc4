#include "tests/model/reference_pictures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/model/picture.h"

// Pictures are what OpenCV, Pillow, TorchVision and Ultralytics make of the same frames.

namespace cacheinf {
namespace {

using Fit = PictureSpec::Fit;
using Way = PictureSpec::Resize;

std::vector<uint8_t> Resized(const PictureSpec& spec, const Picture& frame) {
  const PictureFit fit(spec, frame.width, frame.height);
  std::vector<uint8_t> out(static_cast<size_t>(spec.width * spec.height * fit.channels()));
  fit.Resize(frame, {0, spec.height}, out.data());
  return out;
}

PictureSpec SpecOf(int width, int height, int channels, Way resize) {
  PictureSpec spec;
  spec.width = width;
  spec.height = height;
  spec.channels = channels == 1 ? PictureSpec::Channels::kGray : PictureSpec::Channels::kBgr;
  spec.resize = resize;
  return spec;
}

// The same as frame() in scripts/internal/reference_pictures.py.
Picture FrameOf(const ReferencePicture& reference) {
  const int count = reference.frame_width * reference.frame_height * reference.channels;
  std::vector<uint8_t> pixels;
  for (uint64_t i = 0; i < static_cast<uint64_t>(count); ++i) {
    pixels.push_back(static_cast<uint8_t>((i * i * 37 + i * 11) % 251));
  }
  return MakePicture(reference.frame_width, reference.frame_height, reference.channels,
                     std::move(pixels));
}

uint64_t Hash(const std::vector<uint8_t>& levels) {
  uint64_t hash = 14695981039346656037u;
  for (const uint8_t level : levels) hash = (hash ^ level) * 1099511628211u;
  return hash;
}

int LargestDifference(const std::vector<uint8_t>& a, const uint8_t* b) {
  int largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST(ReferencePicturesTest, AreMadeBitForBit) {
  for (const ReferencePicture& reference : ReferencePictures()) {
    PictureSpec spec =
        SpecOf(reference.width, reference.height, reference.channels, reference.resize);
    spec.fit = reference.fit;
    spec.resize_to = reference.resize_to;
    SCOPED_TRACE(testing::Message()
                 << reference.frame_width << "x" << reference.frame_height << "x"
                 << reference.channels << " to " << reference.width << "x" << reference.height
                 << ", fit " << static_cast<int>(spec.fit) << ", resize "
                 << static_cast<int>(spec.resize) << " to " << spec.resize_to);
    const std::vector<uint8_t> out = Resized(spec, FrameOf(reference));
    EXPECT_EQ(Hash(out), reference.hash);
    if (!reference.levels.empty()) {
      EXPECT_EQ(out, reference.levels);
    }
  }
}

// The OpenCV that is linked. Elsewhere than on x86 it may fuse products and sums.
TEST(ReferencePicturesTest, OpenCvMakesThemToo) {
#ifdef __x86_64__
  constexpr int kFewestStepsOff = 0;
#else
  constexpr int kFewestStepsOff = 1;
#endif
  const uint32_t seed = 23;
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    const auto size = [&] { return 1 + static_cast<int>(random() % (round < 200 ? 60 : 700)); };
    const int channels = random() % 2 == 0 ? 1 : 3;
    const bool is_area = random() % 2 == 0;
    cv::Mat frame(size(), size(), CV_8UC(channels));
    for (int64_t i = 0; i < static_cast<int64_t>(frame.total()) * channels; ++i) {
      frame.data[i] = static_cast<uint8_t>(random());
    }
    cv::Mat expected;
    cv::resize(frame, expected, {size(), size()}, 0, 0,
               is_area ? cv::INTER_AREA : cv::INTER_LINEAR);
    const std::vector<uint8_t> pixels(frame.data,
                                      frame.data + frame.total() * static_cast<size_t>(channels));
    const std::vector<uint8_t> out = Resized(
        SpecOf(expected.cols, expected.rows, channels, is_area ? Way::kArea : Way::kBilinear),
        MakePicture(frame.cols, frame.rows, channels, pixels));
    const bool shrinks = expected.cols <= frame.cols && expected.rows <= frame.rows;
    ASSERT_LE(LargestDifference(out, expected.data), is_area && shrinks ? 1 : kFewestStepsOff)
        << "seed " << seed << " round " << round << ": " << frame.cols << "x" << frame.rows << "x"
        << channels << " to " << expected.cols << "x" << expected.rows << (is_area ? ", area" : "");
  }
}

}  // namespace
}  // namespace cacheinf
