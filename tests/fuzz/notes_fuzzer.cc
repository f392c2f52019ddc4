// A libFuzzer target: the metadata of an ONNX file is read or left out, whatever it holds. The
// first byte chooses the key, the rest is its value. It needs no corpus: now and then it returns to
// a good value and damages it.

#include <onnx/onnx_pb.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "common/model/onnx/notes.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

struct Entry {
  const char* key;
  const char* value;
};
constexpr std::array<Entry, 8> kGood = {{
    {"names", R"({0: 'person', 1: "it's", 2: 'caf\xe9 \u4eba'})"},
    {"stride", "32"},
    {"imgsz", "[384, 640]"},
    {"kpt_shape", "(17, 3)"},
    {"end2end", "True"},
    {"args", "{'batch': 1, 'nms': False, 'half': None, 'iou': 4.5e-1}"},
    {"task", "detect"},
    {"description", "a model"},
}};

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  constexpr unsigned int kOneIn = 32;
  const size_t chosen = seed / kOneIn % kGood.size();
  const std::string fresh = static_cast<char>(chosen) + std::string(kGood[chosen].value);
  if ((size == 0 || seed % kOneIn == 0) && fresh.size() <= max_size) {
    std::memcpy(data, fresh.data(), fresh.size());
    size = fresh.size();
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  onnx::ModelProto model;
  onnx::StringStringEntryProto* entry = model.add_metadata_props();
  entry->set_key(kGood[data[0] % kGood.size()].key);
  entry->set_value(std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  const cacheinf::OnnxNotes read = cacheinf::ReadNotes(model);
  const bool is_empty = read.notes == cacheinf::ModelNotes();
  if (read.faults.size() > 1 || (!read.faults.empty() && !is_empty)) std::abort();
  return 0;
}
