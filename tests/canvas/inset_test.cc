#include "common/reuse/inset.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "common/canvas/inset_tracker.h"
#include "common/model/picture.h"
#include "common/tracker/homography_tracker.h"
#include "tests/testing/scripted_tracker.h"
#include "tests/tracker/pictures.h"

// What is seen between the bars of a letterbox.

namespace cacheinf {
namespace {

constexpr int kWidth = 320;
constexpr int kHeight = 240;
constexpr Rectangle kPlace = {{20, 220}, {120, 190}};

TestPicture BetweenBars(TestPicture picture) {
  Fill({0, kPlace.rows.begin}, {0, kWidth}, 114, &picture);
  Fill({kPlace.rows.end, kHeight}, {0, kWidth}, 114, &picture);
  Fill({0, kHeight}, {0, kPlace.columns.begin}, 114, &picture);
  Fill({0, kHeight}, {kPlace.columns.end, kWidth}, 114, &picture);
  return picture;
}

TEST(InsetTest, KnowsWhereALetterboxHasTheFrame) {
  PictureSpec spec;
  spec.width = 160;
  spec.height = 128;
  spec.fit = PictureSpec::Fit::kLetterbox;
  const Rectangle portrait = PictureFit(spec, 96, 192).place();
  EXPECT_EQ(portrait.rows, (Range{0, 128}));
  EXPECT_EQ(portrait.columns, (Range{48, 112}));
  spec.fit = PictureSpec::Fit::kStretch;
  EXPECT_EQ(PictureFit(spec, 96, 192).place().columns, (Range{0, 160}));
}

TEST(InsetTest, APartPutBackIsThePicture) {
  TestPicture picture = Photograph(World(1), {}, kWidth, kHeight);
  const TestPicture other = Photograph(World(2), {}, kWidth, kHeight);
  Inset inset(kPlace, kWidth, kHeight);
  const PictureView part = inset.Crop(picture.view());
  EXPECT_EQ(part.width, 70);
  EXPECT_EQ(part.height, 200);
  EXPECT_EQ(part.Row(3)[5 * 3 + 1], picture.Pixel(23, 125)[1]);
  TestPicture mixed = other;
  inset.Paste(part, mixed.pixels.data());
  EXPECT_EQ(*mixed.Pixel(20, 120), *picture.Pixel(20, 120));
  EXPECT_EQ(*mixed.Pixel(219, 189), *picture.Pixel(219, 189));
  EXPECT_EQ(*mixed.Pixel(19, 120), *other.Pixel(19, 120));
  EXPECT_EQ(*mixed.Pixel(20, 190), *other.Pixel(20, 190));
  inset.Paste(inset.Crop(other.view()), mixed.pixels.data());
  EXPECT_EQ(mixed.pixels, other.pixels);
}

TEST(InsetTest, HomographiesOfThePartAndOfThePictureSayTheSame) {
  const Inset inset(kPlace, kWidth, kHeight);
  EXPECT_TRUE(inset.OfPart({}).IsIdentity());
  EXPECT_TRUE(inset.OfPicture({}).IsIdentity());
  const Homography of_picture = {{{1.01, 0.004, 2.5}, {-0.006, 0.99, 6}, {1.5e-5, -2e-5, 1}}};
  const Homography of_part = inset.OfPart(of_picture);
  EXPECT_LT(CornerError(inset.OfPicture(of_part), of_picture, kWidth, kHeight), 1e-9);
  const auto place_of = [](const Homography& h, double x, double y) {
    const double w = h.m[2][0] * x + h.m[2][1] * y + h.m[2][2];
    return std::pair((h.m[0][0] * x + h.m[0][1] * y + h.m[0][2]) / w,
                     (h.m[1][0] * x + h.m[1][1] * y + h.m[1][2]) / w);
  };
  const auto [x, y] = place_of(of_picture, 150, 90);
  const auto [part_x, part_y] = place_of(of_part, 30, 70);
  EXPECT_NEAR(part_x + 120, x, 1e-9);
  EXPECT_NEAR(part_y + 20, y, 1e-9);
}

// Most of the whole picture says that nothing moved and that the light is the same.
TEST(InsetTrackerTest, BarsHideNeitherMotionNorLight) {
  const Homography motion = Turn(0.01, 1.0, 160, 120, 6, 4);
  const TestPicture reference = BetweenBars(Photograph(World(3), {}, kWidth, kHeight));
  TestPicture dark = Photograph(World(3), motion, kWidth, kHeight);
  ChangeLight(0.8, 0, &dark);
  const TestPicture frame = BetweenBars(dark);
  InsetTracker tracker(std::make_unique<HomographyTracker>());
  tracker.SetInset(Inset(kPlace, kWidth, kHeight));
  tracker.SetReference(reference.view());
  const Motion found = tracker.Track(frame.view());
  EXPECT_STREQ(NameOf(found.loss), "none");
  EXPECT_LT(CornerError(found.reference_from_frame, motion, kWidth, kHeight), 2.0);
  EXPECT_NEAR(found.light.gain, 0.8, 0.03);
}

TEST(InsetTrackerTest, WithoutBarsNothingIsDifferent) {
  const Homography motion = Shift(7.3, -4.6);
  const TestPicture reference = Photograph(World(3), {}, kWidth, kHeight);
  const TestPicture frame = Photograph(World(3), motion, kWidth, kHeight);
  HomographyTracker plain;
  InsetTracker tracker(std::make_unique<HomographyTracker>());
  plain.SetReference(reference.view());
  tracker.SetReference(reference.view());
  const Homography expected = plain.Track(frame.view()).reference_from_frame;
  const Homography found = tracker.Track(frame.view()).reference_from_frame;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) EXPECT_EQ(found.m[i][j], expected.m[i][j]);
  }
}

}  // namespace
}  // namespace cacheinf
