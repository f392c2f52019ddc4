#ifndef CACHEINF_COMMON_MODEL_HEADS_HEAD_OUTPUTS_H_
#define CACHEINF_COMMON_MODEL_HEADS_HEAD_OUTPUTS_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/model/heads/head_rows.h"
#include "common/model/heads/heads.h"

// What the outputs of a network look like, for code that judges or decodes them.

namespace cacheinf {

inline constexpr int kPixelNumbers = 4;           // of a box: centre and size, or corners
inline constexpr int64_t kMostOfEndToEnd = 1000;  // boxes of a network that has picked them itself

// The outputs of a graph without a decoder, and what is known about their head.
struct Outputs {
  Outputs(const Graph& graph_seen, const HeadSpec& head_spec)
      : graph(graph_seen), spec(head_spec), picture(PictureSizeOf(graph_seen)) {
    rows = BoxRowsOf(shape(0), picture);
  }

  size_t count() const { return graph.outputs.size(); }
  const Value& value(size_t i) const { return graph.value(graph.outputs[i]); }
  const Shape& shape(size_t i) const { return value(i).shape; }
  bool EndsWithSuppression() const {
    return Last() != nullptr && Last()->As<op::NonMaxSuppression>() != nullptr;
  }
  // The operator that gives an output; null if it is an input.
  const Operator* Last(size_t i = 0) const {
    const OpId producer = value(i).producer;
    return producer == kNone ? nullptr : &graph.operators[static_cast<size_t>(producer)];
  }

  const Graph& graph;
  const HeadSpec& spec;
  PictureSize picture;
  std::optional<BoxRows> rows;  // of the first output
};

// "output 'boxes' is 1x84x8400"
std::string OfOutput(const Value& output);

// One class per pixel: height × width, after any dimensions of one. A single number is not a map.
bool IsClassMap(const Value& output);
// The same as 1×h×w×1.
bool IsClassMapWithChannel(const Value& output);

// Whether a map has the picture's ratio of sides, apart from rounding.
bool HasForm(const PictureSize& picture, int64_t height, int64_t width);

// Whether an output is maps, 1×C×h×w or 1×h×w×C, of the whole picture: of its form, and no larger.
bool IsPictureMap(const Outputs& outputs, size_t i, bool has_channels_last = false);

// For a map whose pixels are cells of the picture: the cells' side in pixels. 0: it is not such a
// map.
int64_t MapStride(const Outputs& outputs, size_t i);

// One score a class, and nothing else.
bool IsScores(const Value& output);

// Whether the output's name holds one of the words.
bool Says(const Value& output, std::initializer_list<std::string_view> words);

// How many anchors a raw head has: as many as the configuration gives it, or else 3.
int64_t AnchorsOf(const Outputs& outputs, size_t head);

// The stride of a raw head; 0: it is none.
int64_t RawStride(const Outputs& outputs, size_t head);

// The numbers of each box of a raw head.
int64_t RawNumbers(const Outputs& outputs, size_t head);

// Whether the outputs are maps that are to be decoded.
bool IsRaw(const Outputs& outputs);

// YOLOv5's exporter notes names and a stride, but no task; the network has three anchors a cell.
bool IsRawYolov5(const Outputs& outputs);

// Keypoints of each box, and the numbers of each: from the model's notes, from the number of
// classes, or those that fit one class. Zeros: none fit.
std::pair<int, int> KeypointsOf(const Outputs& outputs);

// The output that holds the prototypes of masks; 0: none does.
size_t PrototypesOf(const Outputs& outputs);

// The numbers of a row that follow its class scores.
int64_t ExtrasOf(const Outputs& outputs);

// Outputs of a suppression: boxes (rank 3), scores and classes (rank 2).
struct Suppressed {
  size_t boxes;
  size_t scores;
  size_t classes;
};

std::optional<Suppressed> SuppressedOf(const Outputs& outputs);

// Points (rank 3, or 2 without a batch) and their scores, by name.
std::optional<std::pair<size_t, size_t>> PointsOf(const Outputs& outputs);

// Queries: logits 1×Q×C and boxes 1×Q×4; or both in one output.
std::optional<std::pair<size_t, size_t>> QueriesOf(const Outputs& outputs);

// The function that the graph's own last operators apply to a value, looking back through operators
// that only move, pick or bound numbers.
enum class Squashing : uint8_t { kNone, kSigmoid, kSoftmax };
Squashing SquashingOf(const Graph& graph, ValueId value);

// Whether the graph's own last operators place boxes on their grid: going back from the output
// through operators that only move numbers, one meets a constant.
bool PlacesOnGrid(const Graph& graph);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_HEADS_HEAD_OUTPUTS_H_
