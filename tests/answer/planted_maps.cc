// Heads of distances, whole maps, peaks, points and lists.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/answer/planted_things.h"

namespace cacheinf {
namespace {

PlantedHead PlantClassification(HeadRandom& random, bool are_shares) {
  PlantedHead head = BeginHead(random, HeadKind::kClassification);
  head.notes.task = head.notes.class_names.empty() ? "" : "classify";
  std::vector<double> logits;
  for (int label = 0; label < head.classes; ++label) logits.push_back(DrawNormal(random, 0, 1.5));
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit);
  std::vector<float> shares;
  for (const double logit : logits) shares.push_back(static_cast<float>(std::exp(logit) / sum));
  const auto best = std::max_element(shares.begin(), shares.end());
  head.truth = Classification{{{static_cast<int>(best - shares.begin()), *best}}};
  PlantedOutput output{"output0", {1, head.classes}, shares};
  if (!are_shares) output.numbers.assign(logits.begin(), logits.end());
  head.config.softmax = !are_shares;
  head.outputs = {std::move(output)};
  return head;
}

PlantedHead PlantLogits(HeadRandom& random, int) { return PlantClassification(random, false); }
PlantedHead PlantShares(HeadRandom& random, int) { return PlantClassification(random, true); }

// Logits of a background and, in each thing's box, of its class.
PlantedHead PlantSegmentation(HeadRandom& random, int count) {
  PlantedHead head = BeginHead(random, HeadKind::kSegmentation);
  const auto things = ThingsFor(random, head, count);
  const int scale = DrawInt(random, 0, 1) == 0 ? 1 : 4;
  ClassMap truth{head.width / scale, head.height / scale, {}};
  PlantedOutput output{"output0", {1, head.classes, truth.height, truth.width}, {}};
  const auto pixels = static_cast<size_t>(truth.width * truth.height);
  output.numbers.resize(static_cast<size_t>(head.classes) * pixels);
  for (size_t i = 0; i < pixels; ++i) {
    const double x = (static_cast<int>(i) % truth.width + 0.5) * scale;
    const int row = static_cast<int>(i) / truth.width;
    const double y = (row + 0.5) * scale;
    int label = 0;
    for (const PlantedThing& thing : things) {
      if (std::abs(x - thing.x) < thing.width / 2 && std::abs(y - thing.y) < thing.height / 2) {
        label = thing.label;
      }
    }
    truth.classes.push_back(label);
    for (size_t k = 0; k < static_cast<size_t>(head.classes); ++k) {
      output.numbers[k * pixels + i] =
          static_cast<float>(DrawNormal(random, 0, 0.7) + (static_cast<int>(k) == label ? 8 : 0));
    }
  }
  head.truth = std::move(truth);
  head.outputs = {std::move(output)};
  return head;
}

PlantedHead PlantClassMap(HeadRandom& random, int count) {
  PlantedHead head = PlantSegmentation(random, count);
  head.tail = PlantedHead::Tail::kArgMax;
  return head;
}

PlantedHead PlantHeatMaps(HeadRandom& random, int) {
  PlantedHead head = BeginHead(random, HeadKind::kKeypoints);
  const int rows = head.height / 4;
  const int columns = head.width / 4;
  PlantedOutput output{"heatmaps", {1, head.classes, rows, columns}, {}};
  Keypoints truth;
  for (int point = 0; point < head.classes; ++point) {
    const double x = DrawInt(random, 3, columns - 4);
    const double y = DrawInt(random, 3, rows - 4);
    truth.points.push_back({4 * (x + 0.5), 4 * (y + 0.5), 1.0f});
    for (int i = 0; i < rows * columns; ++i) {
      const double dx = i % columns - x;
      const int row = i / columns;
      const double dy = row - y;
      const double peak = std::exp(-(dx * dx + dy * dy) / 4);
      output.numbers.push_back(
          static_cast<float>(peak < 0.1 ? DrawReal(random, -0.01, 0.01) + peak / 2 : peak));
    }
  }
  head.truth = std::move(truth);
  head.outputs = {std::move(output)};
  return head;
}

PlantedHead PlantEmbedding(HeadRandom& random, int) {
  PlantedHead head = BeginHead(random, HeadKind::kEmbedding);
  head.config.class_names.clear();
  head.notes.class_names.clear();
  PlantedOutput output{"feature", {1, 64}, {}};
  double squares = 0;
  for (int i = 0; i < 64; ++i) {
    output.numbers.push_back(static_cast<float>(DrawNormal(random, 0, 1)));
    squares += double{output.numbers.back()} * double{output.numbers.back()};
  }
  for (float& number : output.numbers) number /= static_cast<float>(std::sqrt(squares));
  head.truth = Embedding{output.numbers};
  head.outputs = {std::move(output)};
  return head;
}

// Logits of distributions over `steps` distances, in strides, whose mean is `distance`.
std::vector<double> DistributionOf(double distance, int steps) {
  std::vector<double> logits(static_cast<size_t>(steps), -14.0);
  const int below = std::min(static_cast<int>(distance), steps - 2);
  logits[static_cast<size_t>(below)] = std::log(std::max(1 - (distance - below), 1e-6));
  logits[static_cast<size_t>(below + 1)] = std::log(std::max(distance - below, 1e-6));
  return logits;
}

// A cell's scores and distributions of the distances to left, top, right and bottom.
struct DistanceCell {
  std::vector<double> scores;
  std::vector<double> distances;
};

DistanceCell DistancesOf(HeadRandom& random, const PlantedHead& head, const GridCell& cell,
                         const std::vector<PlantedThing>& things, int steps) {
  const auto [thing, share] = FoundBy(random, cell, things);
  DistanceCell found;
  for (int label = 0; label < head.classes; ++label) {
    found.scores.push_back(thing != nullptr && label == thing->label ? share * thing->score
                                                                     : DrawReal(random, 0, 0.01));
  }
  const double x = (cell.column + 0.5) * cell.stride;
  const double y = (cell.row + 0.5) * cell.stride;
  for (int side = 0; side < 4; ++side) {
    if (thing == nullptr) {
      for (int i = 0; i < steps; ++i) found.distances.push_back(DrawNormal(random, 0, 1));
      continue;
    }
    const double at = side % 2 == 0 ? x : y;
    const double middle = side % 2 == 0 ? thing->x : thing->y;
    const double half = (side % 2 == 0 ? thing->width : thing->height) / 2;
    const double distance = side < 2 ? at - (middle - half) : middle + half - at;
    const std::vector<double> logits = DistributionOf(distance / cell.stride, steps);
    found.distances.insert(found.distances.end(), logits.begin(), logits.end());
  }
  return found;
}

PlantedHead PlantNanodet(HeadRandom& random, int count) {
  PlantedHead head = BeginHead(random, HeadKind::kNanodet);
  const auto things = PlaceThings(random, count, &head);
  std::vector<std::vector<float>> rows;
  for (const GridCell& cell : CellsOf(head)) {
    const DistanceCell found = DistancesOf(random, head, cell, things, 8);
    rows.emplace_back(found.scores.begin(), found.scores.end());
    rows.back().insert(rows.back().end(), found.distances.begin(), found.distances.end());
  }
  head.outputs = {{"output", {}, {}}};
  head.scores_begin = 0;
  head.scores_end = head.classes;
  head.SetRows(rows);
  return head;
}

PlantedHead PlantYolov8Raw(HeadRandom& random, int count) {
  PlantedHead head = BeginHead(random, HeadKind::kYolov8Raw);
  const auto things = PlaceThings(random, count, &head);
  const std::vector<GridCell> cells = CellsOf(head);
  for (const int stride : kGridStrides) {
    const int64_t rows = head.height / stride;
    const int64_t columns = head.width / stride;
    PlantedOutput output{"p" + std::to_string(stride), {1, 64 + head.classes, rows, columns}, {}};
    output.numbers.resize(static_cast<size_t>(ElementCount(output.shape)));
    for (const GridCell& cell : cells) {
      if (cell.stride != stride) continue;
      const DistanceCell found = DistancesOf(random, head, cell, things, 16);
      std::vector<double> numbers = found.distances;
      for (const double score : found.scores) numbers.push_back(LogitOf(std::max(score, 1e-4)));
      for (size_t k = 0; k < numbers.size(); ++k) {
        const auto at = (static_cast<int64_t>(k) * rows + cell.row) * columns + cell.column;
        output.numbers[static_cast<size_t>(at)] = static_cast<float>(numbers[k]);
      }
    }
    head.outputs.push_back(std::move(output));
  }
  return head;
}

// Maps at a stride of 4 of a network that finds things by their centres.
PlantedHead PlantCentres(HeadRandom& random, int count, HeadKind kind) {
  constexpr int kStride = 4;
  constexpr int kLandmarks = 5;
  constexpr std::array<std::pair<double, double>, kLandmarks> kFace = {
      {{0.3, 0.37}, {0.7, 0.37}, {0.5, 0.55}, {0.35, 0.75}, {0.65, 0.75}}};
  const bool is_face = kind == HeadKind::kCenterface;
  PlantedHead head = BeginHead(random, kind);
  if (is_face) {
    head.classes = 1;
    head.config.class_names.clear();
    head.notes.class_names.clear();
  }
  const auto things = ThingsFor(random, head, count);
  Detections truth = BoxesOfThings(things);
  const int rows = head.height / kStride;
  const int columns = head.width / kStride;
  const auto map = [&](const char* name, int channels) {
    return PlantedOutput{name, {1, channels, rows, columns}, {}};
  };
  PlantedOutput scores = map(is_face ? "heatmap" : "hm", head.classes);
  PlantedOutput sizes = map(is_face ? "scale" : "wh", 2);
  PlantedOutput offsets = map(is_face ? "offset" : "reg", 2);
  PlantedOutput landmarks = map("landmarks", 2 * kLandmarks);
  for (PlantedOutput* output : {&scores, &sizes, &offsets, &landmarks}) {
    const double mean = output == &scores ? -6 : 0.5;
    for (int64_t i = 0; i < ElementCount(output->shape); ++i) {
      output->numbers.push_back(static_cast<float>(DrawNormal(random, mean, 0.3)));
    }
  }
  for (size_t i = 0; i < things.size(); ++i) {
    const PlantedThing& thing = things[i];
    const int column = static_cast<int>(thing.x) / kStride;
    const int row = static_cast<int>(thing.y) / kStride;
    const auto set = [&](PlantedOutput* output, int channel, double number) {
      output->numbers[static_cast<size_t>((channel * rows + row) * columns + column)] =
          static_cast<float>(number);
    };
    set(&scores, thing.label, LogitOf(thing.score));
    const double in_x = thing.x / kStride - column;
    const double in_y = thing.y / kStride - row;
    if (!is_face) {
      set(&sizes, 0, thing.width / kStride);
      set(&sizes, 1, thing.height / kStride);
      set(&offsets, 0, in_x);
      set(&offsets, 1, in_y);
      continue;
    }
    set(&sizes, 0, std::log(thing.height / kStride));
    set(&sizes, 1, std::log(thing.width / kStride));
    set(&offsets, 0, in_y - 0.5);
    set(&offsets, 1, in_x - 0.5);
    for (int point = 0; point < kLandmarks; ++point) {
      const auto& [face_x, face_y] = kFace[static_cast<size_t>(point)];
      const double share_x = face_x + DrawReal(random, -0.05, 0.05);
      const double share_y = face_y + DrawReal(random, -0.05, 0.05);
      set(&landmarks, 2 * point, share_y);
      set(&landmarks, 2 * point + 1, share_x);
      truth.boxes[i].keypoints.push_back({truth.boxes[i].left + share_x * thing.width,
                                          truth.boxes[i].top + share_y * thing.height,
                                          thing.score});
    }
  }
  head.truth = std::move(truth);
  head.outputs = {std::move(scores), std::move(sizes), std::move(offsets)};
  if (is_face) head.outputs.push_back(std::move(landmarks));
  return head;
}

PlantedHead PlantCenternet(HeadRandom& random, int count) {
  return PlantCentres(random, count, HeadKind::kCenternet);
}
PlantedHead PlantCenterface(HeadRandom& random, int count) {
  return PlantCentres(random, count, HeadKind::kCenterface);
}

// Points apart from each other and from the picture's edge, best first.
std::vector<Keypoint> PointsFor(HeadRandom& random, const PlantedHead& head) {
  std::vector<Keypoint> points;
  for (int attempt = 0; attempt < 300 && points.size() < 8; ++attempt) {
    const Keypoint point = {DrawInt(random, 8, head.width - 9) + 0.5,
                            DrawInt(random, 8, head.height - 9) + 0.5,
                            static_cast<float>(0.9 - 0.05 * static_cast<double>(points.size()))};
    const bool is_apart = std::none_of(points.begin(), points.end(), [&](const Keypoint& other) {
      return std::hypot(point.x - other.x, point.y - other.y) < 24;
    });
    if (is_apart) points.push_back(point);
  }
  return points;
}

PlantedHead PlantPointMaps(HeadRandom& random, HeadKind kind) {
  constexpr int kSide = 8;  // of a cell
  PlantedHead head = BeginHead(random, kind);
  head.config.class_names.clear();
  head.notes.class_names.clear();
  const bool is_xfeat = kind == HeadKind::kXfeat;
  const int rows = head.height / kSide;
  const int columns = head.width / kSide;
  PlantedOutput places{"semi", {1, kSide * kSide + 1, rows, columns}, {}};
  PlantedOutput descriptors{"desc", {1, is_xfeat ? 64 : 256, rows, columns}, {}};
  PlantedOutput reliability{"reliability", {1, 1, rows, columns}, {}};
  constexpr double kNowhere = 6;
  for (int channel = 0; channel <= kSide * kSide; ++channel) {
    for (int i = 0; i < rows * columns; ++i) {
      const double mean = channel == kSide * kSide ? kNowhere : 0;
      places.numbers.push_back(static_cast<float>(DrawNormal(random, mean, 0.2)));
    }
  }
  for (int64_t i = 0; i < ElementCount(descriptors.shape); ++i) {
    descriptors.numbers.push_back(static_cast<float>(DrawNormal(random, 0, 0.1)));
  }
  reliability.numbers.assign(static_cast<size_t>(rows * columns), 0.97f);
  const std::vector<Keypoint> points = PointsFor(random, head);
  for (const Keypoint& point : points) {
    const int x = static_cast<int>(point.x);
    const int y = static_cast<int>(point.y);
    const int channel = y % kSide * kSide + x % kSide;
    const double others = kSide * kSide + std::exp(kNowhere);
    places.numbers[static_cast<size_t>((channel * rows + y / kSide) * columns + x / kSide)] =
        static_cast<float>(std::log(others) + LogitOf(point.score));
  }
  head.truth = Keypoints{points};
  head.outputs = {std::move(places), std::move(descriptors)};
  if (is_xfeat) head.outputs.push_back(std::move(reliability));
  return head;
}

PlantedHead PlantSuperpoint(HeadRandom& random, int) {
  return PlantPointMaps(random, HeadKind::kSuperpoint);
}
PlantedHead PlantXfeat(HeadRandom& random, int) { return PlantPointMaps(random, HeadKind::kXfeat); }

PlantedHead PlantPoints(HeadRandom& random, int) {
  PlantedHead head = BeginHead(random, HeadKind::kPoints);
  head.config.class_names.clear();
  head.notes.class_names.clear();
  const std::vector<Keypoint> points = PointsFor(random, head);
  const auto count = static_cast<int64_t>(points.size());
  PlantedOutput places{"keypoints", {1, count, 2}, {}};
  PlantedOutput scores{"scores", {1, count}, {}};
  for (const Keypoint& point : points) {
    places.numbers.push_back(static_cast<float>(point.x - 0.5));
    places.numbers.push_back(static_cast<float>(point.y - 0.5));
    scores.numbers.push_back(point.score);
  }
  head.truth = Keypoints{points};
  head.outputs = {std::move(places), std::move(scores)};
  return head;
}

constexpr std::array kMapForms = std::to_array<PlantedForm>({
    {"classification, logits", PlantLogits},
    {"classification, shares", PlantShares},
    {"segmentation, scores", PlantSegmentation},
    {"segmentation, classes", PlantClassMap},
    {"keypoints", PlantHeatMaps},
    {"embedding", PlantEmbedding},
    {"nanodet", PlantNanodet},
    {"yolov8-raw", PlantYolov8Raw},
    {"centernet", PlantCenternet},
    {"centerface", PlantCenterface},
    {"superpoint", PlantSuperpoint},
    {"xfeat", PlantXfeat},
    {"points", PlantPoints},
});

}  // namespace

std::span<const PlantedForm> PlantedMapForms() { return kMapForms; }

}  // namespace cacheinf
