// Heads whose outputs are maps, points or a list read back what their formulas' inverses wrote.

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/answer/answers.h"
#include "common/config/model_setup.h"
#include "common/model/graph/graph.h"
#include "common/model/heads/heads.h"
#include "tests/answer/given_outputs.h"

namespace cacheinf {
namespace {

constexpr int kMapStride = 4;
constexpr int kMapSide = kSide / kMapStride;

// A map at a stride of 4; set by channel and a thing's cell.
class CoarseMap {
 public:
  CoarseMap(std::string name, int channels, float fill)
      : output_{{1, channels, kMapSide, kMapSide},
                std::vector<float>(static_cast<size_t>(channels * kMapSide * kMapSide), fill),
                std::move(name)} {}

  static int Cell(double position) { return static_cast<int>(position) / kMapStride; }
  static double InCell(double position) { return position / kMapStride - Cell(position); }

  void Set(int channel, const Thing& thing, double number, int columns_on = 0) {
    const int at = (channel * kMapSide + Cell(thing.y)) * kMapSide + Cell(thing.x) + columns_on;
    output_.numbers[static_cast<size_t>(at)] = static_cast<float>(number);
  }
  HeadOutput Squashed() const {
    HeadOutput output = output_;
    output.function = Function::Kind::kSigmoid;
    return output;
  }
  const HeadOutput& output() const { return output_; }

