#ifndef CACHEINF_TESTS_ANSWER_PLANTED_HEADS_H_
#define CACHEINF_TESTS_ANSWER_PLANTED_HEADS_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "common/answer/answers.h"
#include "common/config/model_config.h"
#include "common/model/graph/graph.h"

// Outputs of networks in which things are planted by the inverse of the head's formula, amid what a
// trained network gives where there is nothing.

namespace cacheinf {

using HeadRandom = std::mt19937_64;

// From `low` to `high`, both included for integers.
double DrawReal(HeadRandom& random, double low, double high);
int DrawInt(HeadRandom& random, int low, int high);
double DrawNormal(HeadRandom& random, double mean, double spread);

struct PlantedOutput {
  std::string name;
  Shape shape;
  std::vector<float> numbers;
};

struct PlantedHead {
  enum class Tail { kNone, kArgMax, kSoftmax, kAdd };  // the graph's last operator

  const char* form = "";
  HeadKind kind = HeadKind::kAuto;  // what it is
  int height = 0;                   // of the network's picture
  int width = 0;
  int classes = 0;
  DecoderConfig config;
  ModelNotes notes;
  Tail tail = Tail::kNone;
  std::vector<PlantedOutput> outputs;
  AnswerContent truth;

  // The first output as rows of boxes; 0: it is something else.
  int row_numbers = 0;
  bool is_transposed = false;
  int scores_begin = 4;  // of a row: objectness, if any, and classes
  int scores_end = 0;

  bool has_rows() const { return row_numbers > 0; }
  bool has_maps() const { return kind == HeadKind::kSegmentation || kind == HeadKind::kKeypoints; }
  // Raw heads whose boxes are scaled by anchors.
  bool has_anchors() const {
    return !has_rows() && (kind == HeadKind::kBoxes || kind == HeadKind::kYolov3 ||
                           kind == HeadKind::kYolov4 || kind == HeadKind::kYolov7);
  }
  bool has_names() const { return !config.class_names.empty() || !notes.class_names.empty(); }
  int64_t row_count() const {
    return static_cast<int64_t>(outputs[0].numbers.size()) / row_numbers;
  }

  std::vector<std::vector<float>> Rows() const;
  // Sets numbers and shape of the first output; also `row_numbers`.
  void SetRows(const std::vector<std::vector<float>>& rows);
};

// Every form of the heads in the table of common/model/heads.
struct PlantedForm {
  const char* name;
  PlantedHead (*plant)(HeadRandom& random, int things);
};
std::vector<PlantedForm> PlantedForms();

// A network whose outputs are given as further inputs, and do not depend on its picture.
Graph GraphOf(const PlantedHead& head);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_ANSWER_PLANTED_HEADS_H_
