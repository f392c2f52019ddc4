#include "common/model/load.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/model/graph/decode.h"
#include "common/model/graph/pack.h"
#include "common/model/onnx/onnx.h"
#include "common/model/passes/passes.h"
#include "common/model/torchscript/torchscript.h"

namespace cacheinf {
namespace {

constexpr size_t kFirstBytes = 64;

std::string FirstBytes(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw InputError(path.string(), " is not a file");
  }
  std::ifstream stream(path, std::ios::binary);
  std::array<char, kFirstBytes> bytes;
  stream.read(bytes.data(), bytes.size());
  if (stream.bad() || !stream.is_open()) throw InputError(path.string(), " cannot be read");
  return std::string(bytes.data(), static_cast<size_t>(stream.gcount()));
}

bool IsZipArchive(std::string_view bytes) { return bytes.substr(0, 4) == "PK\x03\x04"; }

// A native model file fixes the shapes of its inputs.
void CheckShapes(const Graph& graph, const std::vector<Shape>& shapes,
                 const std::filesystem::path& path) {
  if (shapes.empty()) return;
  if (shapes.size() != graph.inputs.size()) {
    throw InputError(path.string(), " has ", graph.inputs.size(), " input(s), but ", shapes.size(),
                     " shape(s) were given");
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Value& input = graph.value(graph.inputs[i]);
    const Shape packed = input.shape_of_numbers();
    if (packed != shapes[i]) {
      throw InputError(path.string(), " was packed with shape ", ToString(packed), " for input '",
                       input.name, "', not ", ToString(shapes[i]));
    }
  }
}

void RefuseConstants(const LoadOptions& options, const std::filesystem::path& path) {
  if (options.constants.empty()) return;
  throw InputError(path.string() + " is no ONNX file: its input '" +
                   options.constants.begin()->first +
                   "' cannot become a constant here, only when the model is exported or packed");
}

}  // namespace

Graph LoadModel(const std::filesystem::path& path, const LoadOptions& options) {
  const std::string first_bytes = FirstBytes(path);
  if (IsPack(std::as_bytes(std::span(first_bytes)))) {
    Graph graph = ReadPack(path);
    CheckShapes(graph, options.input_shapes, path);
    RefuseConstants(options, path);
    return graph;
  }
  // TorchScript archives are zip files; ONNX has no mark of its own.
  const bool is_torchscript = IsZipArchive(first_bytes);
  if (is_torchscript) RefuseConstants(options, path);
  Graph graph = is_torchscript ? ImportTorchScript(path, options) : ImportOnnx(path, options);
  graph.notes.has_byte_picture |= ScalesLevels(graph);
  if (options.optimise) Optimise(graph);
  return graph;
}

}  // namespace cacheinf
