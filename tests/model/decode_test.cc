#include "common/model/graph/decode.h"

#include <gtest/gtest.h>

#include <vector>

#include "common/base/error.h"
#include "common/config/model_setup.h"
#include "common/model/graph/geometry.h"
#include "common/model/heads/heads.h"
#include "common/model/passes/passes.h"
#include "tests/model/model_builder.h"
#include "tests/testing/run_graph.h"

namespace cacheinf {
namespace {

std::vector<std::vector<float>> Evaluate(const Graph& graph, const std::vector<Tensor>& inputs) {
  const auto state = MakeReferenceState(graph);
  SetInputs(*state, inputs);
  state->Run();
  return Outputs(*state);
}

Graph Network(int64_t channels) {
  ModelBuilder b;
  const ValueId x = b.Input({1, channels, 2, 2}, "image");
  return b.Finish({b.Apply(Function::Kind::kAbs, x)});
}

// The network sees (pixel - mean) / divisor, and the picture keeps the input's name.
TEST(DecodeTest, ThePictureIsNormalisedInTheGraph) {
  Graph graph = Network(3);
  PictureSpec picture;
  picture.channels = PictureSpec::Channels::kBgr;
  PrependPicture(graph, picture, {{10.0, 20.0, 30.0}, {2.0, 4.0, 5.0}, {}});
  graph.Validate();
  EXPECT_EQ(graph.value(graph.inputs[0]).name, "image");
  EXPECT_EQ(graph.picture.width, 2);
  EXPECT_EQ(graph.picture.height, 2);
  EXPECT_EQ(graph.picture.channels, PictureSpec::Channels::kBgr);
  const Tensor pixels({1, 3, 2, 2}, {0, 10, 20, 255, 0, 20, 40, 60, 0, 30, 130, 255});
  const std::vector<float> expected = {5, 0, 5, 122.5f, 5, 0, 5, 10, 6, 0, 20, 45};
  const std::vector<float> actual = Evaluate(graph, {pixels}).front();
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-4) << i;
}

// A network from TensorFlow, 1×H×W×3: nothing is left of its transpositions, so all is local.
TEST(DecodeTest, APictureMayHaveItsChannelsLast) {
  ModelBuilder b;
  const ValueId x = b.Input({1, 6, 8, 3}, "image");
  const ValueId shifted = b.Add(x, b.Constant({3}, {1, 2, 3}));
  ValueId map = b.Conv(b.Permute(shifted, {0, 3, 1, 2}), 4, 3, 2, 1);
  map = b.Apply(Function::Kind::kRelu, map);
  const Graph network = b.Finish({b.Permute(map, {0, 2, 3, 1})});

  Graph graph = network;
  PrependPicture(graph, {}, {{10.0}, {2.0}, {}});
  graph.Validate();
  EXPECT_EQ(graph.value(graph.inputs[0]).shape, (Shape{1, 3, 6, 8}));
  EXPECT_EQ(graph.picture.height, 6);
  EXPECT_EQ(graph.picture.width, 8);
  Optimise(graph);
  graph.Validate();
  EXPECT_EQ(Kinds(graph), "scale_shift conv permute");
  EXPECT_TRUE(IsLocal(graph, graph.operators[0]));
  EXPECT_TRUE(IsLocal(graph, graph.operators[1]));

  std::vector<float> pixels;     // 1×3×6×8
  std::vector<float> last(144);  // (pixel - 10) / 2, as 1×6×8×3
  for (size_t i = 0; i < 144; ++i) {
    pixels.push_back(static_cast<float>(i));
    last[i % 48 * 3 + i / 48] = (static_cast<float>(i) - 10.0f) / 2.0f;
  }
  const auto expected = Evaluate(network, {Tensor({1, 6, 8, 3}, last)}).front();
  const auto actual = Evaluate(graph, {Tensor({1, 3, 6, 8}, pixels)}).front();
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-3) << i;
}

// A camera's channel order need not be the network's.
TEST(DecodeTest, ChannelsAreReordered) {
  Graph graph = Network(3);
  PrependPicture(graph, {}, {{0.0}, {1.0}, {2, 1, 0}});
  graph.Validate();
  const Tensor pixels({1, 3, 2, 2}, {1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3});
  EXPECT_EQ(Evaluate(graph, {pixels}).front(),
            (std::vector<float>{3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1}));
}

