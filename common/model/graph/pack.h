#ifndef CACHEINF_COMMON_MODEL_GRAPH_PACK_H_
#define CACHEINF_COMMON_MODEL_GRAPH_PACK_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "common/base/file.h"
#include "common/model/graph/graph.h"

// The native model file: a normalised graph with its weights, ready to run. It starts at once: the
// weights are mapped, not read.
//
//   0   magic "CACHEINF"
//   8   format version (u32), size of this head (u32)
//   16  length of the description (u64), length of the file (u64)
//   32  checksum of everything else in the file (u64), zeros up to 64
//   64  description: the graph without its numbers, field by field (fields.h), each behind its name
//       blobs: weights (32-bit floats) and foreign archives, as the description lists them
//
// Each part begins at a multiple of 64 bytes, after zeros, and the file's length is a multiple too.
// All numbers are little-endian. Files of this version and the one before can be read, and a graph
// that the older version can hold is written in that. Nothing converts files of other versions:
// make the file again from its ONNX or TorchScript source.

namespace cacheinf {

inline constexpr uint32_t kPackVersion = 7;

// Whether a file that begins with these bytes is a native model file (of any version).
bool IsPack(std::span<const std::byte> first_bytes);

// Writes a temporary file beside `path` and renames it: `path` never holds half a model. REQUIRES:
// a validated graph. Throws InputError if the file cannot be written, or if `path` exists and is
// not a regular file (a device, say).
void WritePack(const Graph& graph, const std::filesystem::path& path);

// Returns what WritePack would write, at a multiple of 64 bytes.
MappedFile PackInMemory(const Graph& graph);

// Maps the file; the graph's constants keep the mapping alive. Everything is checked before use,
// the graph included. Throws InputError, naming the file.
Graph ReadPack(const std::filesystem::path& path);

// As above, from memory at a multiple of 64 bytes that `data` keeps alive; `name` stands for the
// file in messages.
Graph ReadPack(const std::shared_ptr<const std::byte>& data, size_t size, const std::string& name);

// Whether a native model file can have this size.
constexpr bool IsPackSize(uint64_t bytes) { return bytes > 0 && bytes % 64 == 0; }

// A checksum of the operators and their connections, but not of numbers, names or schemes.
uint64_t DefinitionChecksum(const Graph& graph);

// The checksum that a file of these bytes must carry. REQUIRES: as many bytes as a file can have.
uint64_t PackChecksum(std::span<const std::byte> file);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_GRAPH_PACK_H_
