#include "tests/bench/replay.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <variant>

#include "common/base/clock.h"
#include "common/link/packet.h"
#include "tests/bench/timing.h"

namespace cacheinf {
namespace {

// A smaller network has a smaller map.
ClassMap Enlarged(const ClassMap& map, int width, int height) {
  if (map.width == width && map.height == height) return map;
  ClassMap large = {width, height, {}};
  large.classes.reserve(static_cast<size_t>(width) * static_cast<size_t>(height));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) large.classes.push_back(map.At(x, y, width, height));
  }
  return large;
}

}  // namespace

std::vector<FrameCost> MedianCosts(const std::vector<std::vector<FrameCost>>& rounds) {
  std::vector<FrameCost> costs = rounds.front();
  for (size_t frame = 0; frame < costs.size(); ++frame) {
    for (double FrameCost::*const ms : {&FrameCost::robot_ms, &FrameCost::server_ms,
                                        &FrameCost::link_ms, &FrameCost::refresh_ms}) {
      Samples samples;
      for (const auto& round : rounds) samples.ms.push_back(round[frame].*ms);
      costs[frame].*ms = samples.Median();
    }
  }
  return costs;
}

int64_t NewestFrame(double now_ms, int64_t last) {
  // A frame that was waited for has arrived.
  constexpr double kRounding = 1e-6;
  const auto newest =
      static_cast<int64_t>(std::floor(now_ms * kFramesPerSecond / 1000 + kRounding));
  return std::max(newest, last + 1);
}

size_t FrameOfClip(int64_t captured, size_t clip_frames) {
  const size_t period = 2 * (clip_frames - 1);
  const size_t place = static_cast<size_t>(captured) % period;
  return place < clip_frames ? place : period - place;
}

double LinkMs(double bytes, const LinkShape& link) {
  constexpr size_t kChunk = size_t{32} << 10;
  static constexpr std::array<uint8_t, kChunk + kChunkOverhead> kBytes{};
  DelayLine line(link, {});
  auto left = static_cast<size_t>(bytes);
  std::chrono::nanoseconds arrival{};
  do {
    const size_t chunk = std::min(left, kChunk);
    line.Push({kBytes.data(), chunk + kChunkOverhead}, {});
    arrival = *line.first_arrival();
    line.Pop();
    left -= chunk;
  } while (left > 0);
  return Milliseconds(arrival);
}

std::vector<CameraAnswer> Replay(const std::vector<FrameCost>& costs,
                                 const ReplayOptions& options) {
  return Replay([&](int64_t captured) { return costs[FrameOfClip(captured, costs.size())]; },
                options);
}

std::vector<CameraAnswer> Replay(const CostOfFrame& cost_of, const ReplayOptions& options) {
  std::vector<CameraAnswer> answers;
  double now_ms = options.begin_ms;
  int64_t captured = -1;
  while (answers.size() < options.answers && !IsCellOver(answers.size(), now_ms)) {
    captured = NewestFrame(now_ms, captured);
    now_ms = std::max(now_ms, CapturedMs(captured));
    FrameCost cost;
    if (answers.size() % static_cast<size_t>(options.every) == 0) {
      cost = cost_of(captured + options.first);
      cost.robot_ms *= options.slowdown;
      cost.refresh_ms *= options.slowdown;
      if (options.link && cost.has_server) {
        cost.link_ms = LinkMs(cost.bytes_to_server, *options.link) +
                       LinkMs(cost.bytes_to_robot, *options.link);
      }
    } else {
      cost.content = answers.back().cost.content;
    }
    now_ms += cost.robot_ms + cost.link_ms + cost.server_ms;
    answers.push_back({captured, CapturedMs(captured), now_ms, cost});
    if (options.on_answer) options.on_answer(answers);
    now_ms += cost.refresh_ms;
  }
  return answers;
}

void ContentAgreement::Add(const AnswerContent& answer, const AnswerContent& dense) {
  if (++frames_ == 1) kind_ = dense;
  if (const auto* const boxes = std::get_if<Detections>(&dense)) {
    boxes_.Add(std::get<Detections>(answer), *boxes);
  } else if (const auto* const map = std::get_if<ClassMap>(&dense)) {
    maps_.Add(Enlarged(std::get<ClassMap>(answer), map->width, map->height), *map);
  } else if (const auto* const classes = std::get_if<Classification>(&dense)) {
    const auto& best = std::get<Classification>(answer).best;
    same_class_ += best.front().index == classes->best.front().index;
  }
}

std::optional<double> ContentAgreement::value() const {
  if (std::holds_alternative<Detections>(kind_)) return boxes_.F1();
  if (std::holds_alternative<ClassMap>(kind_)) return maps_.MeanIou();
  if (std::holds_alternative<Classification>(kind_)) {
    return static_cast<double>(same_class_) / frames_;
  }
  return std::nullopt;
}

std::vector<SharedContent> InHand(const std::vector<CameraAnswer>& answers,
                                  const CameraFrames& frames, double deadline_ms,
                                  const Mover& move) {
  std::vector<SharedContent> in_hand;
  for (int64_t frame = frames.begin; frame < frames.end; ++frame) {
    const CameraAnswer* newest = nullptr;
    for (const CameraAnswer& answer : answers) {
      if (answer.answered_ms > CapturedMs(frame) + deadline_ms) break;
      if (answer.captured > frame || (move && answer.cost.is_moved)) continue;
      if (newest == nullptr || answer.captured >= newest->captured) newest = &answer;
    }
    if (newest == nullptr) newest = &answers.front();
    const SharedContent& content = newest->cost.content;
    const bool is_moved = move && newest->captured < frame;
    in_hand.push_back(is_moved ? move(content, newest->captured, frame) : content);
  }
  return in_hand;
}

std::optional<double> OnTime(const std::vector<SharedContent>& in_hand, const CameraFrames& frames,
                             const std::vector<SharedContent>& dense) {
  double sum = 0;
  double weights = 0;
  int64_t frame = frames.begin;
  for (const SharedContent& content : in_hand) {
    const AnswerContent& truth = *dense[FrameOfClip(frame++, dense.size())];
    ContentAgreement agreement;
    agreement.Add(*content, truth);
    const std::optional<double> value = agreement.value();
    if (!value) continue;
    const double weight = WeightOf(*content, truth);
    sum += weight * *value;
    weights += weight;
  }
  return weights > 0 ? std::optional(sum / weights) : std::nullopt;
}

double WeightOf(const AnswerContent& answer, const AnswerContent& dense) {
  const auto* const boxes = std::get_if<Detections>(&dense);
  if (boxes == nullptr) return 1;
  const size_t count = boxes->boxes.size() + std::get<Detections>(answer).boxes.size();
  return static_cast<double>(count) / static_cast<double>(count + 4);
}

double Late(const std::vector<CameraAnswer>& answers, double deadline_ms) {
  const auto late = std::count_if(answers.begin(), answers.end(), [&](const CameraAnswer& answer) {
    return answer.latency_ms() > deadline_ms;
  });
  return static_cast<double>(late) / static_cast<double>(answers.size());
}

}  // namespace cacheinf