TEST(DecodeTest, RefusesPicturesThatDoNotFit) {
  const auto refuses = [](Graph graph, const PictureSpec& picture, const Normalisation& numbers) {
    EXPECT_THROW(PrependPicture(graph, picture, numbers), InputError);
  };
  PictureSpec gray;
  gray.channels = PictureSpec::Channels::kGray;
  refuses(Network(3), gray, {});
  refuses(Network(4), {}, {});
  PictureSpec large;
  large.width = large.height = 64;
  refuses(Network(3), large, {});
  refuses(Network(3), {}, {{1.0, 2.0}, {1.0}, {}});
  refuses(Network(3), {}, {{0.0}, {0.0}, {}});
  refuses(Network(3), {}, {{0.0}, {1.0}, {0, 1}});
  refuses(Network(3), {}, {{0.0}, {1.0}, {0, 1, 3}});
  Graph has_one = Network(3);
  PrependPicture(has_one, {}, {});
  refuses(has_one, {}, {});
}

TEST(DecodeTest, ClassificationEndsInOneSoftmax) {
  for (const bool has_softmax : {false, true}) {
    ModelBuilder b;
    ValueId x = b.Input({1, 5});
    x = has_softmax ? b.Op(op::Softmax{1, false}, {x}) : b.Apply(Function::Kind::kAbs, x);
    Graph graph = b.Finish({x});
    HeadSpec decoder;
    decoder.kind = HeadKind::kClassification;
    AppendHead(graph, decoder);
    graph.Validate();
    EXPECT_EQ(graph.operators.size(), has_softmax ? 1u : 2u);
    float sum = 0.0f;
    const auto outputs = Evaluate(graph, {Tensor({1, 5}, {0, 1, 2, 3, 4})});
    for (float share : outputs.front()) sum += share;
    EXPECT_NEAR(sum, 1.0f, 1e-6f);
  }
}

TEST(DecodeTest, SegmentationGivesTheClassOfEachPixel) {
  ModelBuilder b;
  const ValueId x = b.Input({1, 2, 4, 4});
  op::Pool pool;
  pool.spec.rows.kernel = pool.spec.rows.stride = 2;
  pool.spec.columns.kernel = pool.spec.columns.stride = 2;
  Graph graph = b.Finish({b.Op(pool, {x})});
  Graph enlarged = graph;
  HeadSpec decoder;
  decoder.kind = HeadKind::kSegmentation;
  AppendHead(graph, decoder);
  graph.Validate();
  EXPECT_EQ(graph.value(graph.outputs[0]).shape, (Shape{1, 1, 2, 2}));
  EXPECT_EQ(graph.value(graph.outputs[0]).type, DataType::kInt64);
  decoder.enlarge = true;
  AppendHead(enlarged, decoder);
  enlarged.Validate();
  EXPECT_EQ(enlarged.value(enlarged.outputs[0]).shape, (Shape{1, 1, 4, 4}));

  std::vector<float> scores(32, 0.0f);
  scores[16 + 3] = 1.0f;  // class 1 wins in the top right corner only
  const Tensor input({1, 2, 4, 4}, scores);
  EXPECT_EQ(Evaluate(graph, {input}).front(), (std::vector<float>{0, 1, 0, 0}));
  EXPECT_EQ(Evaluate(enlarged, {input}).front()[3], 1.0f);
}

HeadSpec Boxes() {
  HeadSpec decoder;
  decoder.kind = HeadKind::kBoxes;
  decoder.scales = {{8, {10, 20}}, {16, {30, 40}}};
  decoder.suppression = {0.25f, 0.5f, 4, {}};
  return decoder;
}

Graph Heads(int64_t width = 32) {
  ModelBuilder b;
  const ValueId x = b.Input({1, 7, 32, width}, "image");
  const auto head = [&](int stride) {
    op::Pool pool;
    pool.spec.rows.kernel = pool.spec.rows.stride = stride;
    pool.spec.columns.kernel = pool.spec.columns.stride = stride;
    return b.Op(pool, {x});
  };
  const ValueId fine = head(8);
  return b.Finish({fine, head(16)});
}

