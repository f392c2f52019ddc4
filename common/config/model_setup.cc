#include "common/config/model_setup.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "common/model/graph/decode.h"

namespace cacheinf {
namespace {

using Fit = PictureSpec::Fit;
using Resize = PictureSpec::Resize;
using Channels = PictureSpec::Channels;

// How frames become pictures when a network of some kind is trained.
struct Training {
  Fit fit = Fit::kStretch;
  Resize resize = Resize::kBilinear;
  Channels channels = Channels::kRgb;
  std::vector<double> mean = {0.0};
  std::vector<double> divisor = {255.0};
};

// The mean of ImageNet's pixels, and their spread.
const std::vector<double> kImageNetMean = {123.675, 116.28, 103.53};
const std::vector<double> kImageNetSpread = {58.395, 57.12, 57.375};

// Nothing if no way of training is usual for networks of this kind.
std::optional<Training> TrainingOf(HeadKind kind) {
  using Kind = HeadKind;
  switch (kind) {
    case Kind::kBoxes:
    case Kind::kYolov7:
    case Kind::kYolov8:
    case Kind::kYolov8Raw:
    case Kind::kYolov8Pose:
    case Kind::kYolov8Segment:
    case Kind::kYolov8Obb:
    case Kind::kEndToEnd:
    case Kind::kEndToEndBatch:
      return Training{Fit::kLetterbox};
    case Kind::kYolox:
      return Training{Fit::kCorner, Resize::kBilinear, Channels::kBgr, {0.0}, {1.0}};
    case Kind::kNanodet:
      return Training{Fit::kStretch,
                      Resize::kBilinear,
                      Channels::kBgr,
                      {103.53, 116.28, 123.675},
                      {57.375, 57.12, 58.395}};
    case Kind::kTfDetection:  // scales levels itself
    case Kind::kCenterface:
      return Training{Fit::kStretch, Resize::kBilinear, Channels::kRgb, {0.0}, {1.0}};
    case Kind::kDetr:
      return Training{Fit::kStretch, Resize::kAntialias, Channels::kRgb, kImageNetMean,
                      kImageNetSpread};
    case Kind::kRtDetr:
      return Training{};
    default:
      return std::nullopt;
  }
}

// What Ultralytics' exporters mean by a task.
std::optional<Training> TrainingOf(const std::string& task) {
  if (task == "classify") return Training{Fit::kCrop, Resize::kAntialias};
  const bool has_boxes = task == "detect" || task == "pose" || task == "segment" || task == "obb";
  return has_boxes ? std::optional(Training{Fit::kLetterbox}) : std::nullopt;
}

HeadKind KindOf(const Graph& graph, const DecoderConfig& decoder) {
  if (graph.head.kind != HeadKind::kAuto) return graph.head.kind;
  if (decoder.kind != HeadKind::kAuto) return decoder.kind;
  return Recognise(graph, HeadSpecOf(decoder, graph.notes).class_count).kind;
}

bool IsGrey(const Graph& graph) {
  if (graph.inputs.empty() || !graph.value(graph.inputs.front()).is_map()) return false;
  const Shape& shape = graph.value(graph.inputs.front()).shape;
  return shape[1] == 1 || (shape[3] == 1 && shape[1] != 3);
}

// Puts the usual value where the configuration is silent, and notes the key.
template <typename Value, typename Usual>
void Settle(const char* key, const Usual& usual, Value& value, std::vector<std::string>& keys) {
  if (!(value == Value{})) return;
  value = usual;
  keys.emplace_back(key);
}

std::string DescribePicture(const PictureSpec& picture) {
  std::string fit = "stretched";
  if (picture.fit == Fit::kLetterbox) fit = "letterboxed";
  if (picture.fit == Fit::kCorner) fit = "letterboxed in the corner";
  if (picture.fit == Fit::kCrop) fit = "cropped";
  if (picture.resize_to != 0) fit = fmt::format("resized to {} and cropped", picture.resize_to);
  std::string like;
  if (picture.resize == Resize::kBilinear) like = ", as OpenCV and Ultralytics do";
  if (picture.resize == Resize::kArea) like = ", as OpenCV's INTER_AREA does";
  if (picture.resize == Resize::kAntialias) like = ", as Pillow and TorchVision do";
  return fmt::format("frames are {} to {}×{} pixels by preprocess.resize \"{}\"{}", fit,
                     picture.width, picture.height, NameOf(picture.resize), like);
}

}  // namespace

HeadSpec HeadSpecOf(const DecoderConfig& config, const ModelNotes& notes) {
  HeadSpec head;
  head.kind = config.kind;
  const size_t names = config.ReadClassNames().size();
  head.class_count = static_cast<int>(names > 0 ? names : notes.class_names.size());
  head.softmax = config.softmax;
  head.enlarge = config.enlarge;
  if (config.coordinates != DecoderConfig::Coordinates::kUsual) {
    head.is_normalised = config.coordinates == DecoderConfig::Coordinates::kShares;
  }
  const size_t scales = config.strides.size();
  const size_t numbers = scales == 0 ? 0 : config.anchors.size() / scales;  // of each scale
  for (size_t i = 0; i < scales; ++i) {
    const auto begin = config.anchors.begin() + static_cast<std::ptrdiff_t>(i * numbers);
    head.scales.push_back(
        {config.strides[i],
         std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(numbers))});
  }
  head.suppression.score_threshold = static_cast<float>(config.score_threshold);
  head.suppression.overlap_threshold = static_cast<float>(config.overlap_threshold);
  head.suppression.max_boxes = config.most_boxes();
  return head;
}

