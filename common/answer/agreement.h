#ifndef CACHEINF_COMMON_ANSWER_AGREEMENT_H_
#define CACHEINF_COMMON_ANSWER_AGREEMENT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "common/answer/answers.h"
#include "common/answer/outputs.h"
#include "common/answer/statistics.h"
#include "sparse_ops/views.h"

// How far the answers of a run agree with those of the same network run densely. Each measure
// covers any number of frames. The dense answer stands for the truth; nothing here says whether it
// is right.
//
// If nothing agrees with nothing, that is no evidence: each measure counts the frames that had
// anything to compare, and has no figure before the first of them.

namespace cacheinf {

bool HasPlace(const Detection& box);  // whether no side is NaN or infinite

// Intersection over union. Identical boxes overlap fully even without area; a box without a place
// overlaps none.
double Overlap(const Detection& a, const Detection& b);

// The relative error of frames: |answer - dense| ÷ |dense|, as Euclidean lengths over all numbers
// of all outputs given. Skips pairs that are the same infinity or both NaN. A frame has no finite
// error if another number is not finite, or if only the dense numbers are all zero. Zeros against
// zeros are no evidence.
class RelativeError {
 public:
  // REQUIRES: outputs of the same sizes.
  void Add(std::span<const std::vector<float>> answer, std::span<const std::vector<float>> dense);

  int64_t frames() const { return frames_; }
  int64_t frames_with_evidence() const { return frames_with_evidence_; }
  int64_t frames_without() const {  // of those, with an error that is not finite
    return frames_with_evidence_ - finite_frames_;
  }

  // Over the frames with a finite error; nothing where there is none.
  std::optional<double> mean() const;
  double largest() const { return largest_; }

 private:
  int64_t frames_ = 0;
  int64_t frames_with_evidence_ = 0;
  int64_t finite_frames_ = 0;
  double sum_ = 0;
  double largest_ = 0;
};

// Whether the dense answer's best class is the answer's best (top 1) or among its three best (top
// 3). Between equal scores the class with the lower index is better; NaN is less than any number.
// Every frame is evidence.
class ClassAgreement {
 public:
  // The scores of all classes. REQUIRES: the same number in both, at least one.
  void Add(const std::vector<float>& answer, const std::vector<float>& dense);

  int64_t frames_with_evidence() const { return frames_; }

  // Shares of the frames.
  std::optional<double> top_1() const { return Share(top_1_); }
  std::optional<double> top_3() const { return Share(top_3_); }

 private:
  std::optional<double> Share(int64_t count) const {
    if (frames_ == 0) return std::nullopt;
    return static_cast<double>(count) / static_cast<double>(frames_);
  }

  int64_t frames_ = 0;
  int64_t top_1_ = 0;
  int64_t top_3_ = 0;
};

// Classes of pixels. The pixels of all frames count together.
//
// A frame in which both maps hold a single class, the same one, is no evidence: a network that
// finds only background shows as little as a detector without boxes. Its pixels do count, but there
// is no figure before a frame in which some pixel differs from another or from the dense one.
class MapAgreement {
 public:
  // REQUIRES: maps of one size, classes that are not negative.
  void Add(const ClassMap& answer, const ClassMap& dense);

  int64_t frames_with_evidence() const { return frames_with_evidence_; }

  // Intersection over union, averaged over the classes that either had anywhere.
  std::optional<double> MeanIou() const;

  // The share of pixels with the same class.
  std::optional<double> PixelShare() const;

 private:
  int64_t frames_with_evidence_ = 0;
  SegmentationScore score_;
  int64_t pixels_ = 0;
  int64_t same_ = 0;
};

// Agreement of boxes. Only boxes that score at least .25 count, in the answer and in the dense one.
// A frame is evidence if either has one.
//
// In each frame the answer's boxes, best first, take dense boxes. Each takes the box of its class,
// not yet taken, that overlaps it most (among equal ones the box that scores higher), if the
// overlap is at least .5.
class DetectionAgreement {
 public:
  static constexpr float kLeastScore = 0.25f;
  static constexpr double kLeastOverlap = 0.5;

  // REQUIRES: both best first.
  void Add(const Detections& answer, const Detections& dense);

  int64_t frames_with_evidence() const { return frames_with_evidence_; }

  // 2 matches ÷ (boxes of the answers + dense boxes), over all frames and classes. (Average
  // precision is left out: it weighs a class of three boxes like one of a thousand, and has said
  // .66 where F1 is .96.)
  std::optional<double> F1() const;

  int64_t answer_boxes() const { return answer_boxes_; }
  int64_t dense_boxes() const { return dense_boxes_; }
  int64_t matches() const { return matches_; }