// Raw heads become one table of boxes in the picture's pixels.
TEST(DecodeTest, RawHeadsBecomeBoxes) {
  Graph graph = Heads();
  AppendHead(graph, Boxes());
  graph.Validate();
  ASSERT_EQ(graph.outputs.size(), 1u);
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "boxes");
  EXPECT_EQ(graph.value(graph.outputs[0]).shape, (Shape{4, 6}));
  // One certain object of class 1: only one cell of the finer head has it.
  std::vector<float> numbers(7 * 32 * 32, -20.0f);
  const auto set = [&](int channel, float value) {
    for (int y = 8; y < 16; ++y) {
      for (int x = 16; x < 24; ++x) numbers[(channel * 32 + y) * 32 + x] = value;
    }
  };
  for (int channel : {0, 1, 2, 3}) set(channel, 0.0f);
  set(4, 20.0f);
  set(6, 20.0f);
  const std::vector<float> boxes = Evaluate(graph, {Tensor({1, 7, 32, 32}, numbers)}).front();
  // sigmoid(0) = 1/2: the centre of cell (2, 1), the size of the anchor.
  const std::vector<float> expected = {20 - 5, 12 - 10, 20 + 5, 12 + 10, 1, 1};
  bool is_found = false;
  for (size_t row = 0; row < 4; ++row) {
    bool is_equal = true;
    for (size_t i = 0; i < 6; ++i) {
      is_equal = is_equal && std::abs(boxes[6 * row + i] - expected[i]) < 1e-3f;
    }
    is_found = is_found || is_equal;
  }
  EXPECT_TRUE(is_found);
}

TEST(DecodeTest, RefusesHeadsThatDoNotFit) {
  const auto refuses = [](const HeadSpec& decoder, Graph graph = Heads()) {
    EXPECT_THROW(AppendHead(graph, decoder), InputError);
  };
  HeadSpec one_scale = Boxes();
  one_scale.scales.pop_back();
  refuses(one_scale);
  HeadSpec wrong_stride = Boxes();
  wrong_stride.scales[0].stride = 4;
  refuses(wrong_stride);
  HeadSpec wrong_anchors = Boxes();
  wrong_anchors.scales[0].anchors = {1, 2, 3, 4};
  refuses(wrong_anchors);
  HeadSpec no_scales = Boxes();
  no_scales.scales.clear();
  refuses(no_scales);
  refuses(Boxes(), Heads(40));  // two and a half columns of the coarser head
}

// A detector that decodes its boxes lacks only suppression.
TEST(DecodeTest, DecodedBoxesOnlyNeedSuppression) {
  ModelBuilder b;
  Graph graph = b.Finish({b.Apply(Function::Kind::kAbs, b.Input({1, 9, 7}))});
  HeadSpec decoder = Boxes();
  decoder.scales.clear();
  AppendHead(graph, decoder);
  graph.Validate();
  EXPECT_EQ(graph.value(graph.outputs[0]).shape, (Shape{4, 6}));
  const size_t operators = graph.operators.size();
  AppendHead(graph, decoder);
  EXPECT_EQ(graph.operators.size(), operators);
}

// The configuration's words reach the graph.
TEST(DecodeTest, AConfigurationSetsUpBothEnds) {
  ModelBuilder b;
  const ValueId x = b.Input({1, 3, 16, 16}, "image");
  const ValueId fine = b.Conv(x, 14, 8, 8);
  Graph graph = b.Finish({fine, b.Conv(x, 14, 16, 16)});
  ModelConfig config;
  config.preprocess.channels = PictureSpec::Channels::kBgr;
  config.preprocess.fit = PictureSpec::Fit::kLetterbox;
  config.preprocess.border = 9;
  config.decoder.kind = DecoderConfig::Kind::kBoxes;
  config.decoder.strides = {8, 16};
  config.decoder.anchors = {1, 2, 3, 4, 5, 6, 7, 8};
  config.decoder.most = 3;
  AddPictureAndDecoder(graph, config);
  graph.Validate();
  EXPECT_EQ(graph.picture.fit, PictureSpec::Fit::kLetterbox);
  EXPECT_EQ(graph.picture.border, 9);
  EXPECT_EQ(graph.value(graph.outputs[0]).shape, (Shape{3, 6}));
  const auto* decode = graph.operators[3].As<op::NonMaxSuppression>();
  ASSERT_NE(decode, nullptr);
  ASSERT_EQ(decode->scales.size(), 2u);
  EXPECT_EQ(decode->scales[0].stride, 8);
  EXPECT_EQ(decode->scales[0].anchors, (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(decode->scales[1].stride, 16);
  EXPECT_EQ(decode->scales[1].anchors, (std::vector<float>{5, 6, 7, 8}));
}

}  // namespace
}  // namespace cacheinf
