#ifndef CACHEINF_TESTS_ANSWER_PLANTED_THINGS_H_
#define CACHEINF_TESTS_ANSWER_PLANTED_THINGS_H_

#include <array>
#include <span>
#include <vector>

#include "common/answer/answers.h"
#include "tests/answer/planted_heads.h"

// What all planted heads share.

namespace cacheinf {

inline constexpr std::array<int, 3> kGridStrides = {8, 16, 32};
inline constexpr int kBoxStride = 16;  // of the grid that finds the things

struct PlantedThing {
  double x, y, width, height;
  int label;
  float score;
};

double LogitOf(double share);

struct GridCell {
  int stride, row, column;
};

// All cells of the three grids, in order.
std::vector<GridCell> CellsOf(const PlantedHead& head);

// The thing whose centre lies in the cell, if the cell is of kBoxStride; null if there is none.
const PlantedThing* ThingIn(const GridCell& cell, const std::vector<PlantedThing>& things);

// What a cell has found: a thing, and how sure it is, as a share of the thing's score. Several
// cells find the same thing.
struct FoundThing {
  const PlantedThing* thing = nullptr;
  double share = 1;
};
FoundThing FoundBy(HeadRandom& random, const GridCell& cell,
                   const std::vector<PlantedThing>& things);

// A picture, classes, most often with names, and no outputs yet.
PlantedHead BeginHead(HeadRandom& random, HeadKind kind);

// Things apart from each other, best first.
std::vector<PlantedThing> ThingsFor(HeadRandom& random, const PlantedHead& head, int count);

Detection BoxOfThing(const PlantedThing& thing);
Detections BoxesOfThings(const std::vector<PlantedThing>& things);

// Draws things whose boxes are the head's truth.
std::vector<PlantedThing> PlaceThings(HeadRandom& random, int count, PlantedHead* head);

std::span<const PlantedForm> PlantedBoxForms();
std::span<const PlantedForm> PlantedMapForms();

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_ANSWER_PLANTED_THINGS_H_
