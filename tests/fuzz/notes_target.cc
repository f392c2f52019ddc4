// The metadata of an ONNX file. The first byte chooses the key, the rest is its value.

#include <onnx/onnx_pb.h>

#include <array>
#include <string>
#include <vector>

#include "common/model/onnx/notes.h"
#include "tests/fuzz/target.h"

namespace cacheinf::fuzz {
namespace {

struct Entry {
  const char* key;
  const char* value;
};
constexpr std::array<Entry, 8> kEntries = {{
    {"names", R"({0: 'person', 1: "it's", 2: 'caf\xe9 \u4eba \'x\''})"},
    {"stride", "32"},
    {"imgsz", "[384, 640]"},
    {"kpt_shape", "(17, 3)"},
    {"end2end", "True"},
    {"args", "{'batch': 1, 'nms': False, 'half': None, 'iou': 4.5e-1, 'size': (640, -0.5e3)}"},
    {"task", "detect"},
    {"description", "a model"},
}};

std::vector<std::string> Notes() {
  std::vector<std::string> notes;
  for (size_t i = 0; i < kEntries.size(); ++i) {
    notes.push_back(static_cast<char>(i) + std::string(kEntries[i].value));
  }
  return notes;
}

bool ReadsNotes(Bytes bytes) {
  if (bytes.empty()) return false;
  onnx::ModelProto model;
  onnx::StringStringEntryProto* entry = model.add_metadata_props();
  entry->set_key(kEntries[bytes[0] % kEntries.size()].key);
  entry->set_value(ToText(bytes.subspan(1)));
  const OnnxNotes read = ReadNotes(model);
  const bool is_empty = read.notes == ModelNotes();
  Promise(read.faults.empty() || (read.faults.size() == 1 && is_empty),
          "a note is neither read nor left out");
  return read.faults.empty();
}

}  // namespace

const Target kNotes = {
    "notes", Notes, {"[[[[", "\\", "'", "\"", "\\u12", "}", "1e308", "-", "True"}, ReadsNotes};

}  // namespace cacheinf::fuzz
