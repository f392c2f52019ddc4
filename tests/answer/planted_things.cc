#include "tests/answer/planted_things.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

namespace cacheinf {
namespace {

// Whether a cell of any grid sees the thing: its centre lies well within.
bool Sees(const GridCell& cell, const PlantedThing& thing) {
  const double x = (cell.column + 0.5) * cell.stride;
  const double y = (cell.row + 0.5) * cell.stride;
  return std::abs(x - thing.x) < thing.width / 4 && std::abs(y - thing.y) < thing.height / 4;
}

bool IsIn(const GridCell& cell, const PlantedThing& thing) {
  return cell.stride == kBoxStride && cell.row == static_cast<int>(thing.y) / kBoxStride &&
         cell.column == static_cast<int>(thing.x) / kBoxStride;
}

}  // namespace

double DrawReal(HeadRandom& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}
int DrawInt(HeadRandom& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}
double DrawNormal(HeadRandom& random, double mean, double spread) {
  return std::normal_distribution<double>(mean, spread)(random);
}

std::vector<std::vector<float>> PlantedHead::Rows() const {
  const auto count = static_cast<size_t>(row_count());
  const auto numbers = static_cast<size_t>(row_numbers);
  std::vector<std::vector<float>> rows(count, std::vector<float>(numbers));
  for (size_t row = 0; row < count; ++row) {
    for (size_t k = 0; k < numbers; ++k) {
      rows[row][k] = outputs[0].numbers[is_transposed ? k * count + row : row * numbers + k];
    }
  }
  return rows;
}

void PlantedHead::SetRows(const std::vector<std::vector<float>>& rows) {
  const size_t count = rows.size();
  const size_t numbers = rows.front().size();
  row_numbers = static_cast<int>(numbers);
  outputs[0].numbers.resize(count * numbers);
  for (size_t row = 0; row < count; ++row) {
    for (size_t k = 0; k < numbers; ++k) {
      outputs[0].numbers[is_transposed ? k * count + row : row * numbers + k] = rows[row][k];
    }
  }
  const auto boxes = static_cast<int64_t>(count);
  outputs[0].shape = is_transposed ? Shape{1, row_numbers, boxes} : Shape{1, boxes, row_numbers};
}

std::vector<PlantedForm> PlantedForms() {
  std::vector<PlantedForm> forms(PlantedBoxForms().begin(), PlantedBoxForms().end());
  forms.insert(forms.end(), PlantedMapForms().begin(), PlantedMapForms().end());
  return forms;
}

double LogitOf(double share) { return std::log(share / (1 - share)); }

std::vector<GridCell> CellsOf(const PlantedHead& head) {
  std::vector<GridCell> cells;
  for (const int stride : kGridStrides) {
    for (int row = 0; row < head.height / stride; ++row) {
      for (int column = 0; column < head.width / stride; ++column) {
        cells.push_back({stride, row, column});
      }
    }
  }
  return cells;
}

const PlantedThing* ThingIn(const GridCell& cell, const std::vector<PlantedThing>& things) {
  const auto found = std::find_if(things.begin(), things.end(),
                                  [&](const PlantedThing& thing) { return IsIn(cell, thing); });
  return found == things.end() ? nullptr : &*found;
}

FoundThing FoundBy(HeadRandom& random, const GridCell& cell,
                   const std::vector<PlantedThing>& things) {
  if (const PlantedThing* const thing = ThingIn(cell, things)) return {thing, 1};
  for (const PlantedThing& thing : things) {
    if (Sees(cell, thing)) return {&thing, DrawReal(random, 0.6, 0.95)};
  }
  return {};
}

PlantedHead BeginHead(HeadRandom& random, HeadKind kind) {
  constexpr std::array<std::array<int, 2>, 4> kSizes = {
      {{160, 160}, {128, 192}, {192, 128}, {160, 224}}};
  PlantedHead head;
  head.kind = kind;
  const auto& size = kSizes[static_cast<size_t>(DrawInt(random, 0, 3))];
  head.height = size[0];
  head.width = size[1];
  head.classes = DrawInt(random, 3, 9);
  head.config.kind = kind;
  const int named = DrawInt(random, 0, 3);
  for (int i = 0; i < head.classes && named > 0; ++i) {
    (named == 1 ? head.config.class_names : head.notes.class_names)
        .push_back("class_" + std::to_string(i));
  }
  return head;
}

std::vector<PlantedThing> ThingsFor(HeadRandom& random, const PlantedHead& head, int count) {
  std::vector<PlantedThing> things;
  for (int attempt = 0; attempt < 200 && static_cast<int>(things.size()) < count; ++attempt) {
    PlantedThing thing;
    thing.width = DrawReal(random, 20, 70);
    thing.height = DrawReal(random, 20, 70);
    thing.x = DrawReal(random, thing.width / 2 + 1, head.width - thing.width / 2 - 1);
    thing.y = DrawReal(random, thing.height / 2 + 1, head.height - thing.height / 2 - 1);
    thing.label = DrawInt(random, 0, head.classes - 1);
    thing.score = static_cast<float>(0.9 - 0.1 * static_cast<double>(things.size()) -
                                     DrawReal(random, 0, 0.05));
    const bool is_apart =
        std::none_of(things.begin(), things.end(), [&](const PlantedThing& other) {
          return std::abs(thing.x - other.x) < (thing.width + other.width) / 2 &&
                 std::abs(thing.y - other.y) < (thing.height + other.height) / 2;
        });
    if (is_apart) things.push_back(thing);
  }
  return things;
}

Detection BoxOfThing(const PlantedThing& thing) {
  Detection box;
  box.label = {thing.label, thing.score};
  box.left = thing.x - thing.width / 2;
  box.top = thing.y - thing.height / 2;
  box.right = thing.x + thing.width / 2;
  box.bottom = thing.y + thing.height / 2;
  return box;
}

Detections BoxesOfThings(const std::vector<PlantedThing>& things) {
  Detections truth;
  for (const PlantedThing& thing : things) truth.boxes.push_back(BoxOfThing(thing));
  return truth;
}

std::vector<PlantedThing> PlaceThings(HeadRandom& random, int count, PlantedHead* head) {
  std::vector<PlantedThing> things = ThingsFor(random, *head, count);
  head->truth = BoxesOfThings(things);
  return things;
}

Graph GraphOf(const PlantedHead& head) {
  Graph graph;
  graph.name = "network";
  graph.notes = head.notes;
  graph.AddInput("image", {1, 3, head.height, head.width});
  for (const PlantedOutput& output : head.outputs) {
    const ValueId input = graph.AddInput(output.name + ".given", output.shape);
    Attributes last = op::Activation{};
    std::vector<ValueId> inputs = {input};
    if (graph.outputs.empty()) {
      switch (head.tail) {
        case PlantedHead::Tail::kNone:
          break;
        case PlantedHead::Tail::kArgMax:
          last = op::ArgMax{1, true};
          break;
        case PlantedHead::Tail::kSoftmax:
          last = op::Softmax{1, false};
          break;
        case PlantedHead::Tail::kAdd:
          last = op::Binary{BinaryKind::kAdd, {}};
          inputs.push_back(graph.AddConstant("zero", Tensor({1}, std::vector<float>{0.0f})));
          break;
      }
    }
    graph.outputs.push_back(graph.Add(output.name, last, inputs, {output.name}).front());
  }
  return graph;
}

}  // namespace cacheinf
