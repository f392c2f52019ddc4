#include "common/config/model_config.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "common/base/error.h"
#include "common/base/file.h"

namespace cacheinf {
namespace {

constexpr double kSmallestDivisor = 1e-6;
constexpr size_t kLargestRank = 6;
constexpr int kLargestSide = 1 << 15;

[[noreturn]] void Fail(std::string_view name, std::string_view what) {
  throw InputError(fmt::format("{}: {}", name, what));
}

void CheckPreprocess(const PreprocessConfig& preprocess, std::string_view name) {
  const size_t channels = preprocess.channels == PictureSpec::Channels::kGray ? 1 : 3;
  const auto check_count = [&](std::string_view key, const std::vector<double>& list) {
    if (list.size() <= 1 || list.size() == channels) return;
    Fail(name, fmt::format("preprocess.{} must have one entry or one for each of the {} channels, "
                           "got {}",
                           key, channels, list.size()));
  };
  check_count("mean", preprocess.mean);
  check_count("divisor", preprocess.divisor);
  if (preprocess.resize_to != 0 && preprocess.fit != PictureSpec::Fit::kCrop) {
    Fail(name, "preprocess.resize_to is for preprocess.fit \"crop\" only");
  }
  for (const double divisor : preprocess.divisor) {
    if (std::abs(divisor) < kSmallestDivisor) {
      Fail(name, fmt::format("preprocess.divisor must not be zero, got {}", divisor));
    }
  }
}

void CheckDecoder(const DecoderConfig& decoder, std::string_view name) {
  if (decoder.strides.empty() != decoder.anchors.empty()) {
    Fail(name, "decoder.strides and decoder.anchors must be given both or not at all");
  }
  if (decoder.strides.empty()) return;
  if (decoder.kind != HeadKind::kBoxes && decoder.kind != HeadKind::kYolov3 &&
      decoder.kind != HeadKind::kYolov4 && decoder.kind != HeadKind::kYolov7) {
    Fail(name,
         "decoder.strides and decoder.anchors are for decoder.kind \"boxes\", \"yolov3\", "
         "\"yolov4\" or \"yolov7\"");
  }
  if (decoder.anchors.size() % (2 * decoder.strides.size()) != 0) {
    Fail(name,
         fmt::format("decoder.anchors must have a width and a height for each anchor, as many "
                     "for each of the {} strides, got {} numbers",
                     decoder.strides.size(), decoder.anchors.size()));
  }
}

}  // namespace

FieldTable PreprocessConfig::Fields() {
  return {
      Field{"fit", MakeChoice(fit),
            "How to fit a frame of another shape: stretch it, add borders on both sides or, with "
            "letterbox-corner, on the right and the bottom, as YOLOX does, or cut its sides. auto, "
            "here and in resize and channels: what the model's file shows, or what is usual for "
            "its decoder.kind; a run says what.",
            "Set it if the model was trained with another."},
      Field{"border", &border, "Grey value of a letterbox's borders.",
            "Set it to what the model was trained with."}
          .Between(0, 255),
      Field{"resize", MakeChoice(resize),
            "How pixels become fewer or more: bilinear as OpenCV and Ultralytics do, area as "
            "OpenCV's INTER_AREA, antialias as Pillow and TorchVision do, average: the mean of "
            "cells, then bilinear.",
            "Set it if the model was trained with another."},
      Field{"resize_to", &resize_to,
            "Crop: the frame's shorter side is resized to this many pixels before the middle is "
            "cut out; 0: no margin is left.",
            "Set it to 256 for a model of 224 that was evaluated as TorchVision does."}
          .Between(0, kLargestSide),
      Field{"channels", MakeChoice(channels), "Order of the channels that the model expects.",
            "Set it if the model was trained with another."},
      Field{"mean", &mean,
            "Subtracted from a pixel's value (0 to 255); one number, one per channel, or none for "
            "what is usual.",
            "Set it to what the model was trained with."}
          .Between(-1e6, 1e6),
      Field{"divisor", &divisor,
            "What the difference is divided by; one number, one per channel, or none for what is "
            "usual.",
            "Set it to what the model was trained with."}
          .Between(-1e6, 1e6),
  };
}

FieldTable DecoderConfig::Fields() {
  return {
      Field{"kind", MakeChoice(kind),
            "What the model's outputs mean; auto: what the file, its names and shapes show. boxes: "
            "YOLOv5, v6 and v7; yolov8: also 9, 11 and 12; end-to-end: boxes that the network has "
            "picked itself, as YOLOv10 does; keypoints: a heat map for each; points: picked by the "
            "network. docs/models.md has the shapes.",
            "Set it if auto gives raw numbers, or not what the model means."},
      Field{"class_names", TextsOrFile{&class_names, &class_names_file},
            "Names of the classes or keypoints, in order, or a text file with one per line. A "
            "path starts at the configuration's folder. Without names those of the model's file "
            "count.",
            "Set it to get names in answers instead of numbers."}
          .Flag("--class-names"),
      Field{"most", &most,
            "The most classes, boxes or points in an answer; 0: 5 classes, 100 boxes, 500 points.",
            "Lower it if only the best guess matters, raise it for crowds."}
          .Between(0, 10000),
      Field{"softmax", &softmax,
            "Classification: whether the model's scores still need a softmax, so that they add up "
            "to 1.",
            "Set it to false for a model that ends in a softmax."},
      Field{"enlarge", &enlarge,
            "Segmentation: whether to enlarge class scores to the size of the model's picture.",
            "Set it to true if a map is coarser than you need."},
      Field{"coordinates", MakeChoice(coordinates),
            "Boxes: whether the outputs hold pixels of the model's picture or shares of its size.",
            "Set it if cacheinf-profile check says that boxes have the wrong size."},
      Field{"strides", &strides, "Boxes from raw heads: stride of each output, in input pixels.",
            "Set it for a detector whose file ends in raw heads, as YOLO's exports do."}
          .Between(1, 4096)
          .AtMostItems(16),
      Field{"anchors", &anchors,
            "Boxes from raw heads: widths and heights of the anchors in input pixels, output by "
            "output.",
            "Set it together with strides, to what the detector was trained with."}
          .Between(0, 1e5)
          .AtMostItems(1024),
      Field{"score_threshold", &score_threshold, "Boxes: the least score of an answer's box.",
            "Raise it for fewer false boxes, lower it for fewer missed ones."}
          .Between(0, 1),
      Field{"overlap_threshold", &overlap_threshold,
            "Boxes: if two boxes of a class overlap more than this (intersection over union), only "
            "the better one stays.",
            "Raise it if things stand close together and boxes go missing."}
          .Between(0, 1),
  };
}

std::vector<std::string> DecoderConfig::ReadClassNames() const {
  constexpr uint64_t kLargestNamesFile = 1 << 20;
  if (class_names_file.empty()) return class_names;
  std::istringstream lines([&] {
    try {
      return ReadFile(class_names_file, kLargestNamesFile);
    } catch (const InputError& error) {
      throw InputError("decoder.class_names: ", error.what());
    }
  }());
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (std::ranges::any_of(
            line, [](unsigned char c) { return (c < ' ' && c != '\t') || c == '\x7f'; })) {
      throw InputError("decoder.class_names: ", class_names_file, ", line ", names.size() + 1,
                       ": is not a name; the file must be text");
    }
    names.push_back(line);
  }
  while (!names.empty() && names.back().empty()) names.pop_back();
  return names;
}

void ModelConfig::Check(std::string_view name) const {
  CheckPreprocess(preprocess, name);
  CheckDecoder(decoder, name);
}

Shape ParseShape(std::string_view text, std::string_view name) {
  Shape shape;
  std::string_view rest = text;
  while (true) {
    int64_t size = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
    const size_t read = static_cast<size_t>(end - rest.data());
    const bool is_last = read == rest.size();
    if (error != std::errc() || size < 1 || size > kMaxElements || shape.size() == kLargestRank ||
        (!is_last && rest[read] != 'x')) {
      Fail(name, fmt::format("a shape must look like 1x3x384x640, got \"{}\"", text));
    }
    shape.push_back(size);
    if (is_last) return shape;
    rest.remove_prefix(read + 1);
  }
}

}  // namespace cacheinf
