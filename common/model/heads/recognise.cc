#include <algorithm>

#include "common/model/heads/head_outputs.h"
#include "common/model/heads/head_table.h"
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
  const bool has_classes = IsClassMap(output) || IsClassMapWithChannel(output);
  if (last->As<op::ArgMax>() != nullptr && has_classes) return Kind::kSegmentation;
  const Squashing squashing = SquashingOf(outputs.graph, outputs.graph.outputs.front());
  if (squashing == Squashing::kSoftmax && IsScores(output) && outputs.count() == 1) {
    return Kind::kClassification;
  }
  return Kind::kRaw;
}

// What the shapes, and the task that the model's file names, show.
HeadKind KindOfTask(const Outputs& outputs) {
  const std::string& task = outputs.graph.notes.task;
  if (task == "classify") return Kind::kClassification;
  if (task == "pose") return Kind::kYolov8Pose;
  if (task == "segment") return Kind::kYolov8Segment;
  if (task == "obb") return Kind::kYolov8Obb;
  if ((task.empty() || task == "detect") && IsRawYolov5(outputs)) return Kind::kBoxes;
  if (task != "detect") return Kind::kRaw;
  if (!outputs.rows) return Kind::kYolov8Raw;
  const bool are_final = outputs.graph.notes.has_suppression && !outputs.rows->is_transposed;
  if (are_final && outputs.rows->numbers == 6) return Kind::kEndToEnd;
  if (outputs.rows->anchors == 3) return Kind::kBoxes;
  if (outputs.rows->anchors == 1) return Kind::kYolov8;
  return outputs.rows->numbers == 6 ? Kind::kEndToEnd : Kind::kRtDetr;
}

bool AllSay(const Outputs& outputs, std::initializer_list<std::string_view> words) {
  for (size_t i = 0; i < outputs.count(); ++i) {
    if (!Says(outputs.value(i), words)) return false;
  }
  return true;
}

// What names and shapes of maps alone show: they never tell raw heads with anchors apart.
HeadKind KindOfMaps(const Outputs& outputs) {
  constexpr int64_t kCocoAndDistances = 144;
  const int names = outputs.spec.class_count;
  const auto channels = [&](size_t i) {
    return outputs.shape(i).size() == 4 ? outputs.shape(i)[1] : 0;
  };
  const auto has = [&](std::initializer_list<int64_t> of_maps) {
    if (outputs.count() != of_maps.size()) return false;
    size_t i = 0;
    return std::all_of(of_maps.begin(), of_maps.end(),
                       [&](int64_t own) { return channels(i++) == own; });
  };
  const auto has_one_of = [&](int64_t own) {
    for (size_t i = 0; i < outputs.count(); ++i) {
      if (channels(i) == own) return true;
    }
    return false;
  };
  if (outputs.count() == 1) {
    const bool has_names = names > 1 && (channels(0) == names || outputs.shape(0)[3] == names);
    return has_names ? Kind::kSegmentation : Kind::kRaw;
  }
  if (has({1, 2, 2, 10})) return Kind::kCenterface;
  if (outputs.count() == 2 && has_one_of(65) && has_one_of(256)) return Kind::kSuperpoint;
  if (outputs.count() == 3 && has_one_of(65) && has_one_of(64)) return Kind::kXfeat;
  if (AllSay(outputs, {"seg", "Seg"})) return Kind::kSegmentation;
  if (AllSay(outputs, {"hm", "heat", "wh", "reg", "off"})) return Kind::kCenternet;
  const bool is_joint = outputs.count() == 3;
  if (is_joint && channels(0) == (names > 0 ? names + 64 : kCocoAndDistances)) {
    return Kind::kYolov8Raw;
  }
  return outputs.count() == 6 && has_one_of(64) && has_one_of(names > 0 ? names : 80)
             ? Kind::kYolov8Raw
             : Kind::kRaw;
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
  if (PointsOf(outputs)) return Kind::kPoints;
  if (outputs.count() == 1 && IsScores(outputs.value(0))) {
    const int64_t scores = outputs.shape(0)[1];
    return scores == kImageNet || (names > 0 && scores == names) ? Kind::kClassification
                                                                 : Kind::kRaw;
  }
  if (outputs.value(0).is_map()) return KindOfMaps(outputs);
  constexpr int kNanodetDistances = 32;
  if (outputs.count() > 3 && outputs.count() % 2 == 0) return Kind::kNanodet;
  if (!outputs.rows) return Kind::kRaw;
  const BoxRows& rows = *outputs.rows;
  if (rows.anchors == 0) {
    if (rows.is_transposed || rows.boxes > kMostOfEndToEnd) return Kind::kRaw;
    if (rows.numbers == 6) return Kind::kEndToEnd;
    const bool is_list = outputs.shape(0).size() == 2 && Says(outputs.value(0), {"output"});
    return rows.numbers == 7 && is_list ? Kind::kEndToEndBatch : Kind::kRaw;
  }
  if (rows.anchors == 3) return rows.numbers >= 6 ? Kind::kBoxes : Kind::kRaw;
  if (const size_t prototypes = PrototypesOf(outputs)) {
    const int64_t classes = rows.numbers - kPixelNumbers - outputs.shape(prototypes)[1];
    return classes >= 1 ? Kind::kYolov8Segment : Kind::kRaw;
  }
  const int classes = names > 0 ? names : kCoco;
  if (rows.numbers == kPixelNumbers + classes) return Kind::kYolov8;
  if (rows.numbers == kPixelNumbers + 1 + classes && !rows.is_transposed) return Kind::kYolox;
  if (rows.numbers == classes + kNanodetDistances && !rows.is_transposed) return Kind::kNanodet;
  constexpr int kPersonPose = kPixelNumbers + 1 + 3 * 17;
  if (names == 0 && rows.numbers == kPersonPose) return Kind::kYolov8Pose;
  return Kind::kRaw;
}

// Whether answers of this kind are what one of Ultralytics' tasks gives. Other exporters' tasks say
// nothing.
bool AnswersTask(HeadKind kind, const std::string& task) {
  const bool is_more =
      kind == Kind::kYolov8Pose || kind == Kind::kYolov8Segment || kind == Kind::kYolov8Obb;
  if (task == "detect") return RowOf(kind).answer == HeadRow::Answer::kBoxes && !is_more;
  const bool is_known = task == "classify" || task == "pose" || task == "segment" || task == "obb";
  return !is_known;
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
  if (take(KindOfTail(outputs), "the graph's last operator")) return found;
  constexpr const char* kTask = "the task that the model's file names";
  const HeadKind of_task = KindOfTask(outputs);
  if (take(of_task, kTask)) return found;
  // If only the number of names is wrong, no other kind is right, whatever fits.
  HeadSpec unnamed = spec_of(of_task);
  unnamed.class_count = 0;
  if (of_task != Kind::kRaw && WhyNot(graph, unnamed).empty()) {
    return {of_task, {}, kTask};
  }
  const HeadKind of_shapes = KindOfShapes(outputs);
  if (take(of_shapes, "the outputs' names and shapes")) {
    // A segmentation that has lost its prototypes, say, would pass for a detector.
    if (!AnswersTask(of_shapes, graph.notes.task)) return {of_task, {}, kTask};
    return found;
  }
  found.candidates = KindsThatFit(graph, spec);
  found.reason = DescribeOutputs(graph);
  return found;
}

}  // namespace cacheinf
