// Heads that give distances to four sides, each a distribution: NanoDet, PicoDet, and YOLOv8 before
// its decoder.

#include <array>
#include <optional>
#include <utility>

#include "common/model/heads/head_numbers.h"
#include "common/model/heads/head_table.h"

namespace cacheinf {
namespace {

using Kind = HeadKind;

// `rows` holds 4 × R logits a cell: distances to left, top, right and bottom from a place `offset`
// into the cell are the means of softmaxes, in strides (arXiv 2006.04388). Gives centres and sizes.
ValueId FromDistributions(Graph& graph, ValueId rows, const Outputs& outputs,
                          const std::vector<int>& strides, float offset) {
  RowBuilder build(&graph);
  const int64_t cells = graph.value(rows).shape[0];
  const int64_t numbers = graph.value(rows).shape[1];
  const int64_t steps = numbers / kPixelNumbers;
  const ValueId split = graph.AddOne("rows", op::Reshape{{cells * kPixelNumbers, steps}}, {rows});
  const ValueId shares = graph.AddOne("rows", op::Softmax{1, false}, {split});
  const ValueId joined = graph.AddOne("rows", op::Reshape{{cells, numbers}}, {shares});
  // Centre x, centre y, width, height by left, top, right, bottom.
  constexpr float kOf[4][4] = {{-.5f, 0, .5f, 0}, {0, -.5f, 0, .5f}, {1, 0, 1, 0}, {0, 1, 0, 1}};
  std::vector<float> weights;
  for (const auto& of : kOf) {
    for (const float side : of) {
      for (int64_t step = 0; step < steps; ++step) {
        weights.push_back(side * static_cast<float>(step));
      }
    }
  }
  const ValueId weight =
      graph.AddConstant("of_rows", Tensor({kPixelNumbers, numbers}, std::move(weights)));
  const ValueId in_strides = graph.AddOne("rows", op::Linear{}, {joined, weight});
  const Tensor stride = RowBuilder::StrideColumn(outputs.picture, strides);
  const Tensor cell = RowBuilder::CellColumns(outputs.picture, strides, offset);
  std::vector<float> places;
  for (int64_t i = 0; i < cells; ++i) {
    const float own = stride.data()[i];
    places.insert(places.end(), {cell.data()[2 * i] * own, cell.data()[2 * i + 1] * own, 0, 0});
  }
  return build.With(build.With(in_strides, BinaryKind::kMultiply, stride), BinaryKind::kAdd,
                    Tensor({cells, kPixelNumbers}, std::move(places)));
}

// Where the scores and distances of each stride are; one output may hold both.
struct DistanceHeads {
  struct Level {
    size_t scores = 0;
    size_t distances = 0;
  };
  std::vector<Level> levels;
  std::vector<int> strides;
  int64_t classes = 0;
  int64_t distances = 0;  // numbers a cell
};

constexpr int64_t kUsualDistances = 32;  // of NanoDet and PicoDet
constexpr int64_t kYolov8Distances = 64;

// NanoDet: one output 1×N×(C + 4R); PicoDet: for each stride 1×n×C and 1×n×4R.
std::optional<DistanceHeads> NanodetOf(const Outputs& outputs) {
  const int names = outputs.spec.class_count;
  DistanceHeads heads;
  if (outputs.count() == 1) {
    if (!outputs.rows || outputs.rows->anchors != 1) return std::nullopt;
    const int64_t numbers = outputs.rows->numbers;
    heads.classes = names > 0 ? names : numbers - kUsualDistances;
    heads.distances = numbers - heads.classes;
    heads.strides = outputs.rows->strides;
    heads.levels = {{}};
  } else {
    for (const std::vector<int>& strides : {std::vector<int>{8, 16, 32, 64}, {8, 16, 32}}) {
      if (outputs.count() == 2 * strides.size()) heads.strides = strides;
    }
    for (const int stride : heads.strides) {
      std::vector<size_t> own;
      for (size_t i = 0; i < outputs.count(); ++i) {
        const Shape& shape = outputs.shape(i);
        if (shape.size() == 3 && shape[0] == 1 &&
            shape[1] == CellCount(outputs.picture, {stride})) {
          own.push_back(i);
        }
      }
      if (own.size() != 2) return std::nullopt;
      const auto is_scores = [&](size_t i) {
        const int64_t width = outputs.shape(i)[2];
        return names > 0 ? width == names : width != kUsualDistances;
      };
      if (is_scores(own[0]) == is_scores(own[1])) return std::nullopt;
      if (!is_scores(own[0])) std::swap(own[0], own[1]);
      const int64_t classes = outputs.shape(own[0])[2];
      const int64_t distances = outputs.shape(own[1])[2];
      if (heads.classes != 0 && (heads.classes != classes || heads.distances != distances)) {
        return std::nullopt;
      }
      heads.classes = classes;
      heads.distances = distances;
      heads.levels.push_back({own[0], own[1]});
    }
  }
  const bool fits = !heads.levels.empty() && heads.classes > 0 &&
                    heads.distances % kPixelNumbers == 0 && heads.distances >= 2 * kPixelNumbers;
  return fits ? std::optional(heads) : std::nullopt;
}

// For each stride 1×(64+C)×h×w, or 1×64×h×w and 1×C×h×w.
std::optional<DistanceHeads> Yolov8RawOf(const Outputs& outputs) {
  const int names = outputs.spec.class_count;
  DistanceHeads heads;
  heads.strides = {8, 16, 32};
  heads.distances = kYolov8Distances;
  const bool is_joint = outputs.count() == heads.strides.size();
  if (!is_joint && outputs.count() != 2 * heads.strides.size()) return std::nullopt;
  for (const int stride : heads.strides) {
    std::vector<size_t> own;
    for (size_t i = 0; i < outputs.count(); ++i) {
      const Shape& shape = outputs.shape(i);
      if (shape.size() == 4 && RawStride(outputs, i) == stride) own.push_back(i);
    }
    if (own.size() != (is_joint ? 1u : 2u)) return std::nullopt;
    const auto width = [&](size_t i) { return outputs.shape(i)[1]; };
    const bool is_swapped = !is_joint && width(own[0]) != kYolov8Distances;
    const bool is_doubtful =
        !is_joint && names != kYolov8Distances &&
        (width(own[0]) == kYolov8Distances) == (width(own[1]) == kYolov8Distances);
    const DistanceHeads::Level level = {own[is_joint || is_swapped ? 0 : 1],
                                        own[is_swapped ? 1 : 0]};
    const int64_t classes = width(level.scores) - (is_joint ? kYolov8Distances : 0);
    if (is_doubtful || classes < 1 || (heads.classes != 0 && classes != heads.classes)) {
      return std::nullopt;
    }
    heads.classes = classes;
    heads.levels.push_back(level);
  }
  return heads;
}

std::string WhyNotNanodet(const Outputs& outputs) {
  const auto heads = NanodetOf(outputs);
  if (heads) return WhyNotSoMany(outputs, heads->classes);
  return OfOutput(outputs.value(0)) +
         ", not scores and four distributions of distances for each cell of strides 8, 16, 32";
}

std::string WhyNotYolov8Raw(const Outputs& outputs) {
  const auto heads = Yolov8RawOf(outputs);
  if (heads) return WhyNotSoMany(outputs, heads->classes);
  return OfOutput(outputs.value(0)) +
         ", not 64 numbers of distances and the classes' scores at strides 8, 16 and 32";
}

// NanoDet-Plus, the one with four strides in one output, counts from the corner of a cell, the
// others from its middle.
void AppendNanodet(Graph& graph, const Outputs& outputs) {
  const DistanceHeads heads = *NanodetOf(outputs);
  RowBuilder build(&graph);
  std::vector<ValueId> scores;
  std::vector<ValueId> distances;
  if (heads.levels.size() == 1) {
    const ValueId rows = RowsOf(graph, outputs);
    scores = {build.Columns(rows, 0, heads.classes)};
    distances = {build.Columns(rows, heads.classes, heads.distances)};
  } else {
    const auto flat = [&](size_t output) {
      const Shape& shape = outputs.shape(output);
      return graph.AddOne("rows", op::Reshape{{shape[1], shape[2]}}, {graph.outputs[output]});
    };
    for (const auto& level : heads.levels) {
      scores.push_back(flat(level.scores));
      distances.push_back(flat(level.distances));
    }
  }
  const bool is_plus = heads.levels.size() == 1 && heads.strides.size() == 4;
  const ValueId boxes = FromDistributions(graph, build.Stacked(std::move(distances)), outputs,
                                          heads.strides, is_plus ? 0.0f : 0.5f);
  SetBoxes(graph, outputs.spec, build.Joined({boxes, build.Stacked(std::move(scores))}), false, 0);
}

bool HasSquashedScores(const Outputs& outputs, const DistanceHeads& heads) {
  return SquashingOf(outputs.graph, outputs.graph.outputs[heads.levels[0].scores]) !=
         Squashing::kNone;
}

void AppendYolov8Raw(Graph& graph, const Outputs& outputs) {
  const DistanceHeads heads = *Yolov8RawOf(outputs);
  RowBuilder build(&graph);
  std::vector<ValueId> scores;
  std::vector<ValueId> distances;
  for (const auto& level : heads.levels) {
    const ValueId rows = build.FromRawHead(outputs.graph.outputs[level.distances], 1);
    const bool is_joint = level.scores == level.distances;
    distances.push_back(is_joint ? build.Columns(rows, 0, heads.distances) : rows);
    scores.push_back(is_joint ? build.Columns(rows, heads.distances, heads.classes)
                              : build.FromRawHead(outputs.graph.outputs[level.scores], 1));
  }
  const ValueId boxes =
      FromDistributions(graph, build.Stacked(std::move(distances)), outputs, heads.strides, 0.5f);
  ValueId all_scores = build.Stacked(std::move(scores));
  if (!HasSquashedScores(outputs, heads)) {
    all_scores = build.Apply(all_scores, Function::Kind::kSigmoid);
  }
  SetBoxes(graph, outputs.spec, build.Joined({boxes, all_scores}), false, 0);
}

// Collects the scores of cells, `classes` each, and the logits of their distances.
class DistanceNumbers {
 public:
  explicit DistanceNumbers(bool are_shares) : are_shares_(are_shares) {}

