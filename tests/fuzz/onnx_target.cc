// An ONNX model.

#include <string>

#include "common/model/onnx/onnx.h"
#include "common/model/passes/passes.h"
#include "tests/fuzz/target.h"
#include "tests/model/onnx_seeds.h"

namespace cacheinf::fuzz {
namespace {

bool ReadsOnnx(Bytes bytes) {
  return IsRead([&] {
    Graph graph = ImportOnnxBytes(ToText(bytes), "fuzzed");
    graph.Validate();
    pass::ToEightBits(graph);
    graph.Validate();
  });
}

}  // namespace

const Target kOnnx = {
    "onnx",
    OnnxSeeds,
    {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\xff\xff\xff\xff\x07", "Conv", "Reshape", "If",
     std::string("\0\0\0\0", 4), "x", "y", std::string("\x0a\0", 2), "\x2a\x04\x08\x01\x10\x01"},
    ReadsOnnx};

}  // namespace cacheinf::fuzz
