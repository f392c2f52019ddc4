#ifndef CACHEINF_COMMON_ANSWER_ANSWERS_H_
#define CACHEINF_COMMON_ANSWER_ANSWERS_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/answer/outputs.h"
#include "common/config/model_config.h"
#include "common/model/graph/graph.h"

// What the model's outputs say about a frame.

namespace cacheinf {

struct SeenPicture;

struct ScoredClass {
  int index = 0;
  float score = 0;
};

struct Classification {
  std::vector<ScoredClass> best;  // best first
};

// Returns at most `most` classes, best first: by score, then by lower index. NaN is less than any
// number.
std::vector<ScoredClass> BestClasses(std::span<const float> scores, int most);

struct Keypoint {
  double x = 0;  // in the frame's pixels from its edge; in the model's where the frame is a tensor
  double y = 0;
  float score = 0;
};

// Which of the frame's pixels belong to a thing: alternating lengths of runs outside and inside,
// column by column, as COCO writes them.
struct PixelRuns {
  int width = 0;
  int height = 0;
  std::vector<int64_t> lengths;
};

struct Detection {
  ScoredClass label;
  double left = 0;  // in the frame's pixels; in the model's where the frame is a tensor
  double top = 0;
  double right = 0;
  double bottom = 0;
  std::vector<Keypoint> keypoints = {};  // if the network finds them for each box
  // The four corners of a turned box, also beyond the frame; the sides above enclose the part
  // within.
  std::vector<Keypoint> corners = {};
  PixelRuns mask = {};  // no lengths: the network gives none
  int64_t id = 0;       // the thing's, from 1, as long as it is seen (moved_answer.h); 0: none yet
};

struct Detections {
  std::vector<Detection> boxes;  // best first
};

// The class of every pixel of the model's output.
struct ClassMap {
  int width = 0;
  int height = 0;
  std::vector<int32_t> classes;

  // The class at a pixel of the model's picture, which has the given size.
  int At(int model_x, int model_y, int model_width, int model_height) const {
    const int x = static_cast<int>(int64_t{model_x} * width / model_width);
    const int y = static_cast<int>(int64_t{model_y} * height / model_height);
    return classes[static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)];
  }
};

// The classes that a map has, in order, each with its number of pixels.
std::vector<std::pair<int, int64_t>> PixelsOfClasses(const ClassMap& map);

// The place of each heat map's largest value. A map of NaNs has no place: its position and score
// are NaN.
struct Keypoints {
  std::vector<Keypoint> points;  // in the order of the channels; or any number, best first
  double extent = 0;             // the larger side of what the maps show, in the positions' pixels
  bool has_order = true;         // false: points that the network found, which have no names
};

// A list of numbers that means something only beside another list.
struct Embedding {
  std::vector<float> numbers;
};

// Outputs without a decoder.
struct RawOutputs {
  struct Output {
    std::string name;
    Shape shape;
    float minimum = 0;
    float maximum = 0;
    double mean = 0;
  };
  std::vector<Output> outputs;
};

using AnswerContent =
    std::variant<RawOutputs, Classification, ClassMap, Detections, Keypoints, Embedding>;

// Returns the kind of the graph's head. Without a head it is the configured kind or, with "auto",
// the kind that the outputs show; never kAuto. Throws InputError if the outputs are not what the
// configuration says.
DecoderConfig::Kind KindOfAnswers(const Graph& graph, DecoderConfig::Kind configured);

// Reads answers from a graph's outputs.
class AnswerReader {
 public:
  using Kind = DecoderConfig::Kind;

  // Throws InputError if the outputs are not what the configuration says, or the file of class
  // names cannot be read.
  AnswerReader(const Graph& graph, const DecoderConfig& config);

  // `seen` says where the network's picture lies in the frame.
  AnswerContent Read(const FrameOutputs& outputs, const SeenPicture& seen);

  Kind kind() const { return kind_; }  // not kAuto

  // How many classes the outputs tell apart, if the graph says so; else 0.
  int class_count() const { return head_.classes; }

  // How what was read so far contradicts the decoder: classes have no names; boxes score more than
  // 1, lie far beyond the picture, end before they begin; several have their centres where the
  // network saw no frame, or most of their keypoints elsewhere; or as many boxes as allowed score
  // nearly 1, frame after frame. Empty: no contradiction.
  const std::string& contradiction() const { return contradiction_; }

  // What is odd, though possible, about the places of all boxes or points read so far. Empty:
  // nothing.
  std::string Doubt() const;

  // Names of classes or keypoints; empty: they have none.
  const std::vector<std::string>& class_names() const { return class_names_; }
  // The name of a class or keypoint, or its number where it has none.
  std::string ClassName(int index) const;

 private:
  RawOutputs ReadRaw(const FrameOutputs& outputs);
  Classification ReadClassification(const FrameOutputs& outputs);
  ClassMap ReadClassMap(const FrameOutputs& outputs, const SeenPicture& seen);
  Detections ReadDetections(const FrameOutputs& outputs, const SeenPicture& seen);
  // The rows of boxes: left, top, right, bottom in the model's pixels, score, class, extra numbers.
  struct Rows;
  Rows ReadRows(const FrameOutputs& outputs);
  Detection ReadBox(const float* row, const SeenPicture& seen) const;
  Keypoints ReadKeypoints(const FrameOutputs& outputs, const SeenPicture& seen);
  Keypoints ReadPoints(const FrameOutputs& outputs, const SeenPicture& seen);
  std::string ContradictionOf(const float* row) const;
  void AddPlace(const float* corners, const SeenPicture& seen);  // a box, or a point twice
  void AddKeypoints(const float* row);
  void CountSaturated(const Detections& detections, size_t rows);

  // The numbers of an output in the order of its dimensions; valid until the next call.
  const std::vector<float>& Values(const FrameOutputs& outputs, size_t output);

  Kind kind_;
  Head head_;
  int top_;
  int most_boxes_;
  int most_points_;
  float score_threshold_;
  float overlap_threshold_;
  std::vector<std::string> class_names_;
  std::vector<float> values_;
  float model_width_ = 0;
  float model_height_ = 0;
  std::string contradiction_;
  int saturated_frames_ = 0;  // the last ones
  // Counts boxes that are rather sure, or points, until the picture moves.
  struct {
    bool is_over = false;
    int64_t count = 0;
    int64_t beside_frame = 0;  // their centres
    float right = 0;           // the furthest, a share of the picture's width
    float bottom = 0;
  } places_;
  // Counts boxes that are rather sure and have visible keypoints.
  struct {
    int64_t boxes = 0;
    int64_t contrary = 0;
  } with_keypoints_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_ANSWER_ANSWERS_H_
