#ifndef CACHEINF_TESTS_MODEL_EVERY_KIND_H_
#define CACHEINF_TESTS_MODEL_EVERY_KIND_H_

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "common/model/graph/decode.h"
#include "common/model/graph/graph.h"
#include "common/model/passes/passes.h"
#include "tests/model/model_builder.h"

namespace cacheinf {

// One operator of every kind with attributes that are not the defaults, an archive, infinities, a
// picture, shared constants.
inline Graph EveryKind() {
  ModelBuilder b;
  const ValueId x = b.Input({1, 4, 8, 8}, "picture \"x\" \\ µ");
  const ValueId weights = b.Random({4, 4, 1, 1});
  std::vector<ValueId> outputs;
  const auto keep = [&outputs](ValueId id) { outputs.push_back(id); };
  op::Conv conv;
  conv.has_residual = conv.activation_before_residual = true;
  conv.activation = {Function::Kind::kLeakyRelu, 0.1f, 0.0f};
  keep(b.Op(conv, {x, weights, x}));
  keep(b.TransposedConv(x, 4, 4, 2, 2));
  keep(b.Linear(x, 3));
  keep(b.Op(op::MatMul{}, {x, x}));
  keep(b.Op(op::ScaleShift{{Function::Kind::kRelu, 0.0f, 0.0f}, {3, 2, 1, 0}},
            {x, b.Random({4}), b.Random({4})}));
  keep(b.Op(op::LayerNorm{2, 2, 1e-6f, false}, {x}));
  keep(b.Op(op::GroupNorm{2, 1e-3f, false}, {x}));
  keep(b.Apply(Function::Kind::kClip, x, 0.1f, std::numeric_limits<float>::infinity()));
  keep(b.Binary(BinaryKind::kMinimum, x, b.Number(-std::numeric_limits<float>::infinity())));
  keep(b.Op(op::Concat{3}, {x, x}));
  keep(b.Op(op::Slice{{0, 1, 0, 2}, {1, 2, 4, 3}, {1, 1, 2, 1}}, {x}));
  keep(b.Op(op::Gather{2, {3, 1, 1}, false}, {x}));
  const ValueId top = b.Op(op::TopK{2, 3}, {x});
  keep(top);
  keep(b.Op(op::GatherElements{2}, {x, top}));
  op::Pool pool;
  pool.spec.rows = pool.spec.columns = {3, 2, 1, 1, 1};
  pool.spec.kind = PoolSpec::Kind::kAverage;
  pool.spec.ceil_mode = pool.spec.count_padding = true;
  keep(b.Op(pool, {x}));
  keep(b.Op(op::AdaptivePool{PoolSpec::Kind::kMax, 3, 5}, {x}));
  op::Resize resize;
  resize.spec = {ResizeSpec::Kind::kCubic,
                 ResizeSpec::Coordinates::kAlignCorners,
                 ResizeSpec::Rounding::kCeil,
                 -0.5f,
                 11,
                 5,
                 1.4f,
                 0.7f};
  keep(b.Op(resize, {x}));
  keep(b.Op(op::DepthToSpace{2, op::DepthToSpace::Order::kRowsFirst}, {x}));
  keep(b.Op(op::SpaceToDepth{4, op::DepthToSpace::Order::kChannelsFirst}, {x}));
  keep(b.Op(op::Pad{PadMode::kEdge, 2.0f, {0, 0, 1, 2}, {0, 1, 0, 3}}, {x}));
  keep(b.Reshape(x, {4, 64}));
  keep(b.Permute(x, {3, 0, 2, 1}));
  keep(b.Op(op::Expand{{2, 4, 8, 8}}, {x}));
  keep(b.Op(op::Softmax{3, true}, {x}));
  keep(b.Op(op::ArgMax{2, false}, {x}));
  keep(b.Op(op::Reduce{ReduceKind::kMin, {3, 1}, false}, {x}));
  const ValueId head = b.Input({1, 12, 2, 2}, "head");
  const ValueId boxes = b.Op(op::DecodeBoxes{{{16, {10.0f, 13.5f, 16.0f, 30.0f}}}, false}, {head});
  keep(boxes);
  keep(b.Op(op::NonMaxSuppression{0.3f, 0.6f, 7, {}}, {boxes}));
  keep(b.Op(op::NonMaxSuppression{0.3f, 0.6f, 7, {{16, {10.0f, 13.5f, 16.0f, 30.0f}}}}, {head}));
  const Steps steps = {0.25f, -3, true};
  keep(b.Op(op::FakeQuantise{steps}, {x}));
  const ValueId map = b.Op(op::Quantise{{0.5f, 7, false}}, {x});
  op::QuantConv quant_conv;
  quant_conv.bias = {1, -2, 3};
  quant_conv.scales = {0.5f, 0.25f, 0.125f};
  quant_conv.weight_zeros = {0, -5, 4};
  quant_conv.has_residual = quant_conv.activation_before_residual = true;
  quant_conv.activation = {Function::Kind::kSilu, 0.0f, 0.0f};
  quant_conv.steps = steps;
  quant_conv.low = -100;
  quant_conv.high = 100;
  const ValueId sums = b.Op(quant_conv, {map, b.Random({3, 1, 1, 1}), b.Conv(x, 3, 1)});
  op::QuantConv fused;
  fused.bias = quant_conv.bias;
  fused.scales = quant_conv.scales;
  fused.has_residual = fused.rounds_sums = true;
  fused.activation = {Function::Kind::kRelu, 0.0f, 0.0f};
  fused.sum_steps = {0.5f, 10, false};
  fused.low = 10;
  fused.high = 200;
  fused.table.assign(256, -9);
  fused.table_steps = steps;
  fused.steps = {0.125f, 4, false};
  keep(b.Op(op::Dequantise{}, {b.Op(fused, {map, b.Random({3, 1, 1, 1}), sums})}));
  op::QuantPool quant_pool;
  quant_pool.spec = pool.spec;
  quant_pool.steps = steps;
  op::Table table;
  table.entries.assign(256, 9);
  table.steps = steps;
  const op::QuantBinary product{BinaryKind::kMultiply, {Function::Kind::kRelu, 0.0f, 0.0f}, steps};
  keep(b.Op(op::Dequantise{}, {sums}));
  op::QuantLinear quant_linear;
  quant_linear.input_steps = {0.25f, 3, false};
  quant_linear.bias = quant_conv.bias;
  quant_linear.scales = quant_conv.scales;
  quant_linear.weight_zeros = quant_conv.weight_zeros;
  quant_linear.rounds_sums = true;
  quant_linear.steps = steps;
  quant_linear.low = -90;
  quant_linear.high = 90;
  keep(b.Op(quant_linear, {x, b.Random({3, 2})}));
  keep(b.Op(op::Dequantise{}, {b.Op(quant_pool, {map})}));
  keep(b.Op(op::Dequantise{}, {b.Op(product, {map, b.Op(table, {map})})}));
  op::Foreign foreign;
  foreign.type = "aten::cumsum";
  foreign.archive = std::make_shared<const std::string>(std::string("PK\0\1binary", 10));
  foreign.output_shapes = {{1, 4, 8, 8}, {3}};
  foreign.output_types = {DataType::kFloat32, DataType::kInt64};
  keep(b.Op(foreign, {x}));
  Graph graph = b.Finish(outputs);
  graph.picture = {640,
                   384,
                   PictureSpec::Fit::kLetterbox,
                   PictureSpec::Channels::kBgr,
                   7,
                   PictureSpec::Resize::kAntialias,
                   700};
  graph.head = {HeadKind::kYolov8Pose, 3, 17, 3, 0, false, true};
  graph.notes = {"pose", {"person", "it's"}, 32, {384, 640}, {17, 3}, true, true, "a model"};
  return graph;
}

// A picture that is rounded at once, so that it is an 8-bit map.
inline Graph GraphWithLevels() {
  ModelBuilder b;
  const ValueId x = b.Input({1, 3, 4, 5});
  Graph graph = b.Finish({b.Op(op::Dequantise{}, {b.Op(op::Quantise{Steps{0.02f, 3}}, {x})})});
  PrependPicture(graph, {}, {{1.0, 2.0, 3.0}, {60.0, 70.0, 80.0}, {}});
  pass::TakeLevels(graph);
  graph.Validate();
  return graph;
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_MODEL_EVERY_KIND_H_
