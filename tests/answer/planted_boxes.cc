// Heads whose things are boxes in rows or raw maps.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "tests/answer/planted_things.h"

namespace cacheinf {
namespace {

const std::vector<double> kAnchorsOfYolov5 = {10, 13, 16,  30,  33, 23,  30,  61,  62,
                                              45, 59, 119, 116, 90, 156, 198, 373, 326};

PlantedHead EndRows(PlantedHead head, const std::vector<std::vector<float>>& rows,
                    bool is_transposed) {
  head.outputs = {{"output0", {}, {}}};
  head.is_transposed = is_transposed;
  head.SetRows(rows);
  return head;
}
// The numbers of a row after its classes.
using Extras =
    std::function<std::vector<double>(HeadRandom&, const PlantedThing*, const GridCell&)>;

// Rows of centres, sizes and scores without objectness, a box a cell, whose middle it holds.
PlantedHead PlantAnchorFree(HeadRandom& random, PlantedHead head,
                            const std::vector<PlantedThing>& things, const Extras& extras) {
  std::vector<std::vector<float>> rows;
  for (const GridCell& cell : CellsOf(head)) {
    const auto [thing, share] = FoundBy(random, cell, things);
    std::vector<double> row;
    if (thing != nullptr) {
      row = {thing->x, thing->y, thing->width, thing->height};
    } else {
      std::array<double, 4> sides = {};  // their distances from the cell's middle, in cells
      for (double& side : sides) side = DrawReal(random, 0.3, 2);
      const auto [left, top, right, bottom] = sides;
      row = {(cell.column + 0.5 + (right - left) / 2) * cell.stride,
             (cell.row + 0.5 + (bottom - top) / 2) * cell.stride, cell.stride * (left + right),
             cell.stride * (top + bottom)};
    }
    for (int label = 0; label < head.classes; ++label) {
      row.push_back(thing != nullptr && label == thing->label ? share * thing->score
                                                              : DrawReal(random, 0, 0.01));
    }
    if (extras) {
      const std::vector<double> more = extras(random, thing, cell);
      row.insert(row.end(), more.begin(), more.end());
    }
    rows.emplace_back(row.begin(), row.end());
  }
  head.scores_end = 4 + head.classes;
  return EndRows(std::move(head), rows, DrawInt(random, 0, 3) > 0);
}

PlantedHead PlantYolov8(HeadRandom& random, int count) {
  PlantedHead head = BeginHead(random, HeadKind::kYolov8);
  head.notes.task = head.notes.class_names.empty() ? "" : "detect";
  const auto things = PlaceThings(random, count, &head);
  return PlantAnchorFree(random, std::move(head), things, {});
}

PlantedHead PlantPose(HeadRandom& random, int count) {
  PlantedHead head = BeginHead(random, HeadKind::kYolov8Pose);
  head.classes = 1;
  head.config.class_names.clear();
  head.notes.class_names = {"person"};
  head.notes.task = "pose";
  const int points = DrawInt(random, 3, 8);
  head.notes.keypoint_shape = {points, 3};
  const auto things = ThingsFor(random, head, count);
  Detections truth = BoxesOfThings(things);
  for (size_t i = 0; i < things.size(); ++i) {
    for (int point = 0; point < points; ++point) {
      truth.boxes[i].keypoints.push_back(
          {DrawReal(random, truth.boxes[i].left, truth.boxes[i].right),
           DrawReal(random, truth.boxes[i].top, truth.boxes[i].bottom),
           static_cast<float>(DrawReal(random, 0.3, 1))});
    }
  }
  head.truth = truth;
  return PlantAnchorFree(
      random, std::move(head), things,
      [&](HeadRandom& own, const PlantedThing* thing, const GridCell& cell) {
        std::vector<double> numbers;
        for (int point = 0; point < points; ++point) {
          if (thing != nullptr) {
            const Keypoint& known = truth.boxes[static_cast<size_t>(thing - things.data())]
                                        .keypoints[static_cast<size_t>(point)];
            numbers.insert(numbers.end(), {known.x, known.y, double{known.score}});
          } else {
            numbers.insert(numbers.end(), {(cell.column + DrawReal(own, -1, 2)) * cell.stride,
                                           (cell.row + DrawReal(own, -1, 2)) * cell.stride,
                                           DrawReal(own, 0, 0.5)});
          }
        }
        return numbers;
      });
}

// One prototype is positive left of a line, another above one; the rest are noise that no thing
// uses.
PlantedHead PlantSegment(HeadRandom& random, int count) {
  PlantedHead head = BeginHead(random, HeadKind::kYolov8Segment);
  head.notes.task = "segment";
  const auto things = ThingsFor(random, head, count);
  constexpr int kPrototypes = 4;
  const int rows = head.height / 4;
  const int columns = head.width / 4;
  std::array<int, 2> line = {columns / 2, rows / 2};
  PlantedOutput prototypes{"output1", {1, kPrototypes, rows, columns}, {}};
  for (int prototype = 0; prototype < kPrototypes; ++prototype) {
    for (int i = 0; i < rows * columns; ++i) {
      const bool is_side = prototype == 0 ? i % columns < line[0] : i / columns < line[1];
      prototypes.numbers.push_back(prototype < 2 ? (is_side ? 1.0f : -1.0f)
                                                 : static_cast<float>(DrawNormal(random, 0, 1)));
    }
  }
  Detections truth = BoxesOfThings(things);
  for (size_t i = 0; i < things.size(); ++i) {
    PixelRuns& mask = truth.boxes[i].mask;
    mask = {head.width, head.height, {0}};
    bool is_inside = false;
    const Detection& box = truth.boxes[i];
    for (int x = 0; x < head.width; ++x) {
      for (int y = 0; y < head.height; ++y) {
        const bool is_in_box = x >= std::lround(box.left) && x < std::lround(box.right) &&
                               y >= std::lround(box.top) && y < std::lround(box.bottom);
        const bool is_side = i % 2 == 0 ? x < 4 * line[0] : y < 4 * line[1];
        if ((is_in_box && is_side) != is_inside) {
          mask.lengths.push_back(0);
          is_inside = !is_inside;
        }
        ++mask.lengths.back();
      }
    }
  }
  head.truth = truth;
  head =
      PlantAnchorFree(random, std::move(head), things,
                      [&](HeadRandom& own, const PlantedThing* thing, const GridCell&) {
                        if (thing == nullptr) {
                          std::vector<double> numbers;
                          for (int i = 0; i < kPrototypes; ++i)
                            numbers.push_back(DrawNormal(own, 0, 0.5));
                          return numbers;
                        }
                        const bool is_even = (thing - things.data()) % 2 == 0;
                        return std::vector<double>{is_even ? 1.0 : 0.0, is_even ? 0.0 : 1.0, 0, 0};
                      });
  head.outputs.push_back(std::move(prototypes));
  return head;
}

PlantedHead PlantObb(HeadRandom& random, int count) {
  PlantedHead head = BeginHead(random, HeadKind::kYolov8Obb);
  head.notes.task = "obb";
  const auto things = ThingsFor(random, head, count);
  const auto angle_of = [](const PlantedThing& thing) {
    return std::numbers::pi * (0.75 * (thing.score - 0.4) / 0.5 - 0.1);
  };
  Detections truth;
  for (const PlantedThing& thing : things) {
    const double c = std::cos(angle_of(thing));
    const double s = std::sin(angle_of(thing));
    const double half_width = (thing.width * std::abs(c) + thing.height * std::abs(s)) / 2;
    const double half_height = (thing.width * std::abs(s) + thing.height * std::abs(c)) / 2;
    Detection box =
        BoxOfThing({thing.x, thing.y, 2 * half_width, 2 * half_height, thing.label, thing.score});
    box.corners = {{thing.x + (c * thing.width - s * thing.height) / 2,
                    thing.y + (s * thing.width + c * thing.height) / 2, thing.score}};
    truth.boxes.push_back(box);
  }
  head.truth = truth;
  return PlantAnchorFree(
      random, std::move(head), things,
      [&](HeadRandom& own, const PlantedThing* thing, const GridCell&) {
        return std::vector<double>{thing != nullptr ? angle_of(*thing) : DrawReal(own, -0.7, 2.3)};
      });
}

// Decoded rows with objectness; where it is low, class scores mean nothing. `anchors` boxes a cell.
PlantedHead PlantObjectness(HeadRandom& random, int count, HeadKind kind, int anchors,
                            bool is_always_one) {
  PlantedHead head = BeginHead(random, kind);
  const auto things = PlaceThings(random, count, &head);
  std::vector<std::vector<float>> rows;
  const std::vector<GridCell> cells = CellsOf(head);
  for (const int stride : kGridStrides) {
    for (int anchor = 0; anchor < anchors; ++anchor) {
      for (const GridCell& cell : cells) {
        if (cell.stride != stride) continue;
        const auto [thing, share] =
            anchor == anchors / 2 ? FoundBy(random, cell, things) : FoundThing{};
        std::vector<double> row;
        if (thing != nullptr) {
          row = {thing->x, thing->y, thing->width, thing->height};
        } else {
          row = {(cell.column + DrawReal(random, 0, 1)) * stride,
                 (cell.row + DrawReal(random, 0, 1)) * stride, stride * DrawReal(random, 1, 4),
                 stride * DrawReal(random, 1, 4)};
        }
        // The score is the product.
        const double objectness = is_always_one      ? 1
                                  : thing != nullptr ? share * DrawReal(random, 0.96, 0.99)
                                                     : DrawReal(random, 0, 0.01);
        row.push_back(objectness);
        for (int label = 0; label < head.classes; ++label) {
          const bool is_it = thing != nullptr && label == thing->label;
          const double faint = is_always_one || thing != nullptr ? 0.01 : 0.4;
          row.push_back(is_it ? share * thing->score / objectness : DrawReal(random, 0, faint));
        }
        rows.emplace_back(row.begin(), row.end());
      }
    }
  }
  head.scores_end = 5 + head.classes;
  return EndRows(std::move(head), rows, false);
}

PlantedHead PlantYolov5Rows(HeadRandom& random, int count) {
  return PlantObjectness(random, count, HeadKind::kBoxes, 3, false);
}
PlantedHead PlantYolov6Rows(HeadRandom& random, int count) {
  return PlantObjectness(random, count, HeadKind::kBoxes, 1, true);
}
PlantedHead PlantYoloxPlaced(HeadRandom& random, int count) {
  PlantedHead head = PlantObjectness(random, count, HeadKind::kYolox, 1, false);
  head.tail = PlantedHead::Tail::kAdd;
  return head;
}

PlantedHead PlantYolox(HeadRandom& random, int count) {
  PlantedHead head = PlantObjectness(random, count, HeadKind::kYolox, 1, false);
  std::vector<std::vector<float>> rows = head.Rows();
  const std::vector<GridCell> cells = CellsOf(head);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto stride = static_cast<float>(cells[i].stride);
    rows[i][0] = rows[i][0] / stride - static_cast<float>(cells[i].column);
    rows[i][1] = rows[i][1] / stride - static_cast<float>(cells[i].row);
    rows[i][2] = std::log(rows[i][2] / stride);
    rows[i][3] = std::log(rows[i][3] / stride);
  }
  head.SetRows(rows);
  return head;
}

// The thing whose centre lies in a cell beside, near enough for YOLOv5's formula.
const PlantedThing* BesideIn(const GridCell& cell, const std::vector<PlantedThing>& things) {
  if (cell.stride != kBoxStride) return nullptr;
  for (const PlantedThing& thing : things) {
    const double x = thing.x / kBoxStride - cell.column;
    const double y = thing.y / kBoxStride - cell.row;
    const bool is_beside =
        (x > -0.45 && x < 1.45 && y >= 0 && y < 1) || (y > -0.45 && y < 1.45 && x >= 0 && x < 1);
    if (is_beside) return &thing;
  }
  return nullptr;
}

// Raw heads of three anchors each; the things are found by the second anchor of their stride.
PlantedHead PlantRaw(HeadRandom& random, int count, HeadKind kind) {
  PlantedHead head = BeginHead(random, kind);
  const auto things = PlaceThings(random, count, &head);
  const int numbers = 5 + head.classes;
  const bool is_later = kind == HeadKind::kYolov4 || kind == HeadKind::kYolov7;
  const bool is_darknet = kind == HeadKind::kYolov3 || kind == HeadKind::kYolov4;
  // The second anchor of the things' stride.
  const double anchor_width = is_later ? 76 : 62;
  const double anchor_height = is_later ? 55 : 45;
  const double reach = kind == HeadKind::kYolov4 ? 1.1 : 1;  // of centres, beyond a cell
  for (const int stride : kGridStrides) {
    const int rows = head.height / stride;
    const int columns = head.width / stride;
    PlantedOutput output{"head" + std::to_string(stride), {1, 3 * numbers, rows, columns}, {}};
    output.numbers.resize(static_cast<size_t>(3 * numbers * rows * columns));
    for (int anchor = 0; anchor < 3; ++anchor) {
      for (int row = 0; row < rows; ++row) {
        for (int column = 0; column < columns; ++column) {
          double share = 1;
          const PlantedThing* thing =
              anchor == 1 ? ThingIn({stride, row, column}, things) : nullptr;
          if (thing == nullptr && anchor == 1 && !is_darknet) {
            thing = BesideIn({stride, row, column}, things);
            share = 0.9;
          }
          std::vector<double> own;
          if (thing != nullptr) {
            const double x = thing->x / stride - column;
            const double y = thing->y / stride - row;
            if (is_darknet) {
              own = {LogitOf((x + (reach - 1) / 2) / reach), LogitOf((y + (reach - 1) / 2) / reach),
                     std::log(thing->width / anchor_width),
                     std::log(thing->height / anchor_height)};
            } else {
              own = {LogitOf((x + 0.5) / 2), LogitOf((y + 0.5) / 2),
                     LogitOf(std::sqrt(thing->width / anchor_width) / 2),
                     LogitOf(std::sqrt(thing->height / anchor_height) / 2)};
            }
            own.push_back(20);
            for (int label = 0; label < head.classes; ++label) {
              own.push_back(label == thing->label ? LogitOf(share * thing->score)
                                                  : DrawNormal(random, -7, 0.5));
            }
          } else {
            own = {DrawNormal(random, 0, 0.7), DrawNormal(random, 0, 0.7),
                   DrawNormal(random, 0, 0.4), DrawNormal(random, 0, 0.4),
                   DrawNormal(random, -9, 0.7)};
            for (int label = 0; label < head.classes; ++label) {
              own.push_back(DrawNormal(random, -2, 1));
            }
          }
          for (int k = 0; k < numbers; ++k) {
            output.numbers[static_cast<size_t>(((anchor * numbers + k) * rows + row) * columns +
                                               column)] =
                static_cast<float>(own[static_cast<size_t>(k)]);
          }
        }
      }
    }
    head.outputs.push_back(std::move(output));
  }
  return head;
}

PlantedHead PlantYolov5Raw(HeadRandom& random, int count) {
  PlantedHead head = PlantRaw(random, count, HeadKind::kBoxes);
  head.config.strides = {kGridStrides.begin(), kGridStrides.end()};
  head.config.anchors = kAnchorsOfYolov5;
  return head;
}
PlantedHead PlantYolov3(HeadRandom& random, int count) {
  PlantedHead head = PlantRaw(random, count, HeadKind::kYolov3);
  if (DrawInt(random, 0, 1) == 0) {
    head.config.strides = {kGridStrides.begin(), kGridStrides.end()};
    head.config.anchors = kAnchorsOfYolov5;
  }
  return head;
}

PlantedHead PlantYolov4(HeadRandom& random, int count) {
  return PlantRaw(random, count, HeadKind::kYolov4);
}
PlantedHead PlantYolov7(HeadRandom& random, int count) {
  return PlantRaw(random, count, HeadKind::kYolov7);
}

std::vector<float> CornersOf(const PlantedThing& thing) {
  const Detection box = BoxOfThing(thing);
  return {static_cast<float>(box.left), static_cast<float>(box.top), static_cast<float>(box.right),
          static_cast<float>(box.bottom)};
}

// Any box in the picture.
PlantedThing AnyBox(HeadRandom& random, const PlantedHead& head, double most_score) {
  PlantedThing thing;
  thing.width = DrawReal(random, 8, 60);
  thing.height = DrawReal(random, 8, 60);
  thing.x = DrawReal(random, thing.width / 2, head.width - thing.width / 2);
  thing.y = DrawReal(random, thing.height / 2, head.height - thing.height / 2);
  thing.label = DrawInt(random, 0, head.classes - 1);
  thing.score = static_cast<float>(DrawReal(random, 0, most_score));
  return thing;
}

// What the network picked: things, then faint boxes as YOLOv10 gives them, or zeros as a
// suppression pads.
std::vector<PlantedThing> Picked(HeadRandom& random, const PlantedHead& head,
                                 std::vector<PlantedThing> things, size_t count, bool is_padded) {
  while (things.size() < count) {
    things.push_back(is_padded ? PlantedThing{} : AnyBox(random, head, 0.03));
  }
  return things;
}

PlantedHead PlantEndToEnd(HeadRandom& random, int count) {
  PlantedHead head = BeginHead(random, HeadKind::kEndToEnd);
  const auto things = PlaceThings(random, count, &head);
  std::vector<std::vector<float>> rows;
  for (const PlantedThing& thing : Picked(random, head, things, 300, DrawInt(random, 0, 1) == 0)) {
    rows.push_back(CornersOf(thing));
    rows.back().insert(rows.back().end(), {thing.score, static_cast<float>(thing.label)});
  }
  return EndRows(std::move(head), rows, false);
}

PlantedHead PlantEndToEndBatch(HeadRandom& random, int count) {
  PlantedHead head = BeginHead(random, HeadKind::kEndToEndBatch);
  const auto things = PlaceThings(random, count, &head);
  std::vector<std::vector<float>> rows;
  for (const PlantedThing& thing : Picked(random, head, things, 100, true)) {
    rows.push_back(CornersOf(thing));
    rows.back().insert(rows.back().begin(), 0.0f);
    rows.back().insert(rows.back().end(), {static_cast<float>(thing.label), thing.score});
  }
  head = EndRows(std::move(head), rows, false);
  head.outputs[0].shape = {100, 7};
  return head;
}

PlantedHead PlantPickedOutputs(HeadRandom& random, int count, HeadKind kind) {
  PlantedHead head = BeginHead(random, kind);
  const auto things = PlaceThings(random, count, &head);
  const bool is_tf = kind == HeadKind::kTfDetection;
  const std::string prefix = is_tf ? "detection_" : "det_";
  PlantedOutput number{is_tf ? "num_detections" : "num_dets", {1, 1}, {}};
  PlantedOutput boxes{prefix + "boxes", {1, 100, 4}, {}};
  PlantedOutput scores{prefix + "scores", {1, 100}, {}};
  PlantedOutput labels{prefix + "classes", {1, 100}, {}};
  number.numbers = {static_cast<float>(things.size())};
  for (const PlantedThing& thing :
       Picked(random, head, things, 100, is_tf ? DrawInt(random, 0, 1) == 0 : true)) {
    std::vector<float> corners = CornersOf(thing);
    if (is_tf) {
      corners = {corners[1] / static_cast<float>(head.height),
                 corners[0] / static_cast<float>(head.width),
                 corners[3] / static_cast<float>(head.height),
                 corners[2] / static_cast<float>(head.width)};
    }
    boxes.numbers.insert(boxes.numbers.end(), corners.begin(), corners.end());
    scores.numbers.push_back(thing.score);
    labels.numbers.push_back(static_cast<float>(thing.label));
  }
  if (is_tf) {
    head.outputs = {boxes, labels, scores, number};
  } else {
    head.outputs = {number, boxes, scores, labels};
  }
  return head;
}

PlantedHead PlantNmsOutputs(HeadRandom& random, int count) {
  return PlantPickedOutputs(random, count, HeadKind::kNmsOutputs);
}
PlantedHead PlantTfDetection(HeadRandom& random, int count) {
  return PlantPickedOutputs(random, count, HeadKind::kTfDetection);
}

// Queries: boxes as shares, and logits; the things at random places among them.
PlantedHead PlantQueries(HeadRandom& random, int count, HeadKind kind) {
  PlantedHead head = BeginHead(random, kind);
  const auto things = PlaceThings(random, count, &head);
  constexpr int kQueries = 100;
  const bool has_none = kind == HeadKind::kDetr;
  PlantedOutput logits{"logits", {1, kQueries, head.classes + (has_none ? 1 : 0)}, {}};
  PlantedOutput boxes{"pred_boxes", {1, kQueries, 4}, {}};
  const int first = DrawInt(random, 0, kQueries / 2);
  for (int query = 0; query < kQueries; ++query) {
    const int index = query - first;
    const bool is_thing = index >= 0 && static_cast<size_t>(index) < things.size();
    const PlantedThing thing =
        is_thing ? things[static_cast<size_t>(index)] : AnyBox(random, head, 0);
    for (const double number : {thing.x / head.width, thing.y / head.height,
                                thing.width / head.width, thing.height / head.height}) {
      boxes.numbers.push_back(static_cast<float>(number));
    }
    double others = has_none ? std::exp(0.0) : 0;
    std::vector<double> own;
    for (int label = 0; label < head.classes; ++label) {
      own.push_back(DrawNormal(random, has_none ? -9 : -5, 0.5));
      if (label != thing.label) others += std::exp(own.back());
    }
    if (is_thing) {
      own[static_cast<size_t>(thing.label)] =
          LogitOf(thing.score) + (has_none ? std::log(others) : 0);
    }
    if (has_none) own.push_back(0);
    const double shift = has_none ? DrawReal(random, -1, 3) : 0;  // a softmax does not see it
    for (const double number : own) logits.numbers.push_back(static_cast<float>(number + shift));
  }
  head.outputs = {std::move(logits), std::move(boxes)};
  return head;
}

PlantedHead PlantDetr(HeadRandom& random, int count) {
  return PlantQueries(random, count, HeadKind::kDetr);
}
PlantedHead PlantRtDetr(HeadRandom& random, int count) {
  return PlantQueries(random, count, HeadKind::kRtDetr);
}

PlantedHead PlantRtDetrRows(HeadRandom& random, int count) {
  PlantedHead head = PlantQueries(random, count, HeadKind::kRtDetr);
  const PlantedOutput logits = head.outputs[0];
  const PlantedOutput boxes = head.outputs[1];
  std::vector<std::vector<float>> rows;
  for (size_t query = 0; query < static_cast<size_t>(boxes.shape[1]); ++query) {
    rows.emplace_back(boxes.numbers.begin() + static_cast<std::ptrdiff_t>(4 * query),
                      boxes.numbers.begin() + static_cast<std::ptrdiff_t>(4 * query + 4));
    for (size_t label = 0; label < static_cast<size_t>(head.classes); ++label) {
      const float logit = logits.numbers[query * static_cast<size_t>(head.classes) + label];
      rows.back().push_back(1 / (1 + std::exp(-logit)));
    }
  }
  head.scores_end = 4 + head.classes;
  return EndRows(std::move(head), rows, false);
}

constexpr std::array kBoxForms = std::to_array<PlantedForm>({
    {"boxes, YOLOv5's rows", PlantYolov5Rows},
    {"boxes, YOLOv6's rows", PlantYolov6Rows},
    {"boxes, raw heads", PlantYolov5Raw},
    {"yolov3", PlantYolov3},
    {"yolov4", PlantYolov4},
    {"yolov7, raw heads", PlantYolov7},
    {"yolov8", PlantYolov8},
    {"yolov8-pose", PlantPose},
    {"yolov8-segment", PlantSegment},
    {"yolov8-obb", PlantObb},
    {"yolox, on its grid", PlantYolox},
    {"yolox, placed", PlantYoloxPlaced},
    {"end-to-end", PlantEndToEnd},
    {"end-to-end-batch", PlantEndToEndBatch},
    {"nms-outputs", PlantNmsOutputs},
    {"tf-detection", PlantTfDetection},
    {"detr", PlantDetr},
    {"rt-detr", PlantRtDetr},
    {"rt-detr, rows", PlantRtDetrRows},
});

}  // namespace

std::span<const PlantedForm> PlantedBoxForms() { return kBoxForms; }

}  // namespace cacheinf