 private:
  HeadOutput output_;
};

TEST(MapHeadsTest, CenternetFindsPeaksWithAndWithoutASigmoid) {
  CoarseMap scores("hm", kHeadClasses, -9);
  CoarseMap sizes("wh", 2, 1);
  CoarseMap offsets("reg", 2, 0.5f);
  for (const Thing& thing : kThings) {
    scores.Set(thing.label, thing, LogitOf(thing.score));
    scores.Set(thing.label, thing, LogitOf(thing.score - 0.1), 1);  // beside the peak
    sizes.Set(0, thing, thing.width / kMapStride);
    sizes.Set(1, thing, thing.height / kMapStride);
    offsets.Set(0, thing, CoarseMap::InCell(thing.x));
    offsets.Set(1, thing, CoarseMap::InCell(thing.y));
  }
  const DecoderConfig config = Decoder(HeadKind::kCenternet);
  const std::vector<HeadOutput> outputs = {scores.output(), sizes.output(), offsets.output()};
  ExpectThings(BoxesOf(outputs, config));
  ExpectThings(BoxesOf({offsets.output(), scores.Squashed(), sizes.output()}, config));
  EXPECT_EQ(Recognise(NetworkOf(outputs), 0).kind, HeadKind::kCenternet);
}

// Places of points in cells of 8 × 8 pixels, as logits.
HeadOutput PlacesOf(const std::vector<Keypoint>& points) {
  constexpr int kCells = kSide / 8;
  HeadOutput places{{1, 65, kCells, kCells}, std::vector<float>(65 * kCells * kCells), "semi"};
  const auto at = [&](int channel, int x, int y) -> float& {
    return places.numbers[static_cast<size_t>((channel * kCells + y / 8) * kCells + x / 8)];
  };
  for (int y = 0; y < kSide; y += 8) {
    for (int x = 0; x < kSide; x += 8) at(64, x, y) = 12;
  }
  for (const Keypoint& point : points) {
    const int x = static_cast<int>(point.x);
    const int y = static_cast<int>(point.y);
    // The share is e^t / (63 + e^12 + e^t).
    at(y % 8 * 8 + x % 8, x, y) =
        static_cast<float>(std::log((63 + std::exp(12.0)) * point.score / (1 - point.score)));
  }
  return places;
}

TEST(MapHeadsTest, SuperpointAndXfeatFindPoints) {
  // The third lies beside the second, the fourth at the edge, the fifth is faint.
  const HeadOutput places =
      PlacesOf({{21, 43, 0.5f}, {90, 91, 0.75f}, {86, 90, 0.25f}, {2, 60, 0.5f}, {50, 100, 0.01f}});
  const HeadOutput descriptors{{1, 256, 16, 16}, std::vector<float>(256 * 256), "desc"};
  EXPECT_EQ(Recognise(NetworkOf({places, descriptors}), 0).kind, HeadKind::kSuperpoint);
  Keypoints found =
      std::get<Keypoints>(Read({places, descriptors}, Decoder(HeadKind::kSuperpoint)));
  EXPECT_FALSE(found.has_order);
  ASSERT_EQ(found.points.size(), 2u);
  EXPECT_EQ(found.points[0].x, 90.5);
  EXPECT_EQ(found.points[0].y, 91.5);
  EXPECT_NEAR(found.points[0].score, 0.75, 1e-4);
  EXPECT_EQ(found.points[1].x, 21.5);

  const HeadOutput features{{1, 64, 16, 16}, std::vector<float>(64 * 256), "feats"};
  const HeadOutput reliability{{1, 1, 16, 16}, std::vector<float>(256, 0.5f), "heatmap"};
  const std::vector<HeadOutput> xfeat = {features, places, reliability};
  EXPECT_EQ(Recognise(NetworkOf(xfeat), 0).kind, HeadKind::kXfeat);
  found = std::get<Keypoints>(Read(xfeat, Decoder(HeadKind::kXfeat)));
  ASSERT_EQ(found.points.size(), 4u);  // the edge counts, and what is 4 pixels away
  EXPECT_NEAR(found.points[0].score, 0.375, 1e-4);

  const HeadOutput points{{1, 3, 2}, {21, 43, 90, 91, 0, 0}, "keypoints"};
  const HeadOutput scores{{1, 3}, {0.5f, 0.75f, 0}, "scores"};
  EXPECT_EQ(Recognise(NetworkOf({points, scores}), 0).kind, HeadKind::kPoints);
  found = std::get<Keypoints>(Read({points, scores}, Decoder(HeadKind::kPoints)));
  ASSERT_EQ(found.points.size(), 2u);
  EXPECT_EQ(found.points[0].x, 90.5);
}

TEST(MapHeadsTest, SeveralMapsOfClassesAreOneOfTheirCombinations) {
  constexpr int64_t kPixels = 16 * 16;
  HeadOutput lanes{{1, 2, 16, 16}, std::vector<float>(2 * kPixels), "lane_seg"};
  HeadOutput ground{{1, 3, 16, 16}, std::vector<float>(3 * kPixels), "ground_seg"};
  HeadOutput sky{{1, 1, 16, 16}, std::vector<float>(kPixels, -2), "sky_seg"};
  lanes.numbers[kPixels + 5] = 1;
  ground.numbers[2 * kPixels + 5] = 1;
  sky.numbers[5] = 3;
  ground.numbers[kPixels + 6] = 1;
  const std::vector<HeadOutput> outputs = {lanes, ground, sky};
  EXPECT_EQ(Recognise(NetworkOf(outputs), 0).kind, HeadKind::kSegmentation);
  const auto map = std::get<ClassMap>(Read(outputs, Decoder(HeadKind::kSegmentation)));
  EXPECT_EQ(map.classes[4], 0);
  EXPECT_EQ(map.classes[5], 1 + 2 * 2 + 6 * 1);
  EXPECT_EQ(map.classes[6], 2 * 1);
  Graph graph = NetworkOf(outputs);
  AddDecoder(graph, Decoder(HeadKind::kSegmentation));
  EXPECT_EQ(graph.head.classes, 12);
  EXPECT_EQ(AnswerReader(graph, Decoder(HeadKind::kSegmentation)).ClassName(11),
            "lane_seg 1, ground_seg 2, sky_seg 1");
}

TEST(MapHeadsTest, ClassScoresMayLiePixelByPixel) {
  HeadOutput scores{{1, 16, 16, 3}, std::vector<float>(3 * 256)};
  scores.numbers[3 * 7 + 2] = 1;
  const auto map = std::get<ClassMap>(Read({scores}, Decoder(HeadKind::kSegmentation)));
  EXPECT_EQ(map.classes[6], 0);
  EXPECT_EQ(map.classes[7], 2);
  EXPECT_EQ(map.classes.size(), 256u);
}

// As an argmax over the last axis keeps that channel.
TEST(MapHeadsTest, ClassesOfPixelsMayHaveAChannelOfTheirOwn) {
  HeadOutput classes{{1, 16, 16, 1}, std::vector<float>(256), "classes", Function::Kind::kTruncate};
  classes.numbers[7] = 1;
  EXPECT_EQ(ReaderOf({classes}, Decoder(HeadKind::kSegmentation), 3).contradiction(), "");
  classes.numbers[8] = 4;
  const auto map = std::get<ClassMap>(Read({classes}, Decoder(HeadKind::kSegmentation)));
  EXPECT_EQ(map.classes[6], 0);
  EXPECT_EQ(map.classes[7], 1);
  EXPECT_EQ(map.classes[8], 4);
  EXPECT_EQ(map.classes.size(), 256u);
  EXPECT_EQ(ReaderOf({classes}, Decoder(HeadKind::kSegmentation), 3).contradiction(), "");
}

TEST(MapHeadsTest, AnAuxiliaryMapIsNotRead) {
  const HeadOutput out{{1, 3, 16, 16}, std::vector<float>(3 * 256), "out"};
  const HeadOutput aux{{1, 3, 16, 16}, std::vector<float>(3 * 256), "aux"};
  Graph graph = NetworkOf({out, aux});
  AddDecoder(graph, Decoder(HeadKind::kSegmentation));
  EXPECT_EQ(graph.head.classes, 3);
}

TEST(MapHeadsTest, AnEmbeddingIsItsNumbers) {
  const AnswerContent content =
      Read({{{1, 4}, {1, -2, 3, 0.5f}, "feature"}}, Decoder(HeadKind::kEmbedding));
  EXPECT_EQ(std::get<Embedding>(content).numbers, (std::vector<float>{1, -2, 3, 0.5f}));
}

}  // namespace
}  // namespace cacheinf
