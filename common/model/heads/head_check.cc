#include "common/model/heads/head_check.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "common/model/heads/head_outputs.h"
#include "common/model/heads/head_table.h"
#include "common/model/heads/number_source.h"

namespace cacheinf {

HeadCheck::HeadCheck(Graph graph, HeadSpec spec)
    : graph_(std::move(graph)), spec_(std::move(spec)) {}

std::string HeadCheck::Contradiction(std::span<const std::vector<float>> outputs) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto is_nan = [](float number) { return std::isnan(number); };
    if (std::any_of(outputs[i].begin(), outputs[i].end(), is_nan)) {
      return "output '" + graph_.value(graph_.outputs[i]).name + "' holds what is not a number";
    }
  }
  const Outputs look(graph_, spec_);
  if (look.EndsWithSuppression()) return "";
  const std::string why = EntryOf(spec_.kind).judge(look, outputs).contradiction;
  return why.empty() ? JudgeGraph(graph_, spec_).contradiction : why;
}

bool HeadCheck::HasEvidence(std::span<const std::vector<float>> outputs) const {
  const Outputs look(graph_, spec_);
  return look.EndsWithSuppression() || EntryOf(spec_.kind).judge(look, outputs).has_evidence;
}

bool HeadCheck::IsConfirmed() const {
  const bool has_boxes = RowOf(spec_.kind).answer == HeadRow::Answer::kBoxes;
  const Outputs look(graph_, spec_);
  if (!has_boxes || look.EndsWithSuppression() || !graph_.notes.task.empty()) return true;
  switch (spec_.kind) {
    case HeadKind::kBoxes:
      return IsRaw(look) ? IsRawYolov5(look) : JudgeGraph(graph_, spec_).confirms;
    case HeadKind::kYolov3:
    case HeadKind::kYolov4:
    case HeadKind::kNanodet:
    case HeadKind::kCenternet:
    case HeadKind::kCenterface:
      return false;  // x and y, or width and height, may stand in either order
    case HeadKind::kYolov7:
    case HeadKind::kYolov8:
    case HeadKind::kYolov8Pose:
    case HeadKind::kYolov8Segment:
    case HeadKind::kYolov8Obb:
    case HeadKind::kEndToEnd:
    case HeadKind::kEndToEndBatch:
    case HeadKind::kNmsOutputs:
    case HeadKind::kTfDetection:
      return JudgeGraph(graph_, spec_).confirms;
    case HeadKind::kYolox:
      return !PlacesOnGrid(graph_) || JudgeGraph(graph_, spec_).confirms;
    default:
      return true;
  }
}

bool HeadCheck::CouldBe(HeadKind kind, std::span<const std::vector<float>> outputs) const {
  HeadSpec other = spec_;
  other.kind = kind;
  return HeadCheck(graph_, other).Contradiction(outputs).empty();
}

}  // namespace cacheinf
