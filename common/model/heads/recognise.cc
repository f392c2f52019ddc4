#include "common/model/heads/head_outputs.h"
#include "common/model/heads/heads.h"

namespace cacheinf {
namespace {

using Kind = HeadKind;

// What the graph's last operator shows.
HeadKind KindOfTail(const Outputs& outputs) {
  const Operator* const last = outputs.Last();
  if (last == nullptr) return Kind::kRaw;
  const Value& output = outputs.value(0);
  if (last->As<op::NonMaxSuppression>() != nullptr) return Kind::kBoxes;
  if (last->As<op::ArgMax>() != nullptr && IsClassMap(output)) return Kind::kSegmentation;
  if (last->As<op::Softmax>() != nullptr && IsScores(output)) return Kind::kClassification;
  return Kind::kRaw;
}

// What the task that the model's file names, and the shapes, show.
HeadKind KindOfTask(const Outputs& outputs) {
  const std::string& task = outputs.graph.notes.task;
  if (task == "classify") return Kind::kClassification;
  if (task == "pose") return Kind::kYolov8Pose;
  if (task == "segment") return Kind::kYolov8Segment;
  if (task == "obb") return Kind::kYolov8Obb;
  if (task != "detect" || !outputs.rows) return Kind::kRaw;
  if (outputs.rows->anchors == 3) return Kind::kBoxes;
  if (outputs.rows->anchors == 1) return Kind::kYolov8;
  return outputs.rows->numbers == 6 ? Kind::kEndToEnd : Kind::kRtDetr;
}

// What names and shapes alone show. 80 and 1000 classes are those of COCO and ImageNet.
HeadKind KindOfShapes(const Outputs& outputs) {
  constexpr int kCoco = 80;
  constexpr int kImageNet = 1000;
  const int names = outputs.spec.class_count;
  if (SuppressedOf(outputs)) {
    return Says(outputs.value(0), {"detection_"}) ? Kind::kTfDetection : Kind::kNmsOutputs;
  }
  if (const auto queries = QueriesOf(outputs)) {
    const int64_t logits = outputs.shape(queries->first)[2];
    if (names > 0 && logits == names) return Kind::kRtDetr;
    if (names > 0 && logits == names + 1) return Kind::kDetr;
    if (logits == kCoco) return Kind::kRtDetr;
    return logits == 92 ? Kind::kDetr : Kind::kRaw;
  }
  if (outputs.count() == 1 && outputs.shape(0).size() == 2 && outputs.shape(0)[0] == 1) {
    const int64_t scores = outputs.shape(0)[1];
    return scores == kImageNet || (names > 0 && scores == names) ? Kind::kClassification
                                                                 : Kind::kRaw;
  }
  if (outputs.count() == 1 && outputs.value(0).is_map()) {
    return names > 1 && outputs.shape(0)[1] == names ? Kind::kSegmentation : Kind::kRaw;
  }
  if (!outputs.rows) return Kind::kRaw;
  const BoxRows& rows = *outputs.rows;
  if (rows.anchors == 0) {
    if (rows.is_transposed || rows.boxes > kMostOfEndToEnd) return Kind::kRaw;
    if (rows.numbers == 6) return Kind::kEndToEnd;
    return rows.numbers == 7 && Says(outputs.value(0), {"output"}) ? Kind::kEndToEndBatch
                                                                   : Kind::kRaw;
  }
  if (rows.anchors == 3) return rows.numbers >= 6 ? Kind::kBoxes : Kind::kRaw;
  if (const size_t prototypes = PrototypesOf(outputs)) {
    const int64_t classes = rows.numbers - kPixelNumbers - outputs.shape(prototypes)[1];
    return classes >= 1 ? Kind::kYolov8Segment : Kind::kRaw;
  }
  const int classes = names > 0 ? names : kCoco;
  if (rows.numbers == kPixelNumbers + classes) return Kind::kYolov8;
  if (rows.numbers == kPixelNumbers + 1 + classes && !rows.is_transposed) return Kind::kYolox;
  constexpr int kPersonPose = kPixelNumbers + 1 + 3 * 17;
  if (names == 0 && rows.numbers == kPersonPose) return Kind::kYolov8Pose;
  return Kind::kRaw;
}

}  // namespace

Recognition Recognise(const Graph& graph, int class_count) {
  HeadSpec spec;
  spec.class_count = class_count;
  const Outputs outputs(graph, spec);
  Recognition found;
  const auto spec_of = [&](HeadKind kind) {
    HeadSpec own = spec;
    own.kind = kind;
    return own;
  };
  const auto take = [&](HeadKind kind, const char* reason) {
    if (kind == Kind::kRaw || !WhyNot(graph, spec_of(kind)).empty()) return false;
    found.kind = kind;
    found.reason = reason;
    return true;
  };
  if (take(KindOfTail(outputs), "the graph's last operator") ||
      take(KindOfTask(outputs), "the task that the model's file names") ||
      take(KindOfShapes(outputs), "the outputs' names and shapes")) {
    return found;
  }
  for (const HeadRow& row : HeadTable()) {
    const bool is_candidate = row.kind != Kind::kAuto && row.kind != Kind::kRaw;
    if (is_candidate && WhyNot(graph, spec_of(row.kind)).empty()) {
      found.candidates.push_back(row.kind);
    }
  }
  found.reason = DescribeOutputs(graph);
  return found;
}

}  // namespace cacheinf
