#include "common/model/heads/heads.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "common/base/error.h"
#include "common/model/heads/head_outputs.h"
#include "common/model/heads/head_rows.h"
#include "common/model/heads/head_table.h"

namespace cacheinf {
namespace {

using Kind = HeadKind;

std::string NamesOf(const std::vector<HeadKind>& kinds) {
  std::vector<std::string> names;
  for (const HeadKind kind : kinds) names.emplace_back(NameOf(kind));
  return fmt::format("{}", fmt::join(names, ", "));
}

// How unlike a kind's usual outputs rows that fit the kind are.
int UnlikeUsual(HeadKind kind, const BoxRows& rows) {
  const int on_side = rows.is_transposed ? 1 : 0;
  switch (kind) {
    case Kind::kBoxes:
    case Kind::kYolov7:
      return (rows.anchors == 3 ? 0 : 1) + on_side;
    case Kind::kYolox:
    case Kind::kNanodet:
      return 2 * on_side;
    case Kind::kYolov8:
      return 1 - on_side;
    case Kind::kYolov8Pose:
    case Kind::kYolov8Obb:
      return 2 - on_side;
    default:
      return rows.anchors == 0 ? 0 : 1;
  }
}

}  // namespace

const HeadEntry& EntryOf(HeadKind kind) {
  static const auto kTable = [] {
    std::array<HeadEntry, kHeadKinds> table = {};
    for (const auto part : {PlainHeads(), AnchorHeads(), GridHeads(), DistributionHeads(),
                            PickedHeads(), PeakHeads()}) {
      for (const HeadEntry& entry : part) table[static_cast<size_t>(entry.row.kind)] = entry;
    }
    return table;
  }();
  return kTable[static_cast<size_t>(kind)];
}

const HeadRow& RowOf(HeadKind kind) { return EntryOf(kind).row; }

std::vector<HeadKind> KindsThatFit(const Graph& graph, const HeadSpec& spec) {
  std::vector<HeadKind> kinds;
  for (int i = 0; i < kHeadKinds; ++i) {
    HeadSpec own = spec;
    own.kind = static_cast<HeadKind>(i);
    if (own.kind == Kind::kAuto || own.kind == Kind::kRaw) continue;
    if (WhyNot(graph, own).empty()) kinds.push_back(own.kind);
  }
  if (const Outputs outputs(graph, spec); outputs.rows) {
    std::ranges::stable_sort(kinds, {},
                             [&](HeadKind kind) { return UnlikeUsual(kind, *outputs.rows); });
  }
  return kinds;
}

std::string WhyNoRows(const Outputs& outputs, int64_t least, bool one_output) {
  if (outputs.EndsWithSuppression()) return "";
  if (one_output && outputs.count() != 1) {
    return fmt::format("there are {} outputs instead of one", outputs.count());
  }
  if (!outputs.rows) return OfOutput(outputs.value(0)) + ", not a row of numbers a box";
  if (outputs.rows->numbers < least) {
    return fmt::format("{}: {} numbers a box, at least {} are needed", OfOutput(outputs.value(0)),
                       outputs.rows->numbers, least);
  }
  return "";
}

std::string WhyNotSoMany(const Outputs& outputs, int64_t classes) {
  const int names = outputs.spec.class_count;
  if (names == 0 || names == classes) return "";
  return fmt::format("{}: that makes {} classes, but {} have names", OfOutput(outputs.value(0)),
                     classes, names);
}

std::string WhyNoGrid(const Outputs& outputs) {
  if (outputs.rows->anchors != 0 || outputs.picture.width == 0) return "";
  return OfOutput(outputs.value(0)) + ": not the boxes of cells of strides such as 8, 16 and 32";
}

ValueId RowsOf(Graph& graph, const Outputs& outputs) {
  return RowBuilder(&graph).FromOutput(graph.outputs.front(), *outputs.rows);
}

void SetBoxes(Graph& graph, const HeadSpec& spec, ValueId rows, bool has_objectness, int extras) {
  op::NonMaxSuppression suppression = spec.suppression;
  suppression.has_objectness = has_objectness;
  suppression.extras = extras;
  graph.head.classes = static_cast<int>(graph.value(rows).shape[1]) - kPixelNumbers -
                       (has_objectness ? 1 : 0) - extras;
  graph.outputs = {graph.AddOne("boxes", suppression, {rows})};
}

std::string DescribeOutputs(const Graph& graph) {
  std::string text;
  for (const ValueId id : graph.outputs) {
    if (!text.empty()) text += " and ";
    text += fmt::format("output '{}' of shape {}", graph.value(id).name,
                        ToString(graph.value(id).shape));
  }
  return text;
}

bool IsNormalised(const HeadSpec& spec) {
  return spec.is_normalised.value_or(EntryOf(spec.kind).is_normalised);
}

std::string WhyNot(const Graph& graph, const HeadSpec& spec) {
  return EntryOf(spec.kind).why_not(Outputs(graph, spec));
}

void AppendHead(Graph& graph, const HeadSpec& spec) {
  if (graph.head.kind != Kind::kAuto) return;
  HeadSpec own = spec;
  if (own.kind == Kind::kAuto) own.kind = Recognise(graph, own.class_count).kind;
  const HeadEntry& entry = EntryOf(own.kind);
  // Operators move as others are added, so the outputs are judged as they were.
  const Graph before = graph;
  const Outputs outputs(before, own);
  if (const std::string why = entry.why_not(outputs); !why.empty()) {
    const std::vector<HeadKind> fitting = KindsThatFit(before, own);
    HeadSpec unnamed = own;
    unnamed.class_count = 0;
    const bool lacks_names = WhyNot(before, unnamed).empty();
    const bool is_by_task = spec.kind == Kind::kAuto;
    const bool is_other = !fitting.empty() && !(is_by_task && lacks_names);
    const std::string task =
        is_by_task ? fmt::format("its file names the task \"{}\", but ", graph.notes.task) : "";
    throw InputError(fmt::format(
        "model '{}': {}decoder.kind \"{}\" does not fit: {}{}{}", graph.name, task,
        NameOf(own.kind), why,
        lacks_names ? "; give decoder.class_names one name for each class" : "",
        is_other ? "; set decoder.kind: by their shapes these outputs could be " + NamesOf(fitting)
        : !lacks_names ? "; no kind but \"raw\" fits these outputs"
                       : ""));
  }
  graph.head.kind = own.kind;
  graph.head.is_normalised = IsNormalised(own);
  entry.append(graph, outputs);
}

}  // namespace cacheinf