  void AddCell(float best, float least) {
    scores_.Add(best);
    scores_.Add(least);
    ++cells_;
    if ((are_shares_ ? best : Sigmoid(best)) > 0.5f) ++sure_;
  }
  void AddDistance(float logit) { distances_.Add(logit); }

  HeadFinding finding() const {
    HeadFinding finding;
    finding.has_evidence = (are_shares_ ? scores_.high : Sigmoid(scores_.high)) > kEvident;
    finding.contradiction = WhyNotScores("its class scores", scores_, are_shares_);
    if (!finding.contradiction.empty()) return finding;
    if (distances_.IsShare()) {
      finding.contradiction = Runs("its distances", distances_, "like logits, but like shares");
    } else if (2 * sure_ > cells_) {
      finding.contradiction = "most of its cells are sure of a class";
    }
    return finding;
  }

 private:
  bool are_shares_;
  Extent scores_;
  Extent distances_;
  int64_t cells_ = 0;
  int64_t sure_ = 0;
};

// The numbers are cells × numbers for rows, numbers × cells for maps.
HeadFinding JudgeDistances(const DistanceHeads& heads, const Outputs& outputs, HeadNumbers all,
                           bool are_maps, bool are_shares) {
  DistanceNumbers numbers(are_shares);
  for (const auto& level : heads.levels) {
    const bool is_joint = level.scores == level.distances;
    const auto table = [&](size_t output, int64_t width) {
      const auto count = static_cast<int64_t>(all[output].size());
      const bool is_transposed =
          are_maps || (outputs.rows && heads.levels.size() == 1 && outputs.rows->is_transposed);
      return BoxRows{count / width, width, is_transposed, 0, {}};
    };
    const int64_t both = heads.classes + heads.distances;
    const BoxRows of_scores = table(level.scores, is_joint ? both : heads.classes);
    const BoxRows of_distances = table(level.distances, is_joint ? both : heads.distances);
    // NanoDet has the scores first, YOLOv8 the distances.
    const int64_t first_score = is_joint && are_maps ? heads.distances : 0;
    const int64_t first_distance = is_joint && !are_maps ? heads.classes : 0;
    const RowNumbers scores{all[level.scores], of_scores};
    const RowNumbers distances{all[level.distances], of_distances};
    for (int64_t cell = 0; cell < of_scores.boxes; ++cell) {
      Extent own;
      for (int64_t k = 0; k < heads.classes; ++k) own.Add(scores.At(cell, first_score + k));
      numbers.AddCell(own.high, own.low);
      for (int64_t k = 0; k < heads.distances; ++k) {
        numbers.AddDistance(distances.At(cell, first_distance + k));
      }
    }
  }
  return numbers.finding();
}

HeadFinding JudgeNanodet(const Outputs& outputs, HeadNumbers all) {
  return JudgeDistances(*NanodetOf(outputs), outputs, all, false, true);
}

HeadFinding JudgeYolov8Raw(const Outputs& outputs, HeadNumbers all) {
  const DistanceHeads heads = *Yolov8RawOf(outputs);
  return JudgeDistances(heads, outputs, all, true, HasSquashedScores(outputs, heads));
}

using Answer = HeadRow::Answer;

constexpr std::array<HeadEntry, 2> kDistributionHeads = {{
    {{Kind::kYolov8Raw, "YOLOv8 before its decoder: 1x(64+C)xhxw for each stride", Answer::kBoxes},
     WhyNotYolov8Raw,
     AppendYolov8Raw,
     JudgeYolov8Raw},
    {{Kind::kNanodet, "1xNx(C+4R), or 1xnxC and 1xnx4R for each stride", Answer::kBoxes},
     WhyNotNanodet,
     AppendNanodet,
     JudgeNanodet},
}};

}  // namespace

std::span<const HeadEntry> DistributionHeads() { return kDistributionHeads; }

}  // namespace cacheinf
