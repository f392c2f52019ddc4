// What a reader says about answers that contradict their decoder, or are odd.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/answer/answers.h"
#include "common/answer/seen_picture.h"
#include "common/config/model_setup.h"
#include "common/model/picture.h"
#include "tests/answer/given_outputs.h"
#include "tests/tracker/pictures.h"

namespace cacheinf {
namespace {

// What a robot's own answers show once it tries no more frames.
TEST(AnswerReaderTest, AReaderSeesBoxesThatContradictTheDecoder) {
  const auto contradiction = [](std::vector<float> row) {
    const HeadOutput rows{{1, 1, 6}, std::move(row)};
    return ReaderOf({rows}, Decoder(HeadKind::kEndToEnd), 1).contradiction();
  };
  EXPECT_EQ(contradiction({10, 10, 40, 50, 0.75f, 2}), "");
  EXPECT_EQ(contradiction({40, 10, 10, 50, 0.125f, 2}), "") << "it scores too little to be read";
  EXPECT_EQ(contradiction({10, 10, 40, 50, 2, 0}), "a box scores 2, more than 1");
  EXPECT_EQ(contradiction({40, 10, 10, 50, 0.75f, 2}), "a box ends before it begins");
  EXPECT_EQ(contradiction({10, 10, 400, 50, 0.75f, 2}),
            "a box reaches to pixel 400 of a picture of 128x128");
}

// What a reader says after so many frames, each with so many boxes of one score.
std::string ContradictionOfBoxes(int frames, size_t boxes, float score, int most) {
  HeadOutput rows{{1, 120, 6}, std::vector<float>(120 * 6)};
  for (size_t box = 0; box < boxes; ++box) {
    const std::array<float, 6> row = {10, 10, 40, 50, score, 2};
    std::copy(row.begin(), row.end(), rows.numbers.begin() + static_cast<ptrdiff_t>(6 * box));
  }
  DecoderConfig config = Decoder(HeadKind::kEndToEnd);
  config.most = most;
  return ReaderOf({rows}, config, frames).contradiction();
}

TEST(AnswerReaderTest, ASaturatedNetworkIsNotBelieved) {
  EXPECT_NE(ContradictionOfBoxes(3, 120, 0.96f, 100).find("preprocess.divisor or mean are likely"),
            std::string::npos);
  EXPECT_EQ(ContradictionOfBoxes(2, 120, 0.96f, 100), "");
  EXPECT_EQ(ContradictionOfBoxes(9, 120, 0.875f, 100), "");
  EXPECT_EQ(ContradictionOfBoxes(9, 99, 0.96f, 100), "") << "the limit is not reached";
  EXPECT_EQ(ContradictionOfBoxes(9, 120, 0.96f, 10), "") << "a crowd may fill it";
}

// What a reader finds odd about the same boxes in so many frames of 160 x 80, which lie in rows 32
// to 96 of a picture of 128 x 128.
struct Oddities {
  std::string contradiction;
  std::string doubt;
};
Oddities OdditiesOf(const std::vector<HeadOutput>& outputs, HeadKind kind, int frames,
                    const Homography& moved = {}) {
  PictureSpec spec;
  spec.width = spec.height = kSide;
  spec.fit = PictureSpec::Fit::kLetterbox;
  const PictureFit fit(spec, 160, 80);
  const AnswerReader reader = ReaderOf(outputs, Decoder(kind), frames, {}, {&fit, moved});
  return {reader.contradiction(), reader.Doubt()};
}

Oddities OdditiesOf(const std::vector<std::array<float, 4>>& boxes, int frames,
                    const Homography& moved = {}) {
  HeadOutput rows{{1, static_cast<int64_t>(boxes.size()), 6}, {}};
  for (const auto& box : boxes) {
    rows.numbers.insert(rows.numbers.end(), box.begin(), box.end());
    rows.numbers.insert(rows.numbers.end(), {0.75f, 1});
  }
  return OdditiesOf({rows}, HeadKind::kEndToEnd, frames, moved);
}

TEST(AnswerReaderTest, BoxesBesideTheFrameContradictTheirDecoder) {
  const std::array<float, 4> inside = {40, 40, 80, 80};
  const std::array<float, 4> in_border = {40, 0, 80, 40};
  EXPECT_NE(OdditiesOf({inside, in_border}, 3).contradiction.find("3 of 6 boxes"),
            std::string::npos);
  EXPECT_EQ(OdditiesOf({inside, in_border}, 2).contradiction, "") << "a few are none";
  EXPECT_EQ(OdditiesOf({{40, 10, 80, 60}}, 9).contradiction, "") << "its centre is in the frame";
  EXPECT_EQ(OdditiesOf({inside, in_border}, 9, Shift(1, 0)).contradiction, "")
      << "a canvas may show what is beside the frame";
}

TEST(AnswerReaderTest, BoxesThatAllLieInTheUpperLeftAreDoubted) {
  const std::array<float, 4> near = {20, 40, 60, 70};
  EXPECT_NE(OdditiesOf({near}, 20).doubt.find("upper left 47 % by 55 %"), std::string::npos);
  EXPECT_EQ(OdditiesOf({near}, 19).doubt, "");
  EXPECT_EQ(OdditiesOf({near, {20, 40, 60, 80}}, 20).doubt, "");
}

TEST(AnswerReaderTest, PointsAreDoubtedAsBoxesAre) {
  const auto of = [](const std::vector<float>& places) {
    const auto count = static_cast<int64_t>(places.size() / 2);
    const std::vector<float> scores(places.size() / 2, 0.1f);
    return OdditiesOf({{{1, count, 2}, places, "keypoints"}, {{1, count}, scores, "scores"}},
                      HeadKind::kPoints, 10);
  };
  EXPECT_EQ(of({20, 40, 120, 90}).contradiction, "");
  EXPECT_EQ(of({20, 40, 120, 90}).doubt, "");
  EXPECT_NE(of({20, 40, 40, 60}).doubt.find("all 20 points"), std::string::npos);
  EXPECT_NE(of({40, 20, 90, 120}).contradiction.find("points lie beside the frame"),
            std::string::npos);
  EXPECT_EQ(of({20, 40, 120, 90, 60, 60, 70, 70, 60, 2}).contradiction, "")
      << "the border's edge may look like a point";
}

}  // namespace
}  // namespace cacheinf
