#include "client/answer/answer.h"

#include <concepts>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/clock.h"
#include "common/base/json_fields.h"

namespace cacheinf {
namespace {

using Json = FieldsJson;

// --- The fields of an answer -----------------------------------------------------------------
//
// VisitFields calls visit(key, value, what it means) for each, in order. Leaves out an optional
// that is empty, and the first word of an enum where a field has only the later ones.

// A number, or null if there is none.
struct NumberOrNull {
  double number = 0;
};

constexpr size_t kNotTheFirst = 1;

template <typename T>
std::optional<T> If(bool is_there, T value) {
  return is_there ? std::optional(std::move(value)) : std::nullopt;
}

template <typename T>
std::optional<std::vector<T>> NotEmpty(const std::vector<T>& list) {
  return If(!list.empty(), list);
}

void VisitFields(const Keypoint& point, auto& visit) {
  visit("x", NumberOrNull{point.x}, "Pixels of the frame from its left edge; null: nowhere.");
  visit("y", NumberOrNull{point.y}, "Pixels of the frame from its upper edge; null: nowhere.");
  visit("score", NumberOrNull{point.score}, "How sure the network is; null: nothing was found.");
}

void VisitClass(int index, auto& visit) {
  visit("class", index, "Number of the class, from 0.");
  visit("name", visit.NameOfClass(index), "Its name, or its number where it has none.");
}

void VisitFields(const RawOutputs::Output& output, auto& visit) {
  visit("name", output.name, "The output's name.");
  visit("shape", output.shape, "Its dimensions.");
  visit("min", NumberOrNull{output.minimum}, "Its least number; null: not a number.");
  visit("max", NumberOrNull{output.maximum}, "Its largest.");
  visit("mean", NumberOrNull{output.mean}, "Their mean.");
}

struct ClassLine {
  int index = 0;
  std::optional<NumberOrNull> score;
  std::optional<double> share;
};

void VisitFields(const ClassLine& line, auto& visit) {
  VisitClass(line.index, visit);
  visit("score", line.score,
        "Classification: how sure the network is, 0 to 1; null: not a number.");
  visit("share", line.share, "Segmentation: share of the picture's pixels, 0 to 1.");
}

std::optional<std::vector<ClassLine>> ClassLines(const AnswerContent& content) {
  std::vector<ClassLine> lines;
  if (const auto* classification = std::get_if<Classification>(&content)) {
    for (const ScoredClass& scored : classification->best) {
      lines.push_back({scored.index, NumberOrNull{scored.score}, {}});
    }
  } else if (const auto* map = std::get_if<ClassMap>(&content)) {
    const auto pixels = static_cast<double>(map->classes.size());
    for (const auto& [index, count] : PixelsOfClasses(*map)) {
      lines.push_back({index, {}, static_cast<double>(count) / pixels});
    }
  } else {
    return std::nullopt;
  }
  return lines;
}

void VisitFields(const PixelRuns& mask, auto& visit) {
  visit("size", std::vector{mask.height, mask.width}, "Height and width of the frame.");
  visit("counts", mask.lengths,
        "Lengths of runs outside and inside the thing in turn, column by column: COCO's "
        "uncompressed run lengths.");
}

void VisitFields(const Detection& box, auto& visit) {
  std::vector<std::vector<double>> corners;
  for (const Keypoint& corner : box.corners) corners.push_back({corner.x, corner.y});
  VisitClass(box.label.index, visit);
  visit("score", box.label.score, "How sure the network is, 0 to 1.");
  visit("id", If(box.id != 0, box.id), "The thing's number, the same in all frames that show it.");
  visit("left", box.left, "Pixels of the frame, which begins at 0, from its left edge.");
  visit("top", box.top, "Pixels from its upper edge.");
  visit("right", box.right, "Pixels from its left edge.");
  visit("bottom", box.bottom, "Pixels from its upper edge.");
  visit("corners", NotEmpty(corners),
        "The four corners, x and y each, of a turned box; left to bottom enclose them.");
  visit("keypoints", NotEmpty(box.keypoints), "The thing's keypoints, in the network's order.");
  visit("mask", If(!box.mask.lengths.empty(), box.mask),
        "Which pixels of the frame belong to the thing.");
}

struct PointLine {
  Keypoint point;
  std::optional<int> index;
};

void VisitFields(const PointLine& line, auto& visit) {
  visit("keypoint", line.index, "Number of the heat map, from 0.");
  visit("name", If(line.index.has_value(), visit.NameOfClass(line.index.value_or(0))),
        "Its name, or its number where it has none.");
  VisitFields(line.point, visit);
}

std::optional<std::vector<PointLine>> PointLines(const AnswerContent& content) {
  const auto* keypoints = std::get_if<Keypoints>(&content);
  if (keypoints == nullptr) return std::nullopt;
  std::vector<PointLine> lines;
  for (const Keypoint& point : keypoints->points) {
    lines.push_back({point, If(keypoints->has_order, static_cast<int>(lines.size()))});
  }
  return lines;
}

std::optional<std::vector<NumberOrNull>> EmbeddingOf(const AnswerContent& content) {
  const auto* embedding = std::get_if<Embedding>(&content);
  if (embedding == nullptr) return std::nullopt;
  std::vector<NumberOrNull> numbers;
  for (const float number : embedding->numbers) numbers.push_back({number});
  return numbers;
}

template <typename Content, typename T>
std::optional<T> PartOf(const AnswerContent& content, T Content::*part) {
  const auto* found = std::get_if<Content>(&content);
  return found == nullptr ? std::nullopt : std::optional<T>(found->*part);
}

void VisitFields(const AnswerContent& content, auto& visit) {
  visit("outputs", PartOf(content, &RawOutputs::outputs), "Kind raw: a summary of every output.");
  visit("width", PartOf(content, &ClassMap::width), "Segmentation: columns of the map of classes.");
  visit("height", PartOf(content, &ClassMap::height), "Segmentation: rows of the map.");
  visit("classes", ClassLines(content),
        "Classification: the best classes, best first. Segmentation: the classes in the map, by "
        "number.");
  visit("boxes", PartOf(content, &Detections::boxes),
        "Kinds with boxes: the things found, best first.");
  visit("keypoints", PointLines(content),
        "Kind keypoints: one for each heat map; kinds of points: those found, best first.");
  visit("embedding", EmbeddingOf(content), "Kind embedding: the numbers; null: not a number.");
}

void VisitFields(const GuardState& guard, auto& visit) {
  visit("level", guard.level, "How much the robot reuses of its own results.");
  visit("agreement", guard.agreement,
        "Estimated agreement with dense answers, 0 to 1, of answers by the same plan; missing "
        "before a sample had anything to compare.");
  visit.Yes("in_doubt", guard.is_in_doubt,
            "Too few samples had anything to compare, or one of the last was bad.");
}

struct ServerLine {
  ServerPart part;
  FrameTimes times;
};

void VisitFields(const ServerLine& server, auto& visit) {
  visit("sent_bytes", server.part.sent_bytes, "Bytes sent to the server for this frame.");
  visit("received_bytes", server.part.received_bytes, "Bytes received from the server.");
  for (const NamedTime& time : kServerTimes) visit(time.key, server.times.*time.time, time.doc);
  visit("work", server.part.work.share,
        "Share of a dense run's multiply-adds that the server did.");
}

void VisitFields(const Answer& answer, auto& visit) {
  const FrameWork work = answer.work.value_or(FrameWork());
  const bool rests = work.rest != Rest::kNone;
  visit("frame", answer.frame, "Number of the frame, from 0.");
  visit("computed_from", answer.computed_from,
        "Number of the frame that the content is from: this one or an earlier one.");
  visit.Yes(
      "moved", answer.is_moved,
      "The content is an earlier frame's, moved as the scene has since. The frame's own is not "
      "there in time, and a later line may have it; or frames are tracked.");
  visit("stamp_ms", answer.stamp, "When the frame was captured, by the source's clock.");
  visit("latency_ms", answer.latency(),
        "From the stamp of a live frame, or the reading of a recorded one, to this answer.");
  visit.Yes("late", answer.is_late(), "The latency is beyond deadline_ms.");
  visit("active", If(answer.work.has_value(), work.active),
        "Where results are kept: share of the picture's pixels that count as changed.");
  visit("work", If(answer.work.has_value(), work.share),
        "Where results are kept: share of a dense run's multiply-adds.");
  visit.Yes("rests", rests, "All was computed because reuse did not pay.");
  visit("rests_because", If(rests, work.rest), "Why it did not pay.", kNotTheFirst);
  visit("lost", If(work.loss != Loss::kNone, std::string(NameOf(work.loss))),
        "All was computed because the camera was lost: why.");
  visit("guard", answer.guard, "What the guard thinks, if there is one.");
  visit("emulated", If(!answer.emulation.empty(), answer.emulation),
        "The robot and the link that --emulate stands for.");
  visit("plan", If(!answer.plan.empty(), answer.plan),
        "Mode cacheinf: the plan that the frame was computed by.");
  visit("predicted_ms", answer.predicted, "Mode cacheinf: the latency that was predicted for it.");
  visit(
      "server",
      If(answer.server.has_value(), ServerLine{answer.server.value_or(ServerPart()), answer.times}),
      "What the server did, if one took part.");
  visit("kind", visit.kind(), "What the answer is; docs/models.md has the kinds.", kNotTheFirst);
  VisitFields(answer.content, visit);
}

// --- What visits them ------------------------------------------------------------------------

class LineWriter {
 public:
  explicit LineWriter(const AnswerReader& reader) : reader_(reader) {}