 private:
  int64_t frames_with_evidence_ = 0;
  int64_t answer_boxes_ = 0;
  int64_t dense_boxes_ = 0;
  int64_t matches_ = 0;
};

// The share of keypoints, over all frames, that lie no further from the dense answer's than .05 of
// the larger side of what the heat maps show (Keypoints::extent of the dense answer). Scores do not
// matter. A keypoint that has a place in neither answer is left out; a frame with any other is
// evidence. Points without order are paired within .005 of that side, each once, and counted
// against the longer list.
class KeypointAgreement {
 public:
  static constexpr double kReach = 0.05;
  static constexpr double kReachOfFound = 0.005;

  // REQUIRES: as many in both, if they have an order.
  void Add(const Keypoints& answer, const Keypoints& dense);

  int64_t frames_with_evidence() const { return frames_with_evidence_; }

  std::optional<double> Pck() const;

 private:
  int64_t frames_with_evidence_ = 0;
  int64_t points_ = 0;
  int64_t near_ = 0;
};

// How far answers agree with dense ones, as one number (1: the same), by the best measure for their
// kind: F1 of boxes, mIoU of maps, PCK of keypoints, top-1 of classes; else 1 minus the mean
// relative error, at least 0.
struct AgreementMeasure {
  std::string name;
  std::optional<double> value;  // nothing where no frame had anything to compare
  // How much it counts beside other frames' values: the number of frames that had anything to
  // compare. Where there are few boxes, one that flickers decides, so a frame counts as n / (n +
  // 4), for n boxes in both answers.
  double weight = 0;
};

// Every measure that suits the answers' kind.
class Agreement {
 public:
  // Adds an answer and a dense answer, each with the numbers that it was read from. `lie_alike`:
  // both show the same place, number by number; without it no relative error is added. REQUIRES:
  // both of the same model, and of one kind in all frames. Numbers are needed (else give empty
  // ones) if the kind is raw, an embedding or a classification, or a relative error is to be added.
  void Add(const AnswerContent& answer, const OutputNumbers& numbers, const AnswerContent& dense,
           const OutputNumbers& dense_numbers, bool lie_alike = true);

  int64_t frames() const { return frames_; }

  // By the measure of the answers' kind, else by the relative error.
  int64_t frames_with_evidence() const;

  AgreementMeasure measure() const;

  // The relative error of all outputs except one that an answer reads as a map of classes or a
  // table of boxes, since differences of those numbers mean nothing. (With decoder.kind "raw" it
  // covers what these were made of.) Null where no output is left.
  const RelativeError* relative_error() const;

  // Each null unless the answers are of that kind.
  const ClassAgreement* classes() const { return std::get_if<ClassAgreement>(&of_kind_); }
  const MapAgreement* map() const { return std::get_if<MapAgreement>(&of_kind_); }
  const DetectionAgreement* detections() const {
    return std::get_if<DetectionAgreement>(&of_kind_);
  }
  const KeypointAgreement* keypoints() const { return std::get_if<KeypointAgreement>(&of_kind_); }

 private:
  // The measure of the answers' kind, new at the first frame.
  template <typename T>
  T& OfKind() {
    if (!std::holds_alternative<T>(of_kind_)) of_kind_.emplace<T>();
    return std::get<T>(of_kind_);
  }

  int64_t frames_ = 0;
  RelativeError relative_error_;
  std::variant<std::monostate, ClassAgreement, MapAgreement, DetectionAgreement, KeypointAgreement>
      of_kind_;
};

// How far a sample of the answers agrees with a dense run, from 0 to 1, and how much it counts
// beside others. Only for samples that had anything to compare.
struct AgreementSample {
  double agreement = 1;
  double weight = 1;
};

// Whether either map tells classes apart in these rows, or they differ.
bool HaveEvidence(const ClassMap& answer, const ClassMap& exact, const Range& rows);

// How far these rows of a map of classes agree with the exact ones: the intersection over union,
// averaged over the exact rows' most frequent class and all others that cover at least a hundredth
// of the rows in either map. Each class gets a five-hundredth of the rows' pixels added as
// agreeing, so that the border of a small class says little. The weight is the number of pixels
// that do not have the most frequent class in both maps, plus the same addition. REQUIRES: maps of
// one size, at least one row, classes that are not negative.
AgreementSample CompareRows(const ClassMap& answer, const ClassMap& exact, const Range& rows);

// How far one frame's answer agrees with a dense one, for choices by single frames: as Agreement
// measures it or, for maps of classes, by CompareRows, because in one frame a class of a few pixels
// would count as much as the largest.
AgreementMeasure MeasureOfFrame(const AnswerContent& answer, const OutputNumbers& numbers,
                                const AnswerContent& dense, const OutputNumbers& dense_numbers,
                                bool lie_alike = true);

// As MeasureOfFrame, how far an answer agrees with a newer one of its kind, without the numbers
// that they were read from; for classes, whether the best one is the same. No value for raw outputs
// and embeddings, which are only numbers.
AgreementMeasure MeasureOfContent(const AnswerContent& answer, const AnswerContent& newer);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_ANSWER_AGREEMENT_H_
