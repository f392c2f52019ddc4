#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/answer/answer.h"
#include "common/base/words.h"
#include "common/model/graph/head.h"
#include "common/reuse/frame_work.h"
#include "common/reuse/verdict.h"

namespace cacheinf {
namespace {

using Json = nlohmann::ordered_json;

enum class Type : uint8_t { kInteger, kNumber, kNumberOrNull, kText, kYes, kObject };

// A field of an answer, or of an object in one.
struct Entry {
  const char* name;
  Type type;
  const char* doc;
  bool is_always_there = true;
  std::vector<Entry> fields = {};       // of an object
  int lists = 0;                        // 1: a list of these; 2: a list of lists
  std::vector<const char*> words = {};  // the only ones, if there are any
};

constexpr bool kSometimes = false;
const std::vector<Entry> kNone = {};

template <typename Enum>
std::vector<const char*> AllWords(Enum value) {
  const auto words = WordsOf(value);
  return {words.begin(), words.end()};
}

std::vector<const char*> HeadWords() {
  std::vector<const char*> words = AllWords(HeadKind());
  words.erase(words.begin());  // "auto" is what it is before a run
  return words;
}

std::vector<Entry> With(std::vector<Entry> fields, const std::vector<Entry>& more) {
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

const std::vector<Entry> kPoint = {
    {"x", Type::kNumberOrNull, "Pixels of the frame from its left edge; null: nowhere."},
    {"y", Type::kNumberOrNull, "Pixels of the frame from its upper edge; null: nowhere."},
    {"score", Type::kNumberOrNull, "How sure the network is; null: nothing was found."},
};

const std::vector<Entry> kClass = {
    {"class", Type::kInteger, "Number of the class, from 0."},
    {"name", Type::kText, "Its name, or its number where it has none."},
};

const Entry kScore = {"score", Type::kNumber, "How sure the network is, 0 to 1."};

const std::vector<Entry> kGuard = {
    {"level", Type::kText, "How much is reused.", true, kNone, 0, AllWords(SafetyLevel())},
    {"agreement", Type::kNumber,
     "Estimated agreement with dense answers, 0 to 1; missing before a sample had anything to "
     "compare.",
     kSometimes},
    {"in_doubt", Type::kYes, "Too few samples had anything to compare, or one of the last was bad.",
     kSometimes},
};

const std::vector<Entry> kServer = {
    {"sent_bytes", Type::kInteger, "Bytes sent to the server for this frame."},
    {"received_bytes", Type::kInteger, "Bytes received from the server."},
    {"encode_ms", Type::kNumber, "Time of encoding on the robot."},
    {"wait_ms", Type::kNumber, "Time that the robot waited for the link and the server."},
    {"queue_ms", Type::kNumber, "Of that, time behind other robots' frames."},
    {"decode_ms", Type::kNumber, "Of that, time of decoding on the server."},
    {"compute_ms", Type::kNumber, "Of that, time of computing on the server."},
    {"work", Type::kNumber, "Share of a dense run's multiply-adds that the server did."},
};

const std::vector<Entry> kMask = {
    {"size", Type::kInteger, "Height and width of the frame.", true, kNone, 1},
    {"counts", Type::kInteger,
     "Lengths of runs outside and inside the thing in turn, column by column: COCO's uncompressed "
     "run lengths.",
     true, kNone, 1},
};

const std::vector<Entry> kBox =
    With(With(kClass, {kScore}),
         {
             {"left", Type::kNumber, "Pixels of the frame, which begins at 0, from its left edge."},
             {"top", Type::kNumber, "Pixels from its upper edge."},
             {"right", Type::kNumber, "Pixels from its left edge."},
             {"bottom", Type::kNumber, "Pixels from its upper edge."},
             {"corners", Type::kNumber,
              "The four corners, x and y each, of a turned box; left to bottom enclose them.",
              kSometimes, kNone, 2},
             {"keypoints", Type::kObject, "The thing's keypoints, in the network's order.",
              kSometimes, kPoint, 1},
             {"mask", Type::kObject, "Which pixels of the frame belong to the thing.", kSometimes,
              kMask},
         });

const std::vector<Entry> kOutput = {
    {"name", Type::kText, "The output's name."},
    {"shape", Type::kInteger, "Its dimensions.", true, kNone, 1},
    {"min", Type::kNumberOrNull, "Its least number; null: not a number."},
    {"max", Type::kNumberOrNull, "Its largest."},
    {"mean", Type::kNumberOrNull, "Their mean."},
};

const std::vector<Entry> kShares = With(
    kClass,
    {{"score", Type::kNumberOrNull,
      "Classification: how sure the network is, 0 to 1; null: not a number.", kSometimes},
     {"share", Type::kNumber, "Segmentation: share of the picture's pixels, 0 to 1.", kSometimes}});

const std::vector<Entry> kNamedPoint =
    With({{"keypoint", Type::kInteger, "Kind keypoints: its number, from 0.", kSometimes},
          {"name", Type::kText, "Kind keypoints: its name, or its number where it has none.",
           kSometimes}},
         kPoint);

const std::vector<Entry> kAnswer = {
    {"frame", Type::kInteger, "Number of the frame, from 0."},
    {"computed_from", Type::kInteger,
     "Number of the frame that the content is from: this one or an earlier one."},
    {"stamp_ms", Type::kNumber, "When the frame was captured, by the source's clock."},
    {"latency_ms", Type::kNumber,
     "From the stamp of a live frame, or the reading of a recorded one, "
     "to this answer."},
    {"late", Type::kYes, "The latency is beyond deadline_ms.", kSometimes},
    {"active", Type::kNumber,
     "Where results are kept: share of the picture's pixels that count as changed.", kSometimes},
    {"work", Type::kNumber, "Where results are kept: share of a dense run's multiply-adds.",
     kSometimes},
    {"rests", Type::kYes, "All was computed because reuse did not pay.", kSometimes},
    {"rests_because",
     Type::kText,
     "Why it did not pay.",
     kSometimes,
     kNone,
     0,
     {NameOf(Rest::kTooMuchChanged), NameOf(Rest::kTooSlow)}},
    {"lost", Type::kText, "All was computed because the camera was lost: why.", kSometimes},
    {"guard", Type::kObject, "What the guard thinks, if there is one.", kSometimes, kGuard},
    {"emulated", Type::kText, "The robot and the link that --emulate stands for.", kSometimes},
    {"plan", Type::kText, "Mode cacheinf: the plan that the frame was computed by.", kSometimes},
    {"predicted_ms", Type::kNumber, "Mode cacheinf: the latency that was predicted for it.",
     kSometimes},
    {"server", Type::kObject, "What the server did, if one took part.", kSometimes, kServer},
    {"kind", Type::kText, "What the answer is; docs/models.md has the kinds.", true, kNone, 0,
     HeadWords()},
    {"outputs", Type::kObject, "Kind raw: a summary of every output.", kSometimes, kOutput, 1},
    {"width", Type::kInteger, "Segmentation: columns of the map of classes.", kSometimes},
    {"height", Type::kInteger, "Segmentation: rows of the map.", kSometimes},
    {"classes", Type::kObject,
     "Classification: the best classes, best first. Segmentation: the classes in the map, by "
     "number.",
     kSometimes, kShares, 1},
    {"boxes", Type::kObject, "Kinds with boxes: the things found, best first.", kSometimes, kBox,
     1},
    {"keypoints", Type::kObject,
     "Kind keypoints: one for each heat map. Other kinds of points: all that were found.",
     kSometimes, kNamedPoint, 1},
    {"embedding", Type::kNumberOrNull, "Kind embedding: the numbers; null: not a number.",
     kSometimes, kNone, 1},
};

Json ObjectSchema(const std::vector<Entry>& fields);

Json TypeSchema(const Entry& entry) {
  switch (entry.type) {
    case Type::kInteger:
      return {{"type", "integer"}};
    case Type::kNumber:
      return {{"type", "number"}};
    case Type::kNumberOrNull:
      return {{"type", {"number", "null"}}};
    case Type::kYes:
      return {{"enum", {true}}};
    case Type::kText:
      return entry.words.empty() ? Json{{"type", "string"}} : Json{{"enum", entry.words}};
    case Type::kObject:
      return ObjectSchema(entry.fields);
  }
  return {};
}

Json ObjectSchema(const std::vector<Entry>& fields) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Entry& entry : fields) {
    Json schema = TypeSchema(entry);
    for (int i = 0; i < entry.lists; ++i) schema = {{"type", "array"}, {"items", schema}};
    schema["description"] = entry.doc;
    properties[entry.name] = std::move(schema);
    if (entry.is_always_there) required.push_back(entry.name);
  }
  return {{"type", "object"},
          {"additionalProperties", false},
          {"required", required},
          {"properties", properties}};
}

}  // namespace

std::string AnswersSchema() {
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                 {"title", "A line of cacheinf-robot's --answers"}};
  schema.update(ObjectSchema(kAnswer));
  return schema.dump(2) + "\n";
}

}  // namespace cacheinf