  template <typename T>
  void operator()(const char* key, const T& field, const char* /*doc*/, size_t /*first*/ = 0) {
    if constexpr (kIsOptional<T>) {
      if (field) json_[key] = Of(*field);
    } else {
      json_[key] = Of(field);
    }
  }
  void Yes(const char* key, bool is_so, const char* /*doc*/) {
    if (is_so) json_[key] = true;
  }
  std::string NameOfClass(int index) const { return reader_.ClassName(index); }
  HeadKind kind() const { return reader_.kind(); }

  Json Take() { return std::move(json_); }

 private:
  template <typename T>
  Json Of(const T& field) const {
    if constexpr (std::is_enum_v<T>) {
      return NameOf(field);
    } else if constexpr (std::is_same_v<T, NumberOrNull>) {
      return field.number;
    } else if constexpr (std::is_same_v<T, FrameTimes::Time>) {
      return Milliseconds(field);
    } else if constexpr (kIsVector<T>) {
      Json list = Json::array();
      for (const auto& item : field) list.push_back(Of(item));
      return list;
    } else if constexpr (std::is_constructible_v<Json, const T&>) {
      return field;
    } else {
      LineWriter writer(reader_);
      VisitFields(field, writer);
      return writer.Take();
    }
  }

  const AnswerReader& reader_;
  Json json_ = Json::object();
};

class SchemaWriter {
 public:
  template <typename T>
  void operator()(const char* key, const T& /*field*/, const char* doc, size_t first = 0) {
    if constexpr (kIsOptional<T>) {
      Add(key, Of<typename T::value_type>(first), doc);
    } else {
      Add(key, Of<T>(first), doc);
      required_.push_back(key);
    }
  }
  void Yes(const char* key, bool /*is_so*/, const char* doc) { Add(key, {{"enum", {true}}}, doc); }
  static std::string NameOfClass(int /*index*/) { return {}; }
  static HeadKind kind() { return {}; }

