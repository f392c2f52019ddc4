#include "common/model/load.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/model/onnx.h"
#include "common/model/pack.h"
#include "common/model/passes.h"
#include "common/model/torchscript.h"

namespace cacheinf {
namespace {

constexpr size_t kFirstBytes = 64;

std::string FirstBytes(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw InputError(path.string() + " is not a file");
  }
  std::ifstream stream(path, std::ios::binary);
  std::array<char, kFirstBytes> bytes;
  stream.read(bytes.data(), bytes.size());
  if (stream.bad() || !stream.is_open()) throw InputError(path.string() + " cannot be read");
  return std::string(bytes.data(), static_cast<size_t>(stream.gcount()));
}

bool IsZipArchive(std::string_view bytes) { return bytes.substr(0, 4) == "PK\x03\x04"; }

}  // namespace

Graph LoadModel(const std::filesystem::path& path, const LoadOptions& options) {
  const std::string first_bytes = FirstBytes(path);
  if (IsPack(std::as_bytes(std::span(first_bytes)))) return ReadPack(path);
  // TorchScript archives are zip files; ONNX has no mark of its own.
  Graph graph =
      IsZipArchive(first_bytes) ? ImportTorchScript(path, options) : ImportOnnx(path, options);
  if (options.optimise) Optimise(graph);
  return graph;
}

}  // namespace cacheinf
