// Whether a smaller model may answer in place of the first, and what its maps become then.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/answer/smaller_model.h"
#include "common/backend/host/cpu_backend.h"
#include "common/base/log.h"
#include "common/config/model_setup.h"
#include "common/exec/model_state.h"
#include "common/model/passes/passes.h"
#include "tests/model/model_builder.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

using Kind = DecoderConfig::Kind;

class SmallerModelTest : public testing::Test {
 protected:
  SmallerModelTest() { SetLogLevel(LogLevel::kOff); }
  ~SmallerModelTest() override { SetLogLevel(LogLevel::kInfo); }

  // A convolution with so many channels, which the decoder reads.
  static SmallerModel Model(Kind kind, int channels, int side = 16,
                            const std::vector<std::string>& names = {}) {
    ModelBuilder b;
    const ValueId picture = b.Input({1, 3, side, side});
    ValueId out = b.Conv(picture, channels, 1);
    if (kind == Kind::kClassification) {
      out = b.Op(op::Reduce{.kind = ReduceKind::kMean, .axes = {2, 3}}, {out});
    }
    Graph graph = b.Finish({out});
    graph.notes.class_names = names;
    ModelConfig config;
    config.decoder = Decoder(kind);
    AddPictureAndDecoder(graph, config);
    Optimise(graph);
    graph.Validate();
    return {"small",
            std::make_shared<const CompiledModel>(std::make_shared<const Graph>(std::move(graph)),
                                                  std::make_unique<CpuBackend>())};
  }

  static DecoderConfig Decoder(Kind kind) {
    DecoderConfig decoder;
    decoder.kind = kind;
    return decoder;
  }

  static std::string Refusal(const SmallerModel& first, const SmallerModel& smaller,
                             const DecoderConfig& decoder = {}) {
    return RefusalOf([&] { SmallerModelReader(smaller, first.model->graph(), decoder); });
  }
};

TEST_F(SmallerModelTest, AnswersOfTheSameKindAndClassesCanStandForTheFirsts) {
  for (const Kind kind : {Kind::kSegmentation, Kind::kKeypoints}) {
    EXPECT_EQ(Refusal(Model(kind, 5), Model(kind, 5, 8)), "");
    EXPECT_EQ(Refusal(Model(kind, 2, 16, {"a", "b"}), Model(kind, 2, 8, {"a", "b"})), "");
    EXPECT_EQ(Refusal(Model(kind, 2, 16, {"a", "b"}), Model(kind, 2, 8)), "")
        << "says nothing else";
  }
}

TEST_F(SmallerModelTest, OthersAreRefusedWithARemedy) {
  const std::string refused = "model small cannot answer in place of the first model: ";
  EXPECT_EQ(Refusal(Model(Kind::kSegmentation, 5), Model(Kind::kSegmentation, 4)),
            refused +
                "it tells 4 classes apart instead of 5: take models that were trained on the same "
                "classes");
  EXPECT_EQ(Refusal(Model(Kind::kKeypoints, 17), Model(Kind::kKeypoints, 4)),
            refused +
                "it has 4 classes or points instead of 17: take models that were trained on the "
                "same classes");
  EXPECT_EQ(Refusal(Model(Kind::kSegmentation, 5), Model(Kind::kKeypoints, 5)),
            refused +
                "its answers are of another kind, keypoints instead of segmentation: take a model "
                "that was made for the same task");
  EXPECT_EQ(Refusal(Model(Kind::kSegmentation, 2, 16, {"car", "bus"}),
                    Model(Kind::kSegmentation, 2, 8, {"car", "van"})),
            refused +
                "its class 1 is \"van\" instead of \"bus\": take models that were trained on the "
                "same classes, or set decoder.class_names");
  EXPECT_NE(Refusal(Model(Kind::kRaw, 2), Model(Kind::kRaw, 2), Decoder(Kind::kRaw))
                .find("nothing says how far two models agree"),
            std::string::npos);
}

// The first model's picture is twice as large and has bars above and below the frame; the smaller
// one's shows the frame alone.
TEST_F(SmallerModelTest, AMapGetsThePlaceAndTheSizeOfTheFirstModels) {
  PictureSpec small;
  small.width = 4;
  small.height = 2;
  PictureSpec first;
  first.width = first.height = 8;
  first.fit = PictureSpec::Fit::kLetterbox;
  const PictureFit from(small, 40, 20);
  const PictureFit to(first, 40, 20);
  const ClassMap map = {4, 2, {0, 1, 2, 3, 4, 5, 6, 7}};
  const std::vector<int32_t> upper = {0, 0, 1, 1, 2, 2, 3, 3};
  const std::vector<int32_t> lower = {4, 4, 5, 5, 6, 6, 7, 7};
  std::vector<int32_t> expected;
  for (int row = 0; row < 8; ++row) {
    const std::vector<int32_t>& half = row < 4 ? upper : lower;
    expected.insert(expected.end(), half.begin(), half.end());
  }
  EXPECT_EQ(Refitted(map, from, to, 8, 8).classes, expected);
  EXPECT_EQ(Refitted(map, from, from, 4, 2).classes, map.classes);
  // Back, of half as many pixels.
  EXPECT_EQ(Refitted({8, 8, expected}, to, from, 2, 1).classes, (std::vector<int32_t>{5, 7}));
}

TEST_F(SmallerModelTest, ReadsItsAnswerAsTheFirstWouldGiveIt) {
  const SmallerModel first = Model(Kind::kSegmentation, 5, 16);
  const SmallerModel small = Model(Kind::kSegmentation, 5, 8);
  SmallerModelReader reader(small, first.model->graph(), {});
  const PictureFit fit(small.model->graph().picture, 32, 32);
  const PictureFit first_fit(first.model->graph().picture, 32, 32);
  ModelState state(small.model);
  std::vector<uint8_t> pixels;
  for (int i = 0; i < 8 * 8 * 3; ++i) pixels.push_back(static_cast<uint8_t>(37 * i));
  state.SetPicture({pixels.data(), 8, 8, 3});
  state.Run();
  const auto own =
      std::get<ClassMap>(AnswerReader(small.model->graph(), {}).Read(state, {&fit, {}}));
  const auto map = std::get<ClassMap>(reader.Read(state, {&fit, {}}, first_fit));
  ASSERT_EQ(map.width, 16);
  ASSERT_EQ(map.classes.size(), 256U);
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 16; ++x)
      EXPECT_EQ(map.classes[16 * y + x], own.classes[8 * (y / 2) + x / 2]);
  }
}

}  // namespace
}  // namespace cacheinf