  Json Take() {
    return {{"type", "object"},
            {"additionalProperties", false},
            {"required", std::move(required_)},
            {"properties", std::move(properties_)}};
  }

 private:
  void Add(const char* key, Json schema, const char* doc) {
    schema["description"] = doc;
    properties_[key] = std::move(schema);
  }

  // `first`: of an enum's words.
  template <typename T>
  static Json Of(size_t first) {
    if constexpr (std::is_enum_v<T>) {
      const auto words = WordsOf(T());
      return {{"enum", std::vector<const char*>(words.begin() + first, words.end())}};
    } else if constexpr (std::is_same_v<T, NumberOrNull>) {
      return {{"type", {"number", "null"}}};
    } else if constexpr (std::integral<T>) {
      return {{"type", "integer"}};
    } else if constexpr (std::floating_point<T> || std::is_same_v<T, FrameTimes::Time>) {
      return {{"type", "number"}};
    } else if constexpr (std::is_same_v<T, std::string>) {
      return {{"type", "string"}};
    } else if constexpr (kIsVector<T>) {
      return {{"type", "array"}, {"items", Of<typename T::value_type>(first)}};
    } else {
      SchemaWriter writer;
      VisitFields(T(), writer);
      return writer.Take();
    }
  }

  Json properties_ = Json::object();
  Json required_ = Json::array();
};

}  // namespace

bool Answer::is_late() const { return deadline_ms > 0 && Milliseconds(latency()) > deadline_ms; }

std::string ToJsonLine(const Answer& answer, const AnswerReader& reader) {
  LineWriter writer(reader);
  VisitFields(answer, writer);
  return TextOf(writer.Take());
}

std::string AnswersSchema() {
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                 {"title", "A line of cacheinf-robot's --answers"}};
  SchemaWriter writer;
  VisitFields(Answer(), writer);
  schema.update(writer.Take());
  return schema.dump(2) + "\n";
}

}  // namespace cacheinf
