// Read this first: every field of an answer is documented, and every documented field is written.

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/answer/answer.h"
#include "common/base/file.h"
#include "common/reuse/frame_work.h"
#include "common/reuse/verdict.h"
#include "common/tracker/loss.h"
#include "tests/testing/json_schema.h"
#include "tests/testing/places.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;

const nlohmann::json& Schema() {
  static const nlohmann::json kSchema = nlohmann::json::parse(AnswersSchema());
  return kSchema;
}

// An answer with everything that it may say about how it was made.
Answer FullAnswer(AnswerContent content) {
  Answer answer;
  answer.frame = 3;
  answer.stamp = milliseconds(40);
  answer.is_moved = true;
  answer.times.compute = milliseconds(7);
  answer.deadline_ms = 5;
  answer.work.emplace();
  answer.work->loss = static_cast<Loss>(1);
  answer.work->rest = Rest::kTooSlow;
  answer.guard = GuardState{SafetyLevel::kSafer, 0.75, true};
  answer.server.emplace();
  answer.emulation = "20 Mbit/s";
  answer.plan = "remote";
  answer.predicted = milliseconds(6);
  answer.content = std::move(content);
  return answer;
}

std::vector<AnswerContent> EveryContent() {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Keypoint point = {1.5, 2.5, 0.5f};
  Detection thing;
  thing.label = {1, 0.5f};
  thing.keypoints = {point};
  thing.corners = {point, point, point, point};
  thing.mask = {4, 3, {5, 2, 5}};
  thing.id = 6;
  return {RawOutputs{{{"out", {1, 2}, 0, 1, 0.5}, {"nan", {1}, nan, nan, nan}}},
          Classification{{{0, 0.75f}}},
          ClassMap{2, 1, {0, 1}},
          Detections{{thing}},
          Keypoints{{point, {nan, nan, nan}}, 4},
          Keypoints{{point}, 4, /*has_order=*/false},
          Embedding{{0.5f, nan}}};
}

TEST(AnswersSchemaTest, KnowsEveryFieldAndNoOther) {
  Graph graph;
  graph.outputs = {graph.AddOne("out", op::Activation{}, {graph.AddInput("x", {1, 3, 2, 2})})};
  const AnswerReader reader(graph, {});
  std::set<std::string> seen;
  for (AnswerContent& content : EveryContent()) {
    const Answer answer = FullAnswer(std::move(content));
    const std::string line = ToJsonLine(answer, reader);
    EXPECT_EQ(WhyNotOfSchema(Schema(), nlohmann::json::parse(line), &seen), "") << line;
  }
  EXPECT_EQ(seen, FieldsOfSchema(Schema()));
  EXPECT_GT(seen.size(), 50u);
}

TEST(AnswersSchemaTest, RefusesWhatIsMissingOrUnknown) {
  std::set<std::string> seen;
  const auto why = [&](const char* line) {
    return WhyNotOfSchema(Schema(), nlohmann::json::parse(line), &seen);
  };
  const std::string head = R"({"frame": 0, "computed_from": 0, "stamp_ms": 0, "latency_ms": 1)";
  EXPECT_EQ(why((head + R"(, "kind": "raw"})").c_str()), "");
  EXPECT_EQ(why((head + "}").c_str()), " has no kind");
  EXPECT_EQ(why((head + R"(, "kind": "raw", "new": 1})").c_str()), "new is not in the schema");
  EXPECT_EQ(why((head + R"(, "kind": "auto"})").c_str()), "kind is another word");
  EXPECT_EQ(why((head + R"(, "kind": "raw", "width": "2"})").c_str()),
            "width is not of type \"integer\"");
}

TEST(AnswersSchemaTest, TheShippedFileIsCurrent) {
  EXPECT_EQ(ReadFile(SourceFolder() / "configs/answers.schema.json"), AnswersSchema())
      << "run: cacheinf-robot run --print-answers-schema > configs/answers.schema.json";
}

}  // namespace
}  // namespace cacheinf
