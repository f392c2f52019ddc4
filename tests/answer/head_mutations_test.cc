// Heads and configurations that are changed are refused or still right, never silently wrong.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "common/answer/answers.h"
#include "common/answer/head_trial.h"
#include "common/answer/seen_picture.h"
#include "common/config/model_config.h"
#include "common/config/model_setup.h"
#include "common/model/heads/head_check.h"
#include "common/model/heads/heads.h"
#include "tests/answer/head_changes.h"
#include "tests/answer/planted_heads.h"
#include "tests/testing/refusal.h"
#include "tests/testing/run_graph.h"

namespace cacheinf {
namespace {

// kShowsNothing: no box, and nothing that could contradict the head: the robot tries other frames,
// and warns if they show nothing either.
enum class Verdict { kRight, kRefused, kLeftRaw, kShowsNothing, kWrong };
constexpr size_t kVerdicts = 5;

struct Outcome {
  Verdict verdict = Verdict::kWrong;
  std::string text;  // the sentence, or what differs
};

std::string DifferenceOf(const Detections& truth, const Detections& found) {
  constexpr double kPixels = 0.1;
  if (truth.boxes.size() != found.boxes.size()) {
    return fmt::format("{} boxes instead of {}", found.boxes.size(), truth.boxes.size());
  }
  const auto inside = [](const PixelRuns& mask) {
    int64_t pixels = 0;
    for (size_t i = 1; i < mask.lengths.size(); i += 2) pixels += mask.lengths[i];
    return pixels;
  };
  for (size_t i = 0; i < truth.boxes.size(); ++i) {
    const Detection& a = truth.boxes[i];
    const Detection& b = found.boxes[i];
    if (a.label.index != b.label.index || std::abs(a.label.score - b.label.score) > 1e-3) {
      return fmt::format("class {} with {:.3f} instead of {} with {:.3f}", b.label.index,
                         b.label.score, a.label.index, a.label.score);
    }
    const double apart = std::max({std::abs(a.left - b.left), std::abs(a.top - b.top),
                                   std::abs(a.right - b.right), std::abs(a.bottom - b.bottom)});
    if (!(apart < kPixels)) return fmt::format("a box's side is {:.1f} pixels away", apart);
    if (a.keypoints.size() != b.keypoints.size() || a.corners.empty() != b.corners.empty()) {
      return "other parts of boxes";
    }
    for (size_t k = 0; k < a.keypoints.size(); ++k) {
      const double off =
          std::hypot(a.keypoints[k].x - b.keypoints[k].x, a.keypoints[k].y - b.keypoints[k].y);
      if (!(off < kPixels)) return fmt::format("a keypoint is {:.1f} pixels away", off);
    }
    if (!a.corners.empty() &&
        !(std::hypot(a.corners[0].x - b.corners[0].x, a.corners[0].y - b.corners[0].y) < kPixels)) {
      return "a corner lies elsewhere";
    }
    // Where a prototype changes its sign, its enlargement is between two pixels.
    const int64_t area = inside(a.mask);
    if (std::abs(area - inside(b.mask)) > 0.1 * static_cast<double>(area) + 150) {
      return fmt::format("a mask of {} pixels instead of {}", inside(b.mask), area);
    }
  }
  return "";
}

std::string DifferenceOf(const Classification& truth, const Classification& found) {
  const ScoredClass& best = found.best.front();
  if (best.index == truth.best[0].index && std::abs(best.score - truth.best[0].score) < 1e-3) {
    return "";
  }
  return fmt::format("class {} with {:.3f} instead of {} with {:.3f}", best.index, best.score,
                     truth.best[0].index, truth.best[0].score);
}

std::string DifferenceOf(const ClassMap& truth, const ClassMap& found) {
  return truth.classes == found.classes && truth.width == found.width ? "" : "another map";
}

std::string DifferenceOf(const Keypoints& truth, const Keypoints& found) {
  if (truth.points.size() != found.points.size()) return "another number of keypoints";
  for (size_t i = 0; i < truth.points.size(); ++i) {
    double off = std::numeric_limits<double>::infinity();
    for (size_t k = 0; k < found.points.size(); ++k) {
      if (found.has_order && k != i) continue;
      off = std::min(off, std::hypot(truth.points[i].x - found.points[k].x,
                                     truth.points[i].y - found.points[k].y));
    }
    if (!(off < 1)) return fmt::format("a keypoint is {:.1f} pixels away", off);
  }
  return "";
}

std::string DifferenceOf(const Embedding& truth, const Embedding& found) {
  return truth.numbers == found.numbers ? "" : "other numbers";
}

std::string DifferenceOf(const RawOutputs&, const RawOutputs&) { return ""; }

std::string DifferenceOf(const AnswerContent& truth, const AnswerContent& found) {
  return std::visit(
      [](const auto& a, const auto& b) -> std::string {
        if constexpr (std::is_same_v<decltype(a), decltype(b)>) {
          return DifferenceOf(a, b);
        } else {
          return "another kind of answer";
        }
      },
      truth, found);
}

// What a robot does with the head: as AddDecoder at the start and HeadTrials at the first frame.
Outcome TryPlanted(const PlantedHead& head) {
  const Graph network = GraphOf(head);
  HeadSpec spec;
  Graph decoded = network;
  const std::string refusal = RefusalOf([&] {
    spec = HeadSpecOf(head.config, head.notes);
    AddDecoder(decoded, head.config);
  });
  if (!refusal.empty()) return {Verdict::kRefused, refusal};
  if (spec.kind == HeadKind::kAuto) spec.kind = Recognise(network, spec.class_count).kind;
  if (spec.kind == HeadKind::kRaw) return {Verdict::kLeftRaw, "raw"};
  HeadTrial trial;
  trial.kind = spec.kind;
  trial.outputs = DescribeOutputs(network);
  const bool has_class_map = head.tail == PlantedHead::Tail::kArgMax;
  for (const PlantedOutput& output : head.outputs) {
    trial.numbers.push_back(has_class_map ? std::vector<float>() : output.numbers);
  }
  const HeadCheck check(network, spec);
  trial.contradiction = check.Contradiction(trial.numbers);
  if (!trial.contradiction.empty()) {
    return {Verdict::kRefused, DescribeContradiction(trial, "network")};
  }
  decoded.Validate();
  const auto state = MakeReferenceState(decoded);
  std::vector<Tensor> inputs = {
      Tensor({1, 3, head.height, head.width},
             std::vector<float>(static_cast<size_t>(3 * head.height * head.width)))};
  for (const PlantedOutput& output : head.outputs)
    inputs.emplace_back(output.shape, output.numbers);
  SetInputs(*state, inputs);
  state->Run();
  AnswerReader reader(state->graph(), head.config);
  AnswerContent answer;
  for (int frame = 0; frame < 3; ++frame) answer = reader.Read(*state, {});
  if (!reader.contradiction().empty()) {
    trial.contradiction = reader.contradiction();
    return {Verdict::kRefused, DescribeContradiction(trial, "network")};
  }
  const std::string difference = DifferenceOf(head.truth, answer);
  if (difference.empty()) return {Verdict::kRight, ""};
  const auto* const boxes = std::get_if<Detections>(&answer);
  const bool shows_nothing =
      boxes != nullptr && boxes->boxes.empty() && !check.HasEvidence(trial.numbers);
  return {shows_nothing ? Verdict::kShowsNothing : Verdict::kWrong, difference};
}

struct Counts {
  std::array<int, kVerdicts> of = {};
  int untold = 0;
};

void PrintCounts(const char* title, const std::map<std::string, Counts>& table) {
  fmt::print("{:52} {:>6} {:>8} {:>8} {:>8} {:>7} {:>6}\n", title, "right", "refused", "left raw",
             "nothing", "untold", "wrong");
  Counts sum;
  const auto print = [](const std::string& name, const Counts& counts) {
    fmt::print("{:52} {:6} {:8} {:8} {:8} {:7} {:6}\n", name, counts.of[0], counts.of[1],
               counts.of[2], counts.of[3], counts.untold, counts.of[4]);
  };
  for (const auto& [name, counts] : table) {
    print(name, counts);
    for (size_t i = 0; i < kVerdicts; ++i) sum.of[i] += counts.of[i];
    sum.untold += counts.untold;
  }
  print("all", sum);
}

// A sentence that says what the outputs look like, and what to do.
bool IsHelpful(const std::string& sentence) {
  const auto has = [&](const char* text) { return sentence.find(text) != std::string::npos; };
  const bool says_what = has("output") || has("strides for") || has("network");
  const bool says_remedy = has("could be") || has("no kind but \"raw\"") || has("set decoder") ||
                           has("need decoder.") || has("give decoder.");
  return says_what && says_remedy && has("decoder.kind") && !has("\n");
}

TEST(HeadMutationsTest, EveryKindIsPlanted) {
  for (int i = 0; i < kHeadKinds; ++i) {
    const auto kind = static_cast<HeadKind>(i);
    if (kind == HeadKind::kAuto || kind == HeadKind::kRaw) continue;
    const auto forms = PlantedForms();
    EXPECT_TRUE(std::any_of(forms.begin(), forms.end(), [&](const PlantedForm& form) {
      HeadRandom random(1);
      return form.plant(random, 1).kind == kind;
    })) << NameOf(kind);
  }
}

// Calls fn(form, change, head, stream) for every form and every change that can be made of it, in
// some rounds of other heads; `stream` names the head.
template <typename Fn>
void ForEachChange(uint64_t seed, int rounds, int fewest_things,
                   std::span<const HeadChange> changes, const Fn& fn) {
  uint64_t stream = 0;
  for (int round = 0; round < rounds; ++round) {
    for (const PlantedForm& form : PlantedForms()) {
      for (const HeadChange& change : changes) {
        HeadRandom random(seed + 1000 * ++stream);
        PlantedHead head = form.plant(random, DrawInt(random, fewest_things, 4));
        if (change.apply(&head, random)) fn(form, change, head, stream);
      }
    }
  }
}

TEST(HeadMutationsTest, AChangedHeadIsRefusedOrRight) {
  constexpr uint64_t kSeed = 35;
  constexpr int kRounds = 2;
  std::map<std::string, Counts> by_change;
  std::map<std::string, Counts> by_form;
  int all = 0;
  int untold = 0;
  int nothing = 0;
  int wrong = 0;
  ForEachChange(kSeed, kRounds, 1, HeadMutations(),
                [&](const PlantedForm& form, const HeadChange& mutation, const PlantedHead& head,
                    uint64_t stream) {
                  ++all;
                  const Outcome outcome = TryPlanted(head);
                  Counts& change = by_change[mutation.name];
                  Counts& own = by_form[form.name];
                  if (outcome.verdict == Verdict::kWrong && mutation.untold != nullptr) {
                    ++untold;
                    ++change.untold;
                    ++own.untold;
                    return;
                  }
                  ++change.of[static_cast<size_t>(outcome.verdict)];
                  ++own.of[static_cast<size_t>(outcome.verdict)];
                  if (outcome.verdict == Verdict::kWrong) {
                    ++wrong;
                    fmt::print("silently wrong: {}, {}, read as {}{}, stream {}: {}\n", form.name,
                               mutation.name, NameOf(head.config.kind),
                               head.has_names() ? "" : ", no names", stream, outcome.text);
                  }
                  if (outcome.verdict == Verdict::kShowsNothing) ++nothing;
                  if (outcome.verdict == Verdict::kRefused) {
                    EXPECT_TRUE(IsHelpful(outcome.text)) << outcome.text;
                  }
                  if (outcome.verdict == Verdict::kLeftRaw) {
                    EXPECT_EQ(head.config.kind, HeadKind::kAuto);
                  }
                });
  PrintCounts("mutation", by_change);
  PrintCounts("form of the head", by_form);
  EXPECT_GE(all, 500);
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(untold, all / 20);
  EXPECT_LE(nothing, all / 20);
}

TEST(HeadMutationsTest, EquivalentHeadsAreAcceptedAndRight) {
  constexpr uint64_t kSeed = 53;
  constexpr int kRounds = 3;
  std::map<std::string, Counts> by_change;
  int all = 0;
  int right = 0;
  ForEachChange(
      kSeed, kRounds, 0, EquivalentChanges(),
      [&](const PlantedForm& form, const HeadChange& change, const PlantedHead& head,
          uint64_t stream) {
        ++all;
        const Outcome outcome = TryPlanted(head);
        ++by_change[change.name].of[static_cast<size_t>(outcome.verdict)];
        if (outcome.verdict == Verdict::kRight) {
          ++right;
          return;
        }
        fmt::print("{}, {}, stream {}: {}\n", form.name, change.name, stream, outcome.text);
        EXPECT_NE(outcome.verdict, Verdict::kWrong)
            << form.name << ", " << change.name << ", stream " << stream << ": " << outcome.text;
      });
  PrintCounts("equivalent change", by_change);
  EXPECT_GE(right, 0.95 * all) << right << " of " << all;
}

// What a file says of itself, and shapes alone, must never lead to another head.
TEST(HeadMutationsTest, AutoIsRightOrLeavesOutputsRaw) {
  constexpr uint64_t kSeed = 71;
  constexpr int kRounds = 4;
  const HeadChange without_kind = {"no kind", [](PlantedHead* head, HeadRandom&) {
                                     head->config.kind = HeadKind::kAuto;
                                     return true;
                                   }};
  std::map<std::string, Counts> by_form;
  int with_metadata = 0;
  int recognised = 0;
  ForEachChange(
      kSeed, kRounds, 1, {&without_kind, 1},
      [&](const PlantedForm& form, const HeadChange&, const PlantedHead& head, uint64_t stream) {
        const Outcome outcome = TryPlanted(head);
        ++by_form[form.name].of[static_cast<size_t>(outcome.verdict)];
        EXPECT_NE(outcome.verdict, Verdict::kWrong)
            << form.name << (head.has_names() ? "" : ", no names") << ", stream " << stream << ": "
            << outcome.text;
        if (head.notes.task.empty() || head.notes.class_names.empty()) return;
        ++with_metadata;
        if (outcome.verdict == Verdict::kRight) ++recognised;
      });
  PrintCounts("form of the head, kind auto", by_form);
  EXPECT_GE(recognised, 0.95 * with_metadata) << recognised << " of " << with_metadata;
}

}  // namespace
}  // namespace cacheinf
