// Heads whose things are the peaks of a map: CenterNet, CenterFace, SuperPoint, XFeat.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "common/model/heads/head_numbers.h"
#include "common/model/heads/head_table.h"

namespace cacheinf {
namespace {

using Kind = HeadKind;

// The map's values where they are the largest of size × size, else 0.
ValueId PeaksOf(Graph& graph, ValueId map, int size) {
  op::Pool pool;
  pool.spec.rows = {size, 1, size / 2, size / 2, 1};
  pool.spec.columns = pool.spec.rows;
  const ValueId largest = graph.AddOne("peaks", pool, {map});
  const ValueId is_peak = graph.AddOne("peaks", op::Binary{BinaryKind::kEqual, {}}, {map, largest});
  return graph.AddOne("peaks", op::Binary{BinaryKind::kMultiply, {}}, {map, is_peak});
}

ValueId Squashed(Graph& graph, ValueId map) {
  if (SquashingOf(graph, map) != Squashing::kNone) return map;
  return RowBuilder(&graph).Apply(map, Function::Kind::kSigmoid);
}

// ---- Boxes: CenterNet (arXiv 1904.07850) and CenterFace ----

struct CentreMaps {
  size_t scores = 0;
  size_t sizes = 0;
  std::optional<size_t> offsets;    // CenterNet may lack them
  std::optional<size_t> landmarks;  // CenterFace's
  int stride = 0;
};

// By the outputs' names or, where these say nothing, in the networks' own order: scores, sizes,
// offsets, landmarks.
std::optional<CentreMaps> CentreMapsOf(const Outputs& outputs) {
  const bool is_face = outputs.spec.kind == Kind::kCenterface;
  if (is_face ? outputs.count() != 4 : outputs.count() < 2 || outputs.count() > 3) {
    return std::nullopt;
  }
  const auto stride = static_cast<int>(MapStride(outputs, 0));
  if (stride == 0) return std::nullopt;
  for (size_t i = 1; i < outputs.count(); ++i) {
    if (MapStride(outputs, i) != stride) return std::nullopt;
  }
  const auto find = [&](std::initializer_list<std::string_view> words, size_t otherwise) {
    for (size_t i = 0; i < outputs.count(); ++i) {
      if (Says(outputs.value(i), words)) return i;
    }
    return otherwise;
  };
  CentreMaps maps;
  maps.stride = stride;
  maps.scores = find({"hm", "heat"}, 0);
  maps.sizes = find({"wh", "size", "scale"}, 1);
  if (outputs.count() > 2) maps.offsets = find({"reg", "off"}, 2);
  if (is_face) maps.landmarks = find({"landmark", "lms"}, 3);
  const auto width = [&](size_t i) { return outputs.shape(i)[1]; };
  const bool fits = maps.scores != maps.sizes && width(maps.sizes) == 2 &&
                    (!maps.offsets || (*maps.offsets != maps.scores &&
                                       *maps.offsets != maps.sizes && width(*maps.offsets) == 2)) &&
                    (!is_face || (width(maps.scores) == 1 && *maps.landmarks != maps.scores &&
                                  width(*maps.landmarks) % 2 == 0 && width(*maps.landmarks) > 2));
  return fits ? std::optional(maps) : std::nullopt;
}

std::string WhyNotCentres(const Outputs& outputs) {
  const auto maps = CentreMapsOf(outputs);
  if (maps) return WhyNotSoMany(outputs, outputs.shape(maps->scores)[1]);
  return outputs.spec.kind == Kind::kCenterface
             ? "the outputs are not maps of scores (1x1xhxw), sizes (1x2xhxw), offsets (1x2xhxw) "
               "and landmarks (1x10xhxw)"
             : "the outputs are not maps of scores (1xCxhxw), sizes (1x2xhxw) and offsets "
               "(1x2xhxw)";
}

// centre = (cell + offset) stride, size = wh stride; a peak is the largest of its neighbours.
void AppendCenternet(Graph& graph, const Outputs& outputs) {
  const CentreMaps maps = *CentreMapsOf(outputs);
  const std::vector<ValueId> given = graph.outputs;
  RowBuilder build(&graph);
  const ValueId peaks = PeaksOf(graph, Squashed(graph, given[maps.scores]), 3);
  const ValueId scores = build.FromRawHead(peaks, 1);
  const Tensor stride({1, 1}, {static_cast<float>(maps.stride)});
  const Tensor cells =
      RowBuilder::CellColumns(outputs.picture, {maps.stride}, maps.offsets ? 0.0f : 0.5f);
  const ValueId sizes = build.FromRawHead(given[maps.sizes], 1);
  const ValueId places =
      maps.offsets ? build.With(build.FromRawHead(given[*maps.offsets], 1), BinaryKind::kAdd, cells)
                   : graph.AddConstant("of_rows", cells);
  HeadSpec picks = outputs.spec;
  picks.suppression.overlap_threshold = 1.0f;
  SetBoxes(graph, picks,
           build.Joined({build.With(places, BinaryKind::kMultiply, stride),
                         build.With(sizes, BinaryKind::kMultiply, stride), scores}),
           false, 0);
}

// centre = (cell + .5 + offset) stride, size = e^scale stride, y before x; landmarks in sizes from
// the left top corner.
void AppendCenterface(Graph& graph, const Outputs& outputs) {
  const CentreMaps maps = *CentreMapsOf(outputs);
  const std::vector<ValueId> given = graph.outputs;
  RowBuilder build(&graph);
  const Tensor stride({1, 1}, {static_cast<float>(maps.stride)});
  const auto x_first = [&](ValueId map) {
    const ValueId rows = build.FromRawHead(map, 1);
    std::vector<int64_t> order;
    for (int64_t k = 0; k < graph.value(rows).shape[1]; ++k) order.push_back(k ^ 1);
    return graph.AddOne("rows", op::Gather{1, order, false}, {rows});
  };
  const ValueId scores = build.FromRawHead(Squashed(graph, given[maps.scores]), 1);
  const ValueId sizes = build.With(build.Apply(x_first(given[maps.sizes]), Function::Kind::kExp),
                                   BinaryKind::kMultiply, stride);
  const ValueId centres =
      build.With(build.With(x_first(given[*maps.offsets]), BinaryKind::kAdd,
                            RowBuilder::CellColumns(outputs.picture, {maps.stride}, 0.5f)),
                 BinaryKind::kMultiply, stride);
  const ValueId halves = build.With(sizes, BinaryKind::kMultiply, Tensor({1, 1}, {0.5f}));
  const ValueId corners =
      graph.AddOne("rows", op::Binary{BinaryKind::kSubtract, {}}, {centres, halves});
  const ValueId landmarks = x_first(given[*maps.landmarks]);
  const int64_t cells = graph.value(landmarks).shape[0];
  const int64_t numbers = graph.value(landmarks).shape[1];
  const auto reshaped = [&](ValueId rows, Shape shape) {
    return graph.AddOne("rows", op::Reshape{std::move(shape)}, {rows});
  };
  const ValueId scaled =
      graph.AddOne("rows", op::Binary{BinaryKind::kMultiply, {}},
                   {reshaped(landmarks, {cells, numbers / 2, 2}), reshaped(sizes, {cells, 1, 2})});
  const ValueId placed = graph.AddOne("rows", op::Binary{BinaryKind::kAdd, {}},
                                      {scaled, reshaped(corners, {cells, 1, 2})});
  graph.head.keypoints = static_cast<int>(numbers / 2);
  graph.head.keypoint_numbers = 2;
  SetBoxes(graph, outputs.spec,
           build.Joined({centres, sizes, scores, reshaped(placed, {cells, numbers})}), false,
           static_cast<int>(numbers));
}

HeadFinding JudgeCentres(const Outputs& outputs, HeadNumbers all) {
  const CentreMaps maps = *CentreMapsOf(outputs);
  const bool are_shares =
      SquashingOf(outputs.graph, outputs.graph.outputs[maps.scores]) != Squashing::kNone;
  HeadFinding finding;
  finding.contradiction = WhyNotScores("its scores", ExtentOf(all[maps.scores]), are_shares);
  if (!finding.contradiction.empty()) return finding;
  const Shape& shape = outputs.shape(maps.scores);
  const auto cells = static_cast<size_t>(shape[2] * shape[3]);
  Extent sizes;
  Extent offsets;
  for (size_t i = 0; i < all[maps.scores].size(); ++i) {
    const float score = all[maps.scores][i];
    if ((are_shares ? score : Sigmoid(score)) <= kEvident) continue;
    for (size_t k = 0; k < 2; ++k) {
      const float size = all[maps.sizes][k * cells + i % cells];
      sizes.Add(maps.landmarks ? std::exp(size) : size);
      if (maps.offsets) offsets.Add(all[*maps.offsets][k * cells + i % cells]);
    }
  }
  finding.has_evidence = !sizes.empty();
  const auto side = static_cast<float>(std::max(outputs.picture.width, outputs.picture.height));
  if (!sizes.empty() && !sizes.IsWithin(0, 2 * side / static_cast<float>(maps.stride))) {
    finding.contradiction = Runs("the sizes of its boxes, in cells,", sizes, "within the picture");
  } else if (!offsets.empty() && !offsets.IsWithin(-1, 2)) {
    finding.contradiction = Runs("its offsets", offsets, "within a cell");
  }
  return finding;
}

// ---- Points: SuperPoint (arXiv 1712.07629) and XFeat (arXiv 2404.19174) ----

constexpr int kCell = 8;                        // pixels along each side of a cell
constexpr int64_t kPlaces = kCell * kCell + 1;  // the last: nowhere in the cell

struct PointMaps {
  size_t places = 0;
  size_t descriptors = 0;
  std::optional<size_t> reliability;  // XFeat's
};

std::optional<PointMaps> PointMapsOf(const Outputs& outputs) {
  const bool is_xfeat = outputs.spec.kind == Kind::kXfeat;
  if (outputs.count() != (is_xfeat ? 3u : 2u)) return std::nullopt;
  std::optional<size_t> places;
  std::optional<size_t> descriptors;
  std::optional<size_t> reliability;
  for (size_t i = 0; i < outputs.count(); ++i) {
    if (MapStride(outputs, i) != kCell) return std::nullopt;
    const int64_t channels = outputs.shape(i)[1];
    (channels == kPlaces ? places : (channels == 1 ? reliability : descriptors)) = i;
  }
  if (!places || !descriptors || reliability.has_value() != is_xfeat) return std::nullopt;
  return PointMaps{*places, *descriptors, reliability};
}

std::string WhyNotPointMaps(const Outputs& outputs) {
  if (PointMapsOf(outputs)) return "";
  return outputs.spec.kind == Kind::kXfeat
             ? "the outputs are not maps of descriptors (1x64xhxw), places (1x65xhxw) and "
               "reliability (1x1xhxw) at a stride of 8"
             : "the outputs are not maps of places (1x65xhxw) and descriptors (1x256xhxw) at a "
               "stride of 8";
}

// A pixel is a point if it scores enough, more than those near it, and is not at the edge.
struct PointRule {
  int window;
  float least;
  int64_t edge;
};
constexpr PointRule kSuperpointRule = {9, 0.015f, 4};
constexpr PointRule kXfeatRule = {5, 0.05f, 0};

void AppendPoints(Graph& graph, const Outputs& outputs) {
  const PointMaps maps = *PointMapsOf(outputs);
  const PointRule& rule = maps.reliability ? kXfeatRule : kSuperpointRule;
  const std::vector<ValueId> given = graph.outputs;
  const Shape& shape = outputs.shape(maps.places);
  ValueId places = given[maps.places];
  if (SquashingOf(graph, places) != Squashing::kSoftmax) {
    places = graph.AddOne("points", op::Softmax{1, false}, {places});
  }
  const ValueId in_cell = graph.AddOne(
      "points", op::Slice{{0, 0, 0, 0}, {1, kPlaces - 1, shape[2], shape[3]}, {1, 1, 1, 1}},
      {places});
  const ValueId map = graph.AddOne(
      "points", op::DepthToSpace{kCell, op::DepthToSpace::Order::kChannelsFirst}, {in_cell});
  RowBuilder build(&graph);
  const ValueId least = graph.AddConstant("least", Tensor({1, 1, 1, 1}, {rule.least}));
  const ValueId is_enough = graph.AddOne("points", op::Binary{BinaryKind::kLess, {}}, {least, map});
  ValueId points = graph.AddOne("points", op::Binary{BinaryKind::kMultiply, {}},
                                {PeaksOf(graph, map, rule.window), is_enough});
  if (maps.reliability) {
    op::Resize resize;
    resize.spec.kind = ResizeSpec::Kind::kLinear;
    resize.spec.out_height = static_cast<int>(shape[2] * kCell);
    resize.spec.out_width = static_cast<int>(shape[3] * kCell);
    points = graph.AddOne("points", op::Binary{BinaryKind::kMultiply, {}},
                          {points, graph.AddOne("points", resize, {given[*maps.reliability]})});
  }
  if (rule.edge > 0) {
    const Shape whole = graph.value(points).shape;
    const int64_t edge = rule.edge;
    const ValueId middle = graph.AddOne(
        "points",
        op::Slice{
            {0, 0, edge, edge}, {1, 1, whole[2] - 2 * edge, whole[3] - 2 * edge}, {1, 1, 1, 1}},
        {points});
    points = graph.AddOne(
        "points", op::Pad{PadMode::kConstant, 0, {0, 0, edge, edge}, {0, 0, edge, edge}}, {middle});
  }
  graph.outputs = {points, given[maps.descriptors]};
}

HeadFinding JudgePointMaps(const Outputs& outputs, HeadNumbers all) {
  const PointMaps maps = *PointMapsOf(outputs);
  const bool are_shares =
      SquashingOf(outputs.graph, outputs.graph.outputs[maps.places]) == Squashing::kSoftmax;
  const Extent places = ExtentOf(all[maps.places]);
  if (const std::string why = WhyNotScores("its places", places, are_shares); !why.empty()) {
    return {why};
  }
  if (maps.reliability) {
    const Extent reliability = ExtentOf(all[*maps.reliability]);
    if (!reliability.IsShare()) return {Runs("its reliability", reliability, "from 0 to 1")};
  }
  // Most cells have no point.
  const Shape& shape = outputs.shape(maps.places);
  const auto cells = static_cast<size_t>(shape[2] * shape[3]);
  size_t nowhere = 0;
  for (size_t cell = 0; cell < cells; ++cell) {
    size_t best = 0;
    for (size_t k = 1; k < static_cast<size_t>(kPlaces); ++k) {
      if (all[maps.places][k * cells + cell] > all[maps.places][best * cells + cell]) best = k;
    }
    nowhere += best + 1 == static_cast<size_t>(kPlaces) ? 1 : 0;
  }
  if (cells >= 16 && nowhere == 0) {
    return {"in no cell its last channel is the largest, which is to mean that there is no point"};
  }
  return {};
}

using Answer = HeadRow::Answer;

constexpr std::array<HeadEntry, 4> kPeakHeads = {{
    {{Kind::kCenternet, "scores 1xCxhxw, sizes 1x2xhxw and offsets 1x2xhxw", Answer::kBoxes},
     WhyNotCentres,
     AppendCenternet,
     JudgeCentres},
    {{Kind::kCenterface, "scores 1x1xhxw, sizes 1x2xhxw, offsets 1x2xhxw and landmarks 1x10xhxw",
      Answer::kBoxes},
     WhyNotCentres,
     AppendCenterface,
     JudgeCentres},
    {{Kind::kSuperpoint, "places 1x65xhxw and descriptors 1x256xhxw", Answer::kPoints},
     WhyNotPointMaps,
     AppendPoints,
     JudgePointMaps},
    {{Kind::kXfeat, "descriptors 1x64xhxw, places 1x65xhxw and reliability 1x1xhxw",
      Answer::kPoints},
     WhyNotPointMaps,
     AppendPoints,
     JudgePointMaps},
}};

}  // namespace

std::span<const HeadEntry> PeakHeads() { return kPeakHeads; }

}  // namespace cacheinf