PreprocessChoice ChoosePreprocess(const Graph& graph, const ModelConfig& config) {
  PreprocessChoice choice = {config.preprocess, ""};
  const HeadKind kind = KindOf(graph, config.decoder);
  const std::string& task = graph.notes.task;
  std::optional<Training> training = TrainingOf(kind);
  std::string reason = fmt::format("usual for networks of decoder.kind {}", NameOf(kind));
  if (const auto of_task = TrainingOf(task); of_task && !training) {
    training = of_task;
    reason = fmt::format("usual for the task \"{}\", which the model's file names", task);
  } else if (!training) {
    reason = "a guess, because nothing says how the network was trained";
  }
  Training usual = training.value_or(Training{});
  if (graph.notes.has_byte_picture) {
    usual.mean = {0.0};
    usual.divisor = {1.0};
    reason += "; the network takes levels from 0 to 255";
  }
  if (IsGrey(graph)) usual.channels = Channels::kGray;
  std::vector<std::string> keys;
  Settle("fit", usual.fit, choice.config.fit, keys);
  Settle("resize", usual.resize, choice.config.resize, keys);
  Settle("channels", usual.channels, choice.config.channels, keys);
  Settle("mean", usual.mean, choice.config.mean, keys);
  Settle("divisor", usual.divisor, choice.config.divisor, keys);
  if (!keys.empty()) {
    choice.chosen = fmt::format("preprocess.{} {} {}", fmt::join(keys, ", "),
                                keys.size() == 1 ? "is" : "are", reason);
  }
  return choice;
}

std::string DoubtOfDivisor(const Graph& graph, const PreprocessConfig& config) {
  constexpr double kLevels = 50;  // a divisor this large divides levels
  const std::vector<double>& divisor = config.divisor;
  const bool divides =
      !divisor.empty() &&
      std::all_of(divisor.begin(), divisor.end(), [](double d) { return std::abs(d) >= kLevels; });
  if (!divides || graph.picture.width != 0 || !graph.notes.has_byte_picture) return "";
  return fmt::format(
      "preprocess.divisor [{}] scales levels that the network takes from 0 to 255: leave it out, "
      "or set it to [1], unless the network was trained so",
      fmt::join(divisor, ", "));
}

std::string AddPicture(Graph& graph, const ModelConfig& config) {
  if (graph.picture.width != 0) {
    return DescribePicture(graph.picture) + "; the model's file says so";
  }
  const auto [settled, chosen] = ChoosePreprocess(graph, config);
  PictureSpec picture;
  picture.fit = *settled.fit;
  picture.resize = *settled.resize;
  picture.resize_to = settled.resize_to;
  picture.channels = *settled.channels;
  picture.border = static_cast<uint8_t>(settled.border);
  PrependPicture(graph, picture, {settled.mean, settled.divisor, {}});
  return fmt::format("{}; {}, minus {}, divided by {}{}{}", DescribePicture(graph.picture),
                     NameOf(picture.channels), fmt::join(settled.mean, ", "),
                     fmt::join(settled.divisor, ", "), chosen.empty() ? "" : "; ", chosen);
}

void AddDecoder(Graph& graph, const DecoderConfig& config) {
  AppendHead(graph, HeadSpecOf(config, graph.notes));
}

}  // namespace cacheinf
