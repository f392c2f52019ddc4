#include "common/config/model_setup.h"

#include <cstddef>
#include <vector>

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

void AddPicture(Graph& graph, const PreprocessConfig& config) {
  if (graph.picture.width != 0) return;
  PrependPicture(graph, ToPictureSpec(config), {config.mean, config.divisor, {}});
}

void AddDecoder(Graph& graph, const DecoderConfig& config) {
  AppendHead(graph, HeadSpecOf(config, graph.notes));
}

}  // namespace cacheinf
