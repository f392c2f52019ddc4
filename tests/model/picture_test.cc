#include "common/model/picture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "common/base/error.h"

namespace cacheinf {
namespace {

using Fit = PictureSpec::Fit;
using Channels = PictureSpec::Channels;
using Way = PictureSpec::Resize;

constexpr Fit kFits[] = {Fit::kStretch, Fit::kLetterbox, Fit::kCrop};
constexpr Way kWays[] = {Way::kBilinear, Way::kArea, Way::kAntialias, Way::kAverage};

PictureSpec Spec(int width, int height, Fit fit = Fit::kStretch, Channels channels = Channels::kBgr,
                 Way resize = Way::kAverage) {
  PictureSpec spec;
  spec.resize = resize;
  spec.width = width;
  spec.height = height;
  spec.fit = fit;
  spec.channels = channels;
  return spec;
}

Picture RandomPicture(std::mt19937& random, int width, int height, int channels) {
  std::vector<uint8_t> pixels(static_cast<size_t>(width * height * channels));
  for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>(random());
  return MakePicture(width, height, channels, std::move(pixels));
}

std::vector<uint8_t> Resize(const PictureFit& fit, const Picture& frame) {
  std::vector<uint8_t> out(
      static_cast<size_t>(fit.spec().width * fit.spec().height * fit.channels()));
  fit.Resize(frame, {0, fit.spec().height}, out.data());
  return out;
}

// kAverage's rule for one axis, in cells, with exact fractions instead of 1/2048ths.
double ExactPosition(const AxisFit& axis, int model) {
  const double x = model - axis.model_begin;
  const double position = (x + 0.5) * axis.frame_size / (axis.model_length * axis.cell()) - 0.5;
  const int cells = axis.frame_size / axis.cell();
  return std::clamp(position, 0.0, cells - 1.0);
}

double ExactValue(const PictureFit& fit, const Picture& frame, int x, int y, int channel) {
  const AxisFit& columns = fit.columns();
  const AxisFit& rows = fit.rows();
  const double column = ExactPosition(columns, x);
  const double row = ExactPosition(rows, y);
  const int left = static_cast<int>(column);
  const int top = static_cast<int>(row);
  const auto cell = [&](int r, int c) {
    r = std::min(r, rows.frame_size / rows.cell() - 1);
    c = std::min(c, columns.frame_size / columns.cell() - 1);
    double sum = 0;
    for (int i = 0; i < rows.cell() * columns.cell(); ++i) {
      const int pixel_row = r * rows.cell() + i / columns.cell();
      const int pixel_column = c * columns.cell() + i % columns.cell();
      sum += frame.Row(pixel_row)[pixel_column * frame.channels + channel];
    }
    return sum / (rows.cell() * columns.cell());
  };
  const double u = column - left;
  const double v = row - top;
  return (1 - v) * ((1 - u) * cell(top, left) + u * cell(top, left + 1)) +
         v * ((1 - u) * cell(top + 1, left) + u * cell(top + 1, left + 1));
}

TEST(PictureTest, SameSizeCopiesThePixels) {
  const uint32_t seed = 1;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const Picture frame = RandomPicture(random, 13, 7, 3);
  for (const Way way : kWays) {
    const PictureSpec spec = Spec(13, 7, Fit::kStretch, Channels::kBgr, way);
    const std::vector<uint8_t> out = Resize(PictureFit(spec, 13, 7), frame);
    EXPECT_TRUE(std::equal(out.begin(), out.end(), frame.pixels.get())) << static_cast<int>(way);
  }
}

TEST(PictureTest, HalvingAveragesFourPixelsAndRoundsToNearest) {
  const Picture frame = MakePicture(4, 2, 1, {0, 1, 10, 20, 1, 0, 30, 41});
  const std::vector<uint8_t> out =
      Resize(PictureFit(Spec(2, 1, Fit::kStretch, Channels::kGray), 4, 2), frame);
  EXPECT_EQ(out, (std::vector<uint8_t>{1, 25}));  // 0.5 and 25.25
}

TEST(PictureTest, OfAFrameThatIsMuchLargerEveryPixelCounts) {
  const PictureFit fit(Spec(2, 1), 10, 3);
  EXPECT_EQ(fit.columns().cell(), 5);
  EXPECT_EQ(fit.rows().cell(), 3);
  for (const int channels : {1, 3}) {
    for (int at = 0; at < 30; ++at) {
      std::vector<uint8_t> pixels(static_cast<size_t>(30 * channels), 90);
      pixels[static_cast<size_t>(at * channels)] = 105;
      const std::vector<uint8_t> out = Resize(fit, MakePicture(10, 3, channels, std::move(pixels)));
      std::vector<uint8_t> expected(6, 90);
      for (size_t c = 0; c < (channels == 1 ? 3u : 1u); ++c) {
        expected[(at % 10 < 5 ? 0 : 3) + c] = 91;
      }
      EXPECT_EQ(out, expected) << at;
    }
  }
}

TEST(PictureTest, StaysWithinOneLevelOfExactInterpolation) {
  const uint32_t seed = 11;
  std::mt19937 random(seed);
  for (int round = 0; round < 60; ++round) {
    const auto size = [&](int limit) { return 1 + static_cast<int>(random() % limit); };
    const Picture frame = RandomPicture(random, size(50), size(50), 3);
    const Fit kind = static_cast<Fit>(random() % 3);
    const PictureFit fit(Spec(size(40), size(40), kind), frame.width, frame.height);
    const std::vector<uint8_t> out = Resize(fit, frame);
    const AxisFit& columns = fit.columns();
    const AxisFit& rows = fit.rows();
    for (int y = rows.model_range().begin; y < rows.model_range().end; ++y) {
      for (int x = columns.model_range().begin; x < columns.model_range().end; ++x) {
        for (int c = 0; c < 3; ++c) {
          const int got = out[static_cast<size_t>((y * fit.spec().width + x) * 3 + c)];
          // Means of cells are rounded as well.
          const double most = columns.cell() * rows.cell() > 1 ? 1.26 : 0.76;
          ASSERT_NEAR(got, ExactValue(fit, frame, x, y, c), most)
              << "seed " << seed << " round " << round << " at " << x << "," << y;
        }
      }
    }
  }
}

// Bytes that every machine and every later version must give.
TEST(PictureTest, KeepsItsRounding) {
  std::vector<uint8_t> pixels;
  for (int i = 0; i < 7 * 5 * 3; ++i) pixels.push_back(static_cast<uint8_t>(i * i * 37 % 251));
  const Picture frame = MakePicture(7, 5, 3, std::move(pixels));
  uint64_t hash = 14695981039346656037u;
  for (const Fit kind : kFits) {
    for (const Channels channels : {Channels::kRgb, Channels::kBgr, Channels::kGray}) {
      for (const uint8_t byte : Resize(PictureFit(Spec(9, 11, kind, channels), 7, 5), frame)) {
        hash = (hash ^ byte) * 1099511628211u;
      }
    }
  }
  EXPECT_EQ(hash, 18048707619884525058u);
}

TEST(PictureTest, AnySplitOfRowsGivesTheSameBytes) {
  const uint32_t seed = 5;
  std::mt19937 random(seed);
  for (int round = 0; round < 24; ++round) {
    const Way way = kWays[round % 4];
    const int size = round % 8 < 4 ? 32 : 96;  // smaller and larger than the frame
    const Picture frame = RandomPicture(random, 81, 63, round < 12 ? 3 : 1);
    const PictureFit fit(Spec(size, size - 8, kFits[round % 3], Channels::kRgb, way), 81, 63);
    const std::vector<uint8_t> whole = Resize(fit, frame);
    std::vector<uint8_t> split(whole.size());
    for (int row = 0; row < size - 8;) {
      const int end = std::min(size - 8, row + 1 + static_cast<int>(random() % 6));
      fit.Resize(frame, {row, end}, split.data());
      row = end;
    }
    EXPECT_EQ(split, whole) << "seed " << seed << " round " << round;
  }
}

TEST(PictureTest, OrdersChannels) {
  const Picture colour = MakePicture(1, 1, 3, {10, 20, 30});
  const Picture grey = MakePicture(1, 1, 1, {50});
  const auto resized = [](Channels channels, const Picture& frame) {
    return Resize(PictureFit(Spec(1, 1, Fit::kStretch, channels), 1, 1), frame);
  };
  EXPECT_EQ(resized(Channels::kBgr, colour), (std::vector<uint8_t>{10, 20, 30}));
  EXPECT_EQ(resized(Channels::kRgb, colour), (std::vector<uint8_t>{30, 20, 10}));
  EXPECT_EQ(resized(Channels::kGray, colour), (std::vector<uint8_t>{22}));
  EXPECT_EQ(resized(Channels::kRgb, grey), (std::vector<uint8_t>{50, 50, 50}));
  EXPECT_EQ(resized(Channels::kGray, grey), (std::vector<uint8_t>{50}));
}

TEST(PictureTest, LetterboxKeepsTheShapeAndFillsTheBorders) {
  const Picture frame = MakePicture(4, 2, 1, std::vector<uint8_t>(8, 200));
  const PictureFit fit(Spec(4, 5, Fit::kLetterbox, Channels::kGray), 4, 2);
  EXPECT_EQ(fit.rows().model_begin, 1);  // the odd row goes to the bottom
  EXPECT_EQ(fit.rows().model_length, 2);
  const std::vector<uint8_t> out = Resize(fit, frame);
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t row = i / 4;
    EXPECT_EQ(out[i], row == 1 || row == 2 ? 200 : 114) << i;
  }
  const PictureFit tall(Spec(5, 4, Fit::kLetterbox, Channels::kGray), 2, 4);
  EXPECT_EQ(tall.columns().model_begin, 1);
  EXPECT_EQ(tall.columns().model_length, 2);
}

TEST(PictureTest, LetterboxInTheCornerLeavesItsBordersOnTheRightAndTheBottom) {
  const PictureFit fit(Spec(640, 640, Fit::kCorner), 1279, 719);
  EXPECT_EQ(fit.place(), (Rectangle{{0, 359}, {0, 640}}));  // 359.78, rounded down
  EXPECT_EQ(fit.rows().ToFrame(0), 0);
  EXPECT_EQ(fit.rows().ToFrame(359), 719);
  EXPECT_EQ(fit.rows().ToFrame(500), 719);
  EXPECT_EQ(fit.columns().ToFrame(320), 639.5);
  EXPECT_EQ(fit.rows().ToModel(718), 358);
}

TEST(PictureTest, CropTakesTheMiddle) {
  const Picture frame = MakePicture(6, 1, 1, {1, 2, 3, 4, 5, 6});
  const PictureFit fit(Spec(2, 1, Fit::kCrop, Channels::kGray), 6, 1);
  EXPECT_EQ(Resize(fit, frame), (std::vector<uint8_t>{3, 4}));
}

TEST(PictureTest, CropLeavesTheMarginThatResizeToSays) {
  PictureSpec spec = Spec(224, 224, Fit::kCrop);
  spec.resize_to = 256;
  const PictureFit fit(spec, 640, 480);
  EXPECT_EQ(fit.rows().model_length, 256);
  EXPECT_EQ(fit.rows().model_begin, -16);
  EXPECT_EQ(fit.columns().model_length, 341);
  EXPECT_EQ(fit.columns().model_begin, -58);  // 117 / 2, to even
  EXPECT_DOUBLE_EQ(fit.rows().shown_length(), 420);
  EXPECT_EQ(fit.place(), (Rectangle{{0, 224}, {0, 224}}));
  spec.resize_to = 223;
  EXPECT_THROW(PictureFit(spec, 640, 480), InputError);
  spec.resize_to = 1 << 20;
  EXPECT_THROW(PictureFit(spec, 640, 480), InputError);
}

TEST(PictureTest, MapsPointsBackToTheFrame) {
  for (const Fit kind : kFits) {
    const PictureFit fit(Spec(640, 384, kind), 1280, 720);
    for (const AxisFit* axis : {&fit.columns(), &fit.rows()}) {
      EXPECT_NEAR(axis->ToFrame(axis->model_begin), 0, 1e-9);
      EXPECT_NEAR(axis->ToFrame(axis->model_begin + axis->model_length), axis->frame_size, 1e-9);
      EXPECT_GE(axis->ToFrame(-1000), 0.0);
      EXPECT_LE(axis->ToFrame(1e6), axis->frame_size);
    }
  }
}

TEST(PictureTest, FindsTheModelPixelThatShowsAFramePixel) {
  for (const Fit kind : kFits) {
    const PictureFit fit(Spec(31, 17, kind), 100, 90);
    const AxisFit& axis = fit.columns();
    for (int x = 0; x < 100; ++x) {
      const int model = axis.ToModel(x);
      const bool is_seen = x + 0.5 > axis.ToFrame(0) && x + 0.5 < axis.ToFrame(axis.model_size);
      ASSERT_EQ(model >= 0, is_seen);
      if (!is_seen) continue;
      ASSERT_LE(axis.ToFrame(model), x + 0.5 + 1e-9);
      ASSERT_GE(axis.ToFrame(model + 1), x + 0.5 - 1e-9);
    }
  }
}

TEST(PictureTest, RefusesEmptyAndAbsurdFrames) {
  EXPECT_THROW(PictureFit(Spec(4, 4), 0, 4), InputError);
  EXPECT_THROW(PictureFit(Spec(4, 4), 4, 1 << 20), InputError);
}

TEST(PictureTest, FloatsArePixelValuesWhateverTheLayout) {
  std::vector<uint8_t> pixels(2 * 3 * 3);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(10 * i);
  std::vector<float> dense(pixels.size());
  ToFloats(pixels.data(), {dense.data(), 4, {1, 3, 2, 3}, {18, 1, 9, 3}});
  std::vector<float> padded(2 * 3 * 4, -1.0f);
  ToFloats(pixels.data(), {padded.data(), 4, {1, 3, 2, 3}, {24, 1, 12, 4}});
  for (size_t i = 0; i < pixels.size(); ++i) {
    EXPECT_EQ(dense[i], static_cast<float>(pixels[i]));
    EXPECT_EQ(padded[i / 3 * 4 + i % 3], static_cast<float>(pixels[i]));
  }
  EXPECT_EQ(padded[3], -1.0f);
}

}  // namespace
}  // namespace cacheinf
