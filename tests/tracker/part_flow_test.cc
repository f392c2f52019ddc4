#include "common/tracker/part_flow.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/tracker/pictures.h"

// Parts of a picture move, each by itself. Things of known size lie before a known background.

namespace cacheinf {
namespace {

constexpr int kSceneWidth = 320;
constexpr int kSceneHeight = 200;

// A thing of 60×40 pixels, with the part that shows it.
struct Thing {
  uint32_t world = 0;
  int left = 0;
  int top = 0;

  Rectangle part() const { return {{top, top + 40}, {left, left + 60}}; }
};

// A picture of things that may have moved and grown.
struct Shown {
  Thing thing;
  double shift_x = 0;
  double shift_y = 0;
  double scale = 1;
};
TestPicture Scene(const std::vector<Shown>& things) {
  TestPicture picture = Photograph(World(1), {}, kSceneWidth, kSceneHeight);
  for (const auto& [thing, shift_x, shift_y, scale] : things) {
    PasteThing(World(thing.world), 60, 40, thing.left + shift_x, thing.top + shift_y, scale,
               &picture);
  }
  return picture;
}

std::vector<PartMotion> Find(const TestPicture& reference, const std::vector<Rectangle>& parts,
                             const TestPicture& picture) {
  PartFlow flow;
  flow.SetReference(reference.view());
  return flow.Find(parts, picture.view());
}

// The sides of a part after its motion.
void ExpectSides(const PartMotion& motion, const Rectangle& part, double left, double top,
                 double right, double bottom, double tolerance = 0.5) {
  EXPECT_NEAR(motion.x.Of(part.columns.begin), left, tolerance);
  EXPECT_NEAR(motion.y.Of(part.rows.begin), top, tolerance);
  EXPECT_NEAR(motion.x.Of(part.columns.end), right, tolerance);
  EXPECT_NEAR(motion.y.Of(part.rows.end), bottom, tolerance);
}

void ExpectInPlace(const PartMotion& motion) {
  EXPECT_FALSE(motion.is_known);
  EXPECT_EQ(motion.x.scale, 1);
  EXPECT_EQ(motion.x.shift, 0);
  EXPECT_EQ(motion.y.scale, 1);
  EXPECT_EQ(motion.y.shift, 0);
}

TEST(PartFlowTest, ThingsMoveApartWhileTheBackgroundStays) {
  const Thing one = {2, 100, 50};
  const Thing other = {3, 170, 120};
  const TestPicture before = Scene({{one}, {other}});
  const TestPicture after = Scene({{one, -9.5, 4}, {other, 12, -6.25}});
  const Rectangle still = {{10, 45}, {200, 280}};
  const auto motions = Find(before, {one.part(), other.part(), still}, after);
  for (const PartMotion& motion : motions) EXPECT_TRUE(motion.is_known);
  ExpectSides(motions[0], one.part(), 90.5, 54, 150.5, 94);
  ExpectSides(motions[1], other.part(), 182, 113.75, 242, 153.75);
  ExpectSides(motions[2], still, 200, 10, 280, 45);
}

TEST(PartFlowTest, AThingThatComesCloserGrows) {
  const Thing thing = {2, 100, 60};
  const auto motions = Find(Scene({{thing}}), {thing.part()}, Scene({{thing, -6, -2, 1.15}}));
  EXPECT_TRUE(motions[0].is_known);
  ExpectSides(motions[0], thing.part(), 94, 58, 94 + 69, 58 + 46, 1.5);
}

TEST(PartFlowTest, WhereAPartHasNothingToFollowItMovesAsThePictureDoes) {
  TestPicture before = Photograph(World(1), {}, kSceneWidth, kSceneHeight);
  TestPicture after = Photograph(World(1), Shift(-7, 4), kSceneWidth, kSceneHeight);
  Fill({40, 120}, {60, 160}, 120, &before);
  Fill({36, 116}, {67, 167}, 120, &after);
  const Rectangle blank = {{60, 100}, {80, 140}};
  const auto motions = Find(before, {blank}, after);
  EXPECT_FALSE(motions[0].is_known);
  ExpectSides(motions[0], blank, 87, 56, 147, 96);
}

TEST(PartFlowTest, AThingThatIsReplacedIsNotFollowed) {
  const Thing thing = {2, 100, 60};
  const auto motions = Find(Scene({{thing}}), {thing.part()}, Scene({{{9, 100, 60}}}));
  EXPECT_FALSE(motions[0].is_known);
  ExpectSides(motions[0], thing.part(), 100, 60, 160, 100);  // as the background
}

TEST(PartFlowTest, AnyPictureIsTheReferenceOfTheNext) {
  const Thing thing = {2, 20, 60};
  PartFlow flow;
  flow.SetReference(Scene({{thing}}).view());
  Thing there = thing;
  for (there.left = 32; there.left <= 140; there.left += 12) {
    const Rectangle before = {thing.part().rows, {there.left - 12, there.left + 48}};
    const auto motions = flow.Find({{before}}, Scene({{there}}).view());
    EXPECT_TRUE(motions[0].is_known);
    ExpectSides(motions[0], before, there.left, 60, there.left + 60, 100);
  }
}

TEST(PartFlowTest, AFarWayIsFoundThroughThePicturesBetween) {
  const Thing thing = {2, 20, 60};
  const TestPicture before = Scene({{thing}});
  const TestPicture after = Scene({{thing, 36}});
  EXPECT_FALSE(Find(before, {thing.part()}, after)[0].is_known);
  PartFlow flow;
  flow.SetReference(before.view());
  for (const double shift : {0, 12, 24}) flow.Find({}, Scene({{thing, shift}}).view());
  flow.SetReference(before.view());
  const auto motions = flow.Find({{thing.part()}}, after.view());
  EXPECT_TRUE(motions[0].is_known);
  ExpectSides(motions[0], thing.part(), 56, 60, 116, 100);
}

TEST(PartFlowTest, APictureThatSaysNothingIsPassedOver) {
  const Thing thing = {2, 100, 60};
  PartFlow flow;
  flow.SetReference(Scene({{thing}}).view());
  const TestPicture black(kSceneWidth, kSceneHeight, 3);
  ExpectInPlace(flow.Find({{thing.part()}}, black.view())[0]);
  const auto motions = flow.Find({{thing.part()}}, Scene({{thing, 9, 3}}).view());
  EXPECT_TRUE(motions[0].is_known);
  ExpectSides(motions[0], thing.part(), 109, 63, 169, 103);
}

TEST(PartFlowTest, OfOddPicturesNothingIsKnown) {
  const std::vector<Rectangle> parts = {
      {{0, 10}, {0, 10}}, {{-50, 900}, {-3, 4000}}, {{7, 3}, {9, 2}}, {{}, {}}};
  const World world(1);
  const struct {
    const char* what;
    TestPicture before;
    TestPicture after;
  } cases[] = {
      {"black", {kSceneWidth, kSceneHeight, 3}, {kSceneWidth, kSceneHeight, 3}},
      {"one colour, then a scene",
       {kSceneWidth, kSceneHeight, 3, 90},
       Photograph(world, {}, kSceneWidth, kSceneHeight)},
      {"one pixel", {1, 1, 3}, {1, 1, 3}},
      {"a line", Photograph(world, {}, 4000, 1, 1), Photograph(world, {}, 4000, 1, 1)},
      {"another size", Photograph(world, {}, kSceneWidth, kSceneHeight),
       Photograph(world, {}, kSceneWidth + 1, kSceneHeight)},
      {"grey instead of colour", Photograph(world, {}, kSceneWidth, kSceneHeight),
       Photograph(world, {}, kSceneWidth, kSceneHeight, 1)},
  };
  for (const auto& odd : cases) {
    SCOPED_TRACE(odd.what);
    const auto motions = Find(odd.before, parts, odd.after);
    ASSERT_EQ(motions.size(), parts.size());
    for (const PartMotion& motion : motions) ExpectInPlace(motion);
  }
}

TEST(PartFlowTest, PartsBeyondThePictureAreCutAndMoveAllTheSame) {
  const TestPicture before = Photograph(World(1), {}, kSceneWidth, kSceneHeight);
  const TestPicture after = Photograph(World(1), Shift(-5, 3), kSceneWidth, kSceneHeight);
  const Rectangle part = {{-40, 60}, {-80, 90}};
  const auto motions = Find(before, {part}, after);
  EXPECT_TRUE(motions[0].is_known);
  ExpectSides(motions[0], part, -75, -43, 95, 57);
}

TEST(PartFlowTest, OfVeryManyPartsTheLastMoveAsThePictureDoes) {
  const TestPicture before = Photograph(World(1), {}, kSceneWidth, kSceneHeight);
  const TestPicture after = Photograph(World(1), Shift(-5, 3), kSceneWidth, kSceneHeight);
  const std::vector<Rectangle> parts(1000, {{50, 90}, {100, 160}});
  const auto motions = Find(before, parts, after);
  ASSERT_EQ(motions.size(), parts.size());
  EXPECT_TRUE(motions.front().is_known);
  EXPECT_FALSE(motions.back().is_known);
  for (const PartMotion& motion : motions) ExpectSides(motion, parts[0], 105, 47, 165, 87);
}

}  // namespace
}  // namespace cacheinf
