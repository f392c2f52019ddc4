#ifndef CACHEINF_COMMON_MODEL_ONNX_NOTES_H_
#define CACHEINF_COMMON_MODEL_ONNX_NOTES_H_

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

#include "common/model/graph/notes.h"

namespace cacheinf {

struct OnnxNotes {
  ModelNotes notes;
  std::vector<std::string> faults;  // "names is not …": what was left out, and why
};

// Reads a model's metadata as Ultralytics' exporters write it: texts, and Python literals as text.
// Skips keys that it does not know, and fills nothing from values that it cannot use: those that
// are not a literal of the right form, are out of range, are texts longer than 4 KiB, have more
// than 65,536 names, or share a key. Throws nothing, whatever the file holds.
OnnxNotes ReadNotes(const onnx::ModelProto& model);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_ONNX_NOTES_H_
