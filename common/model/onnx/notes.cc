#include "common/model/onnx/notes.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/python_literal.h"

namespace cacheinf {
namespace {

constexpr size_t kMostNames = 65'536;
constexpr size_t kLongestText = 4096;
constexpr int64_t kLargestSize = 65'536;  // of pixels, keypoints

using Fault = std::optional<std::string>;

std::optional<int> NumberOf(const PythonLiteral& literal) {
  const auto* number = literal.As<int64_t>();
  if (number == nullptr || *number < 1 || *number > kLargestSize) return std::nullopt;
  return static_cast<int>(*number);
}

// Nothing unless the literal is a list of two numbers.
std::vector<int> TwoNumbersOf(const PythonLiteral& literal) {
  const auto* items = literal.As<PythonLiteral::Items>();
  if (items == nullptr || items->size() != 2) return {};
  const std::optional<int> first = NumberOf(items->front());
  const std::optional<int> second = NumberOf(items->back());
  if (!first || !second) return {};
  return {*first, *second};
}

Fault ReadStride(const PythonLiteral& literal, ModelNotes* notes) {
  const std::optional<int> stride = NumberOf(literal);
  if (!stride) return "is not a whole number from 1 to 65536";
  notes->stride = *stride;
  return std::nullopt;
}

Fault ReadImageSize(const PythonLiteral& literal, ModelNotes* notes) {
  const std::optional<int> side = NumberOf(literal);
  std::vector<int> size = side ? std::vector<int>{*side, *side} : TwoNumbersOf(literal);
  if (size.empty()) return "is neither a height and a width nor one number for both";
  notes->image_size = std::move(size);
  return std::nullopt;
}

Fault ReadKeypointShape(const PythonLiteral& literal, ModelNotes* notes) {
  const std::vector<int> shape = TwoNumbersOf(literal);
  if (shape.empty() || shape[1] < 2 || shape[1] > 3) {
    return "is not a number of keypoints and 2 or 3 numbers for each";
  }
  notes->keypoint_shape = shape;
  return std::nullopt;
}

// Takes a dict from class to name, in any order, or a list of names.
Fault ReadNames(const PythonLiteral& literal, ModelNotes* notes) {
  const auto* items = literal.As<PythonLiteral::Items>();
  const auto* entries = literal.As<PythonLiteral::Entries>();
  if (items == nullptr && entries == nullptr) return "is neither a dict nor a list of names";
  const size_t count = items != nullptr ? items->size() : entries->size();
  if (count > kMostNames) return "has more than 65536 names";
  std::vector<std::string> names(count);
  std::vector<bool> is_named(count, false);
  for (size_t i = 0; i < count; ++i) {
    size_t index = i;
    if (entries != nullptr) {
      const auto* key = (*entries)[i].key.As<int64_t>();
      const bool is_class = key != nullptr && *key >= 0 && static_cast<uint64_t>(*key) < count;
      if (!is_class) return "does not number its classes from 0 without gaps";
      index = static_cast<size_t>(*key);
    }
    const auto* name = (items != nullptr ? (*items)[i] : (*entries)[i].value).As<std::string>();
    if (name == nullptr) return "has a name that is not a text";
    if (name->size() > kLongestText) return "has a name longer than 4 KiB";
    if (is_named[index]) return "names class " + std::to_string(index) + " twice";
    is_named[index] = true;
    names[index] = *name;
  }
  notes->class_names = std::move(names);
  return std::nullopt;
}

Fault ReadEndToEnd(const PythonLiteral& literal, ModelNotes* notes) {
  const auto* is_end_to_end = literal.As<bool>();
  if (is_end_to_end == nullptr) return "is neither True nor False";
  notes->has_suppression |= *is_end_to_end;
  return std::nullopt;
}

Fault ReadArguments(const PythonLiteral& literal, ModelNotes* notes) {
  const auto* entries = literal.As<PythonLiteral::Entries>();
  if (entries == nullptr) return "is not a dict";
  bool has_suppression = false;
  for (const PythonLiteral::Entry& entry : *entries) {
    const auto* key = entry.key.As<std::string>();
    if (key == nullptr || *key != "nms" || entry.value.As<std::monostate>() != nullptr) continue;
    const auto* is_given = entry.value.As<bool>();
    if (is_given == nullptr) return "has an 'nms' that is neither True nor False";
    has_suppression |= *is_given;
  }
  notes->has_suppression |= has_suppression;
  return std::nullopt;
}

struct TextKey {
  const char* name;
  std::string ModelNotes::*field;
};
constexpr std::array<TextKey, 2> kTextKeys = {{
    {"task", &ModelNotes::task},
    {"description", &ModelNotes::description},
}};

// A reader fills its field only if it finds no fault.
struct LiteralKey {
  const char* name;
  Fault (*read)(const PythonLiteral& literal, ModelNotes* notes);
};
constexpr std::array<LiteralKey, 6> kLiteralKeys = {{
    {"names", ReadNames},
    {"stride", ReadStride},
    {"imgsz", ReadImageSize},
    {"kpt_shape", ReadKeypointShape},
    {"end2end", ReadEndToEnd},
    {"args", ReadArguments},
}};

// Calls read(value) if the model has the key, and notes what is wrong with it.
void ReadKey(const onnx::ModelProto& model, const std::string& key, const auto& read,
             std::vector<std::string>* faults) {
  const std::string* value = nullptr;
  for (const onnx::StringStringEntryProto& entry : model.metadata_props()) {
    if (entry.key() != key) continue;
    if (value != nullptr && *value != entry.value()) {
      faults->push_back(key + " appears twice, with different values");
      return;
    }
    value = &entry.value();
  }
  if (value == nullptr) return;
  if (const Fault fault = read(*value)) faults->push_back(key + " " + *fault);
}

}  // namespace

OnnxNotes ReadNotes(const onnx::ModelProto& model) {
  OnnxNotes read;
  for (const TextKey& key : kTextKeys) {
    const auto read_text = [&](const std::string& text) -> Fault {
      if (text.size() > kLongestText) return "is longer than 4 KiB";
      read.notes.*key.field = text;
      return std::nullopt;
    };
    ReadKey(model, key.name, read_text, &read.faults);
  }
  for (const LiteralKey& key : kLiteralKeys) {
    const auto read_literal = [&](const std::string& text) -> Fault {
      const std::optional<PythonLiteral> literal = ParsePythonLiteral(text);
      return literal ? key.read(*literal, &read.notes) : Fault("is not a Python literal");
    };
    ReadKey(model, key.name, read_literal, &read.faults);
  }
  return read;
}

}  // namespace cacheinf
