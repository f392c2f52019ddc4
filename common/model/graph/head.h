#ifndef CACHEINF_COMMON_MODEL_GRAPH_HEAD_H_
#define CACHEINF_COMMON_MODEL_GRAPH_HEAD_H_

#include <cstdint>

#include "common/base/words.h"

namespace cacheinf {

// The forms in which networks give answers. common/model/heads has a table that describes each.
enum class HeadKind : uint8_t {
  kAuto,  // not known yet
  kRaw,
  kClassification,
  kSegmentation,
  kBoxes,
  kKeypoints,
  kEmbedding,
  kYolov3,
  kYolov8,
  kYolov8Pose,
  kYolov8Segment,
  kYolov8Obb,
  kYolox,
  kEndToEnd,
  kEndToEndBatch,
  kNmsOutputs,
  kTfDetection,
  kDetr,
  kRtDetr,
  kYolov4,
  kYolov7,
  kYolov8Raw,
  kNanodet,
  kCenternet,
  kCenterface,
  kSuperpoint,
  kXfeat,
  kPoints,
};
inline constexpr int kHeadKinds = static_cast<int>(HeadKind::kPoints) + 1;

constexpr Words<kHeadKinds> WordsOf(HeadKind) {
  return {"auto",           "raw",          "classification", "segmentation", "boxes",
          "keypoints",      "embedding",    "yolov3",         "yolov8",       "yolov8-pose",
          "yolov8-segment", "yolov8-obb",   "yolox",          "end-to-end",   "end-to-end-batch",
          "nms-outputs",    "tf-detection", "detr",           "rt-detr",      "yolov4",
          "yolov7",         "yolov8-raw",   "nanodet",        "centernet",    "centerface",
          "superpoint",     "xfeat",        "points"};
}

// What a graph's outputs hold once its decoder is part of it.
struct Head {
  HeadKind kind = HeadKind::kAuto;
  int classes = 0;  // 0: the outputs do not say
  // For each box:
  int keypoints = 0;
  int keypoint_numbers = 0;   // 2: x, y; 3: also a score
  int mask_coefficients = 0;  // of the prototypes in the second output
  bool has_angle = false;
  // Box corners and centres are shares of the picture's width and height.
  bool is_normalised = false;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_GRAPH_HEAD_H_
