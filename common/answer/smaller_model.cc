#include "common/answer/smaller_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "common/base/error.h"
#include "common/model/heads/heads.h"

namespace cacheinf {
namespace {

using Answer = HeadRow::Answer;

const Shape& FirstOutput(const Graph& graph) { return graph.value(graph.outputs.front()).shape; }

// Which pixels of an axis of a map over the picture of `from` show the middles of `size` pixels
// over that of `to`.
std::vector<int> PixelsOf(const AxisFit& from, int from_size, const AxisFit& to, int size) {
  const Range shown = from.model_range();
  std::vector<int> pixels;
  for (int i = 0; i < size; ++i) {
    const double frame = to.ToFrame((i + 0.5) * to.model_size / size);
    const double model = from.model_begin + frame * from.model_length / from.frame_size;
    const double inside = std::clamp(model, static_cast<double>(shown.begin), shown.end - 0.5);
    pixels.push_back(static_cast<int>(inside * from_size / from.model_size));
  }
  return pixels;
}

// Why answers that `other` reads cannot stand for those that `first` reads; empty: they can.
std::string WhyNot(const Graph& first_graph, const AnswerReader& first, const Graph& other_graph,
                   const AnswerReader& other) {
  const Answer answer = RowOf(first.kind()).answer;
  if (answer == Answer::kRaw || answer == Answer::kEmbedding) {
    return fmt::format(
        "nothing says how far two models agree whose answers are of decoder.kind {}: set the kind "
        "that the outputs are of, or leave it out",
        NameOf(first.kind()));
  }
  const Head& head = first_graph.head;
  const Head& other_head = other_graph.head;
  const bool are_alike = RowOf(other.kind()).answer == answer &&
                         head.keypoints == other_head.keypoints &&
                         head.has_angle == other_head.has_angle &&
                         (head.mask_coefficients > 0) == (other_head.mask_coefficients > 0);
  if (!are_alike) {
    return fmt::format(
        "its answers are of another kind, {} instead of {}: take a model that was made for the "
        "same "
        "task",
        NameOf(other.kind()), NameOf(first.kind()));
  }
  constexpr const char* kRemedy = "take models that were trained on the same classes";
  if (first.class_count() != other.class_count()) {
    return fmt::format("it tells {} classes apart instead of {}: {}", other.class_count(),
                       first.class_count(), kRemedy);
  }
  // Scores or heat maps.
  const bool has_one_each = answer == Answer::kClasses || answer == Answer::kHeatMaps;
  const auto count = [answer](const Graph& graph) {
    return answer == Answer::kHeatMaps ? static_cast<size_t>(FirstOutput(graph)[1])
                                       : OutputCount(graph, 0);
  };
  if (has_one_each && count(first_graph) != count(other_graph)) {
    return fmt::format("it has {} classes or points instead of {}: {}", count(other_graph),
                       count(first_graph), kRemedy);
  }
  const auto& names = first.class_names();
  const auto& other_names = other.class_names();
  if (names.empty() || other_names.empty() || names == other_names) return "";
  const size_t least = std::min(names.size(), other_names.size());
  const auto [name, other_name] = std::mismatch(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(least), other_names.begin());
  const auto text = [](const auto& at, const auto& end) {
    return at == end ? std::string("nothing") : fmt::format("\"{}\"", *at);
  };
  return fmt::format("its class {} is {} instead of {}: {}, or set decoder.class_names",
                     name - names.begin(), text(other_name, other_names.end()),
                     text(name, names.end()), kRemedy);
}

}  // namespace

ClassMap Refitted(const ClassMap& map, const PictureFit& from, const PictureFit& to, int width,
                  int height) {
  const std::vector<int> columns = PixelsOf(from.columns(), map.width, to.columns(), width);
  const std::vector<int> rows = PixelsOf(from.rows(), map.height, to.rows(), height);
  ClassMap fitted = {width, height, {}};
  fitted.classes.reserve(columns.size() * rows.size());
  for (const int row : rows) {
    const int32_t* const from_row = &map.classes[static_cast<size_t>(row) * map.width];
    for (const int column : columns) fitted.classes.push_back(from_row[column]);
  }
  return fitted;
}

SmallerModelReader::SmallerModelReader(const SmallerModel& smaller, const Graph& first,
                                       const DecoderConfig& config)
    : reader_(smaller.model->graph(), config), first_output_(FirstOutput(first)) {
  const Graph& graph = smaller.model->graph();
  std::string why_not = WhyNot(first, AnswerReader(first, config), graph, reader_);
  if (graph.picture.width == 0) why_not = "it takes no pictures";
  if (why_not.empty()) return;
  throw InputError(
      fmt::format("model {} cannot answer in place of the first model: {}", smaller.name, why_not));
}

AnswerContent SmallerModelReader::Read(const FrameOutputs& outputs, const SeenPicture& seen,
                                       const PictureFit& first_fit) {
  AnswerContent content = reader_.Read(outputs, seen);
  if (auto* const map = std::get_if<ClassMap>(&content)) {
    const auto height = static_cast<int>(first_output_[first_output_.size() - 2]);
    const auto width = static_cast<int>(first_output_.back());
    *map = Refitted(*map, *seen.fit, first_fit, width, height);
  }
  return content;
}

}  // namespace cacheinf
