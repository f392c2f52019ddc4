#include "common/config/model_setup.h"

#include "common/model/graph/decode.h"

namespace cacheinf {
namespace {

PictureSpec ToPictureSpec(const PreprocessConfig& config) {
  PictureSpec picture;
  picture.fit = config.fit;
  picture.resize = config.resize;
  picture.resize_to = config.resize_to;
  picture.channels = config.channels;
  picture.border = static_cast<uint8_t>(config.border);
  return picture;
}

DecoderSpec ToDecoderSpec(const DecoderConfig& config) {
  DecoderSpec decoder;
  switch (config.kind) {
    case DecoderConfig::Kind::kAuto:
    case DecoderConfig::Kind::kRaw:
    case DecoderConfig::Kind::kKeypoints:
      decoder.kind = DecoderSpec::Kind::kRaw;
      break;
    case DecoderConfig::Kind::kClassification:
      decoder.kind = config.softmax ? DecoderSpec::Kind::kClassification : DecoderSpec::Kind::kRaw;
      break;
    case DecoderConfig::Kind::kSegmentation:
      decoder.kind = DecoderSpec::Kind::kSegmentation;
      break;
    case DecoderConfig::Kind::kBoxes:
      decoder.kind = DecoderSpec::Kind::kBoxes;
      break;
  }
  decoder.enlarge = config.enlarge;
  const size_t scales = config.strides.size();
  const size_t numbers = scales == 0 ? 0 : config.anchors.size() / scales;  // of each scale
  for (size_t i = 0; i < scales; ++i) {
    const auto begin = config.anchors.begin() + static_cast<std::ptrdiff_t>(i * numbers);
    decoder.scales.push_back(
        {config.strides[i],
         std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(numbers))});
  }
  decoder.suppression.score_threshold = static_cast<float>(config.score_threshold);
  decoder.suppression.overlap_threshold = static_cast<float>(config.overlap_threshold);
  decoder.suppression.max_boxes = config.most_boxes();
  return decoder;
}

}  // namespace

void AddPicture(Graph& graph, const PreprocessConfig& config) {
  if (graph.picture.width != 0) return;
  PrependPicture(graph, ToPictureSpec(config), {config.mean, config.divisor, {}});
}

void AddDecoder(Graph& graph, const DecoderConfig& config) {
  AppendDecoder(graph, ToDecoderSpec(config));
}

}  // namespace cacheinf
