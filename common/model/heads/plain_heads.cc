// Heads that are read as they are, or nearly: one score a class, one map a class or keypoint,
// lists.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/model/heads/head_numbers.h"
#include "common/model/heads/head_table.h"

namespace cacheinf {
namespace {

using Kind = HeadKind;

constexpr int64_t kMostClasses = 4096;  // of several maps together

std::string NoReason(const Outputs&) { return ""; }

bool IsSquashed(const Outputs& outputs, size_t i) {
  return SquashingOf(outputs.graph, outputs.graph.outputs[i]) != Squashing::kNone;
}

bool AddsSoftmax(const Outputs& outputs) { return outputs.spec.softmax && !IsSquashed(outputs, 0); }

// If there are other outputs than auxiliary ones of as many classes, the first alone is not the
// answer.
std::string WhyNotClassification(const Outputs& outputs) {
  if (!IsScores(outputs.value(0))) return OfOutput(outputs.value(0)) + ", not one score per class";
  if (outputs.value(0).type == DataType::kInt64) {
    return OfOutput(outputs.value(0)) + ", whole numbers, such as the best class, not its score";
  }
  if (outputs.shape(0)[1] == 1 && AddsSoftmax(outputs)) {
    return OfOutput(outputs.value(0)) +
           ", of which a softmax always makes 1 (decoder.softmax false reads a score as it is)";
  }
  for (size_t i = 1; i < outputs.count(); ++i) {
    if (IsScores(outputs.value(i)) && outputs.shape(i)[1] == outputs.shape(0)[1]) continue;
    return OfOutput(outputs.value(i)) + ": classification reads one list of scores";
  }
  return WhyNotSoMany(outputs, outputs.shape(0)[1]);
}

std::string WhyNotEmbedding(const Outputs& outputs) {
  return IsScores(outputs.value(0)) ? "" : OfOutput(outputs.value(0)) + ", not one list of numbers";
}

std::string WhyNotKeypoints(const Outputs& outputs) {
  if (!IsPictureMap(outputs, 0)) {
    return OfOutput(outputs.value(0)) + ", not one heat map a keypoint, of the picture's form";
  }
  for (size_t i = 1; i < outputs.count(); ++i) {
    if (IsPictureMap(outputs, i) && outputs.shape(i) != outputs.shape(0)) {
      return OfOutput(outputs.value(i)) + ": maps of several kinds, as detectors have them";
    }
  }
  return WhyNotSoMany(outputs, outputs.shape(0)[1]);
}

// The operator that takes the largest class, if an output ends in it.
const op::ArgMax* ArgMaxOf(const Outputs& outputs, size_t i) {
  const Operator* const last = outputs.Last(i);
  return last == nullptr ? nullptr : last->As<op::ArgMax>();
}

// Whether class scores lie pixel by pixel, as in TensorFlow.
bool HasChannelsLast(const Outputs& outputs, size_t i) {
  return !IsPictureMap(outputs, i) && IsPictureMap(outputs, i, /*has_channels_last=*/true);
}

// Whether an output is one class a pixel already.
bool GivesClasses(const Outputs& outputs, size_t i) {
  return IsClassMap(outputs.value(i)) || IsClassMapWithChannel(outputs.value(i));
}

int64_t ChannelsOf(const Outputs& outputs, size_t i) {
  return outputs.shape(i)[HasChannelsLast(outputs, i) ? 3 : 1];
}

// How many classes an output's pixels may have; 0: unknown. A map of one channel has two.
int64_t ClassesOf(const Outputs& outputs, size_t i) {
  if (const op::ArgMax* last = ArgMaxOf(outputs, i)) {
    const Shape& scores = outputs.graph.value(outputs.Last(i)->inputs[0]).shape;
    return scores[static_cast<size_t>(last->axis)];
  }
  if (GivesClasses(outputs, i)) return 0;
  return std::max<int64_t>(2, ChannelsOf(outputs, i));
}

// The outputs that are read: maps, but no auxiliary ones, which only serve training.
std::vector<size_t> MapsOf(const Outputs& outputs) {
  std::vector<size_t> maps;
  for (size_t i = 0; i < outputs.count(); ++i) {
    if (i > 0 && Says(outputs.value(i), {"aux"})) continue;
    if (GivesClasses(outputs, i) || IsPictureMap(outputs, i) || HasChannelsLast(outputs, i)) {
      maps.push_back(i);
    }
  }
  return maps;
}

std::string WhyNotSegmentation(const Outputs& outputs) {
  const auto size_of = [&](size_t i) {
    const Shape& shape = outputs.shape(i);
    const bool has_channels_last =
        HasChannelsLast(outputs, i) || IsClassMapWithChannel(outputs.value(i));
    const size_t first = has_channels_last ? 1 : shape.size() - 2;
    return std::pair(shape[first], shape[first + 1]);
  };
  const std::vector<size_t> maps = MapsOf(outputs);
  if (maps.empty() || maps.front() != 0) {
    return OfOutput(outputs.value(0)) + ", not one class a pixel: it has no class scores per pixel";
  }
  int64_t classes = 1;
  for (const size_t i : maps) {
    const auto [height, width] = size_of(i);
    if (GivesClasses(outputs, i) && outputs.picture.width > 0 &&
        !HasForm(outputs.picture, height, width)) {
      return OfOutput(outputs.value(i)) + ": classes of pixels, but not of the picture's form";
    }
    if (!outputs.spec.enlarge && size_of(i) != size_of(0)) {
      return OfOutput(outputs.value(i)) + ": maps of several sizes need decoder.enlarge";
    }
    classes *= ClassesOf(outputs, i);
    if (maps.size() > 1 && (classes == 0 || classes > kMostClasses)) {
      return OfOutput(outputs.value(i)) + ": too many classes to tell several maps' pixels apart";
    }
  }
  return classes == 0 ? "" : WhyNotSoMany(outputs, classes);
}

void AppendNothing(Graph&, const Outputs&) {}

void AppendSoftmax(Graph& graph, const Outputs& outputs) {
  graph.head.classes = static_cast<int>(outputs.shape(0)[1]);
  if (!AddsSoftmax(outputs)) return;
  graph.outputs.front() = graph.AddOne("scores", op::Softmax{1, false}, {graph.outputs.front()});
}

// One class a pixel, of an output that may be that already.
ValueId AppendArgMax(Graph& graph, const Outputs& outputs, size_t i) {
  ValueId scores = outputs.graph.outputs[i];
  if (IsClassMap(outputs.value(i))) return scores;
  if (IsClassMapWithChannel(outputs.value(i))) {
    const Shape& shape = outputs.shape(i);
    return graph.AddOne("classes", op::Reshape{{1, 1, shape[1], shape[2]}}, {scores});
  }
  if (HasChannelsLast(outputs, i)) {
    scores = graph.AddOne("channels_first", op::Permute{{0, 3, 1, 2}}, {scores});
  }
  if (outputs.spec.enlarge) {
    op::Resize resize;
    resize.spec.kind = ResizeSpec::Kind::kLinear;
    resize.spec.out_height = static_cast<int>(outputs.picture.height);
    resize.spec.out_width = static_cast<int>(outputs.picture.width);
    scores = graph.AddOne("enlarge", resize, {scores});
  }
  if (ChannelsOf(outputs, i) > 1) return graph.AddOne("classes", op::ArgMax{1, true}, {scores});
  const ValueId least =
      graph.AddConstant("least", Tensor({1, 1, 1, 1}, {IsSquashed(outputs, i) ? 0.5f : 0.0f}));
  return graph.AddOne("classes", op::Binary{BinaryKind::kLess, {}}, {least, scores});
}

// Several maps become one, whose classes are all combinations, and named so: "lanes 1, drivable 0".
void AppendClasses(Graph& graph, const Outputs& outputs) {
  RowBuilder build(&graph);
  ValueId all = kNone;
  int64_t classes = 1;
  std::vector<std::string> names = {""};
  const std::vector<size_t> maps = MapsOf(outputs);
  for (const size_t i : maps) {
    ValueId map = AppendArgMax(graph, outputs, i);
    const std::vector<std::string> others = std::exchange(names, {});
    for (int64_t k = 0; k < ClassesOf(outputs, i) && maps.size() > 1; ++k) {
      for (const std::string& other : others) {
        names.push_back(
            fmt::format("{}{}{} {}", other, other.empty() ? "" : ", ", outputs.value(i).name, k));
      }
    }
    const Shape shape = graph.value(map).shape;
    if (maps.size() > 1 && shape.size() != 4) {
      map = graph.AddOne(
          "classes", op::Reshape{{1, 1, shape[shape.size() - 2], shape[shape.size() - 1]}}, {map});
    }
    if (all != kNone) {
      map = build.With(map, BinaryKind::kMultiply,
                       Tensor({1, 1, 1, 1}, {static_cast<float>(classes)}));
      map = graph.AddOne("classes", op::Binary{BinaryKind::kAdd, {}}, {all, map});
    }
    all = map;
    classes *= ClassesOf(outputs, i);
  }
  if (maps.size() > 1) graph.notes.class_names = names;
  graph.head.classes = static_cast<int>(classes);
  std::vector<ValueId> kept = {all};
  for (size_t i = 0; i < outputs.count(); ++i) {
    if (std::find(maps.begin(), maps.end(), i) == maps.end()) kept.push_back(graph.outputs[i]);
  }
  graph.outputs = kept;
}

HeadFinding JudgeNothing(const Outputs&, HeadNumbers) { return {}; }

HeadFinding JudgeClassification(const Outputs& outputs, HeadNumbers all) {
  const std::vector<float>& scores = all[0];
  const Extent extent = ExtentOf(scores);
  const double total = std::accumulate(scores.begin(), scores.end(), 0.0);
  if (extent.low >= 0 && std::abs(total - 100) < 1e-2) {
    return {
        "its scores add up to 100, as shares in per cent do: divide them by 100 in the network"};
  }
  if (!AddsSoftmax(outputs)) {
    if (extent.IsShare()) return {};
    return {Runs("its scores", extent, "from 0 to 1 (decoder.softmax true makes shares of them)")};
  }
  double squares = 0;
  for (const float score : scores) squares += double{score} * double{score};
  constexpr size_t kManyScores = 16;
  if (scores.size() >= kManyScores && std::abs(squares - 1) < 1e-3) {
    return {"its numbers are a list of length 1, as an embedding is"};
  }
  const bool are_shares = extent.IsShare() && std::abs(total - 1) < 1e-3;
  return {are_shares ? "its scores already add up to 1: set decoder.softmax to false" : ""};
}

// Whether most pixels of one frame's maps are near zero in every channel, and a few are not, as in
// heat maps.
bool IsMostlyZero(const std::vector<float>& numbers, int64_t channels, bool has_channels_last) {
  constexpr float kNearZero = 0.05f;
  const auto count = static_cast<size_t>(channels);
  const size_t pixels = numbers.size() / count;
  size_t zeros = 0;
  for (size_t i = 0; i < pixels; ++i) {
    bool is_zero = true;
    for (size_t k = 0; k < count && is_zero; ++k) {
      is_zero = std::abs(numbers[has_channels_last ? i * count + k : k * pixels + i]) < kNearZero;
    }
    zeros += is_zero ? 1 : 0;
  }
  return 5 * zeros > 4 * pixels && ExtentOf(numbers).high > kEvident;
}

// A heat map has a peak: few pixels lie in the upper half of its range.
HeadFinding JudgeKeypoints(const Outputs& outputs, HeadNumbers all) {
  const Extent scores = ExtentOf(all[0]);
  if (scores.high < 0) {
    return {Runs("its heat maps", scores, "above zero where a keypoint is")};
  }
  const auto channels = static_cast<size_t>(outputs.shape(0)[1]);
  const size_t pixels = all[0].size() / channels;
  const auto map_of = [&](size_t channel) {
    return std::span(all[0]).subspan(channel * pixels, pixels);
  };
  std::vector<Extent> extents(channels);
  float widest = 0;
  for (size_t channel = 0; channel < channels; ++channel) {
    for (const float number : map_of(channel)) extents[channel].Add(number);
    widest = std::max(widest, extents[channel].high - extents[channel].low);
  }
  size_t broad = 0;
  std::vector<int> high_at(pixels);  // in how many maps that are not mere noise
  for (size_t channel = 0; channel < channels; ++channel) {
    const auto [low, high] = extents[channel];
    const bool is_noise = 2 * (high - low) < widest;
    size_t high_pixels = 0;
    for (size_t i = 0; i < pixels; ++i) {
      const int is_high = map_of(channel)[i] > (low + high) / 2 ? 1 : 0;
      high_pixels += static_cast<size_t>(is_high);
      high_at[i] += is_noise ? 0 : is_high;
    }
    broad += 4 * high_pixels > pixels ? 1 : 0;
  }
  const auto shared_out = std::count(high_at.begin(), high_at.end(), 1);
  if (channels > 1 && 10 * static_cast<size_t>(shared_out) > 9 * pixels) {
    return {"one of its maps is high at nearly every pixel, as scores of classes are"};
  }
  if (2 * broad <= channels) return {};
  return {fmt::format("{} of its {} maps have no peak: a quarter of their pixels is high", broad,
                      channels)};
}

HeadFinding JudgeSegmentation(const Outputs& outputs, HeadNumbers all) {
  for (const size_t i : MapsOf(outputs)) {
    if (GivesClasses(outputs, i)) continue;
    if (ChannelsOf(outputs, i) > 1) {
      if (!IsMostlyZero(all[i], ChannelsOf(outputs, i), HasChannelsLast(outputs, i))) continue;
      return {"its scores are near zero nearly everywhere, as heat maps are"};
    }
    const bool are_whole = std::all_of(all[i].begin(), all[i].end(),
                                       [](float number) { return number == std::floor(number); });
    const Extent extent = ExtentOf(all[i]);
    if (are_whole && extent.high > 1) {
      return {Runs("its one channel's whole numbers", extent, "like a score, but like classes")};
    }
    const std::string why =
        WhyNotScores("its one channel's scores", extent, IsSquashed(outputs, i));
    if (!why.empty()) return {why};
    // A picture of only foreground has no negative logits, but none as large as this.
    constexpr float kLargestLogit = 64;
    if (!IsSquashed(outputs, i) && extent.low >= 0 && extent.high > kLargestLogit) {
      return {Runs("its one channel's scores", extent,
                   "from 0 to 1, nor below zero somewhere as logits do")};
    }
  }
  return {};
}

using Answer = HeadRow::Answer;

constexpr std::array<HeadEntry, 6> kPlainHeads = {{
    {{Kind::kAuto, "whatever the model's file, its shapes and names show", Answer::kRaw},
     NoReason,
     AppendNothing,
     JudgeNothing},
    {{Kind::kRaw, "any numbers", Answer::kRaw}, NoReason, AppendNothing, JudgeNothing},
    {{Kind::kClassification, "1xC: one score per class", Answer::kClasses},
     WhyNotClassification,
     AppendSoftmax,
     JudgeClassification},
    {{Kind::kSegmentation, "1xCxhxw: class scores a pixel, or one class a pixel; one map or more",
      Answer::kClassMap},
     WhyNotSegmentation,
     AppendClasses,
     JudgeSegmentation},
    {{Kind::kKeypoints, "1xKxhxw: a heat map for each keypoint", Answer::kHeatMaps},
     WhyNotKeypoints,
     AppendNothing,
     JudgeKeypoints},
    {{Kind::kEmbedding, "1xD: one list of numbers", Answer::kEmbedding},
     WhyNotEmbedding,
     AppendNothing,
     JudgeNothing},
}};

}  // namespace

std::span<const HeadEntry> PlainHeads() { return kPlainHeads; }

}  // namespace cacheinf
