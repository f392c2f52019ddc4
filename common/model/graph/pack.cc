#include "common/model/graph/pack.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/file.h"
#include "common/model/graph/fields.h"
#include "common/model/graph/words.h"

static_assert(std::endian::native == std::endian::little,
              "native model files are little-endian and mapped as they are");

namespace cacheinf {
namespace {

constexpr size_t kAlignment = 64;
constexpr uint32_t kVersionBefore = 6;
constexpr uint32_t kVersionOfLevels = 7;
constexpr std::array<char, 8> kMagic = {'C', 'A', 'C', 'H', 'E', 'I', 'N', 'F'};
constexpr uint64_t kMaxDescriptionBytes = uint64_t{1} << 28;

using Parts = std::vector<std::string_view>;  // of a file, in order

struct FileHead {
  std::array<char, 8> magic = kMagic;
  uint32_t version = 0;
  uint32_t head_bytes = kAlignment;
  uint64_t description_bytes = 0;
  uint64_t file_bytes = 0;
  uint64_t checksum = 0;
  std::array<uint64_t, 3> reserved = {};
};
static_assert(sizeof(FileHead) == kAlignment);

constexpr uint64_t RoundUp(uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// A hash of 64-byte blocks in eight independent lanes, as fast as memory. Each step is a bijection
// of its lane, so a change within one word never goes unseen.
class BlockHash {
 public:
  // The last block is filled up with zeros.
  void Add(const void* data, size_t bytes) {
    const auto* begin = static_cast<const char*>(data);
    size_t done = 0;
    for (; done + kAlignment <= bytes; done += kAlignment) AddBlock(begin + done);
    if (done < bytes) {
      std::array<char, kAlignment> block = {};
      std::memcpy(block.data(), begin + done, bytes - done);
      AddBlock(block.data());
    }
  }

  uint64_t Value() const {
    uint64_t hash = 0x9e3779b97f4a7c15;
    for (uint64_t lane : lanes_) {
      hash = (hash ^ lane) * 0xff51afd7ed558ccd;
      hash ^= hash >> 32;
    }
    return hash;
  }

 private:
  void AddBlock(const char* block) {
    std::array<uint64_t, 8> words;
    std::memcpy(words.data(), block, kAlignment);
    for (size_t i = 0; i < lanes_.size(); ++i) {
      lanes_[i] = std::rotl((lanes_[i] ^ words[i]) * 0xc4ceb9fe1a85ec53, 29);
    }
  }

  std::array<uint64_t, 8> lanes_ = {1, 2, 3, 4, 5, 6, 7, 8};
};

// The parts of a description without names, in this order.
template <MaybeConst<Graph> T>
void VisitParts(T& graph, auto& file) {
  file.Part(graph.name);
  file.Part(graph.picture);
  if (file.has_levels()) file.Part(graph.levels);
  file.Part(graph.head);
  file.Part(graph.notes);
  file.Part(graph.values);
  file.IdsPart(graph.inputs);
  file.IdsPart(graph.outputs);
  file.Part(graph.operators);
}

template <MaybeConst<Value> T>
void VisitParts(T& value, auto& file) {
  file.Part(value.name);
  file.ShapePart(value.shape);
  file.Part(value.type);
  file.Part(value.channels);
  file.Part(value.steps);
  file.ConstantPart(value);
}

template <MaybeConst<Operator> T>
void VisitParts(T& op, auto& file) {
  file.Part(op.name);
  file.AttributesPart(op.attributes);
  file.IdsPart(op.inputs);
  file.IdsPart(op.outputs);
}

// --- Writing ---------------------------------------------------------------------------------

struct Bytes {
  const void* data = nullptr;
  size_t size = 0;
};

// The blobs of a file in order. Memory that is shared is stored once.
class BlobWriter {
 public:
  int Add(const void* data, size_t size) {
    const auto [found, is_new] = index_.try_emplace({data, size}, static_cast<int>(blobs_.size()));
    if (is_new) blobs_.push_back({data, size});
    return found->second;
  }

  const std::vector<Bytes>& blobs() const { return blobs_; }

  uint64_t bytes_in_file() const {
    uint64_t bytes = 0;
    for (const Bytes& blob : blobs_) bytes += RoundUp(blob.size);
    return bytes;
  }

 private:
  std::vector<Bytes> blobs_;
  std::map<std::pair<const void*, size_t>, int> index_;
};

// The description as written so far.
class DescriptionWriter {
 public:
  DescriptionWriter(BlobWriter& blobs, uint32_t version)
      : blobs_(blobs), has_levels_(version >= kVersionOfLevels) {}

  const std::string& bytes() const { return bytes_; }
  bool has_levels() const { return has_levels_; }

  void Write(bool flag) { WriteBits(static_cast<uint8_t>(flag)); }
  void Write(float number) { WriteBits(number); }
  void Write(std::string_view text) {
    Write(text.size());
    bytes_ += text;
  }
  void Write(const std::string& text) { Write(std::string_view(text)); }
  void Write(const std::shared_ptr<const std::string>& archive) {
    Write(blobs_.Add(archive->data(), archive->size()));
  }
  template <typename T>
  void Write(const std::vector<T>& list) {
    Write(list.size());
    for (const T& element : list) Write(element);
  }
  void Write(const Bytes& blob) { Write(blob.size); }
  void Write(const Value& value) { VisitParts(value, *this); }
  void Write(const Operator& op) { VisitParts(op, *this); }
  // Writes a whole number, an enumerator, or a struct of fields.h.
  template <typename T>
  void Write(const T& value) {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      WriteBits(static_cast<int64_t>(value));
    } else {
      VisitFields(value, *this);
    }
  }

  template <typename T>
  void operator()(const char* name, const T& field) {
    Write(std::string_view(name));
    Write(field);
  }

  template <typename T>
  void Part(const T& part) {
    Write(part);
  }
  void ShapePart(const Shape& shape) { Write(shape); }
  void IdsPart(const std::vector<int>& ids) { Write(ids); }
  void ConstantPart(const Value& value) {
    const auto bytes = static_cast<size_t>(value.constant.count()) * sizeof(float);
    Write(value.is_constant() ? blobs_.Add(value.constant.data(), bytes) : kNone);
  }
  void AttributesPart(const Attributes& attributes) {
    Write(kAttributeNames[attributes.index()]);
    std::visit([this](const auto& fields) { Write(fields); }, attributes);
  }

 private:
  template <typename T>
  void WriteBits(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }

  BlobWriter& blobs_;
  const bool has_levels_;
  std::string bytes_;
};

// Graphs without levels are written so that the previous release can read them.
uint32_t VersionOf(const Graph& graph) {
  return graph.levels.empty() ? kVersionBefore : kPackVersion;
}

std::string Describe(const Graph& graph, BlobWriter& blobs) {
  DescriptionWriter rest(blobs, VersionOf(graph));
  VisitParts(graph, rest);
  DescriptionWriter table(blobs, VersionOf(graph));
  table.Write(blobs.blobs());
  return table.bytes() + rest.bytes();
}

// --- Reading ---------------------------------------------------------------------------------

[[noreturn]] void Refuse(const std::string& file, const std::string& why) {
  throw InputError("model file '" + file + "' " + why);
}

// What is wrong inside a description; ReadPack adds which file it is.
class Damage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The blobs of a file, one after the other.
class BlobReader {
 public:
  BlobReader(std::shared_ptr<const std::byte> data, size_t size)
      : data_(std::move(data)), size_(size) {}

  void Add(size_t bytes) {
    const uint64_t begin = blobs_.empty() ? 0 : end_;
    if (begin > size_ || bytes > size_ - begin) throw Damage("has blobs that leave the file");
    blobs_.push_back({data_.get() + begin, bytes});
    end_ = begin + RoundUp(bytes);
  }

  Tensor Floats(int64_t index, const Shape& shape) const {
    const Bytes blob = Find(index);
    const auto bytes = static_cast<uint64_t>(ElementCount(shape)) * sizeof(float);
    if (blob.size != bytes) throw Damage("has a constant whose numbers do not fill its shape");
    return Tensor(shape, std::shared_ptr<const float>(data_, static_cast<const float*>(blob.data)));
  }

  std::shared_ptr<const std::string> Archive(int64_t index) const {
    const Bytes blob = Find(index);
    return std::make_shared<const std::string>(static_cast<const char*>(blob.data), blob.size);
  }

 private:
  Bytes Find(int64_t index) const {
    if (index < 0 || static_cast<uint64_t>(index) >= blobs_.size()) {
      throw Damage("has a number out of range");
    }
    return blobs_[static_cast<size_t>(index)];
  }

  std::shared_ptr<const std::byte> data_;
  size_t size_;
  uint64_t end_ = 0;
  std::vector<Bytes> blobs_;
};

// Reads what DescriptionWriter wrote. Trusts the length of a list only while there are bytes for
// another element, so that damage cannot ask for much memory.
class DescriptionReader {
 public:
  DescriptionReader(std::string_view bytes, BlobReader blobs, uint32_t version)
      : bytes_(bytes), blobs_(std::move(blobs)), has_levels_(version >= kVersionOfLevels) {}

  bool has_levels() const { return has_levels_; }

  Graph ReadGraph() {
    for (int64_t count = ReadCount(); count > 0; --count) blobs_.Add(ReadWhole<size_t>());
    Graph graph;
    VisitParts(graph, *this);
    for (size_t id = 0; id < graph.operators.size(); ++id) {
      for (const ValueId output : graph.operators[id].outputs) {
        graph.values[static_cast<size_t>(output)].producer = static_cast<OpId>(id);
      }
    }
    if (!bytes_.empty()) throw Damage("goes on after its end");
    return graph;
  }

  template <typename T>
  void operator()(const char* name, T& field) {
    if (ReadText() != name) throw Damage(std::string("has no '") + name + "'");
    Read(field);
  }

  template <typename T>
  void Part(T& part) {
    Read(part);
  }
  void Part(std::vector<Value>& values) {
    Read(values);
    value_count_ = static_cast<int64_t>(values.size());
  }
  void ShapePart(Shape& shape) {
    int64_t elements = 1;
    for (int64_t count = ReadCount(); count > 0; --count) {
      shape.push_back(ReadWhole(0, kMaxElements));
      elements *= shape.back();  // both at most 2^31
      if (elements > kMaxElements) throw Damage("has a value that is too large");
    }
  }
  void IdsPart(std::vector<int>& ids) {
    for (int64_t count = ReadCount(); count > 0; --count) {
      ids.push_back(static_cast<int>(ReadWhole(0, value_count_ - 1)));
    }
  }
  void ConstantPart(Value& value) {
    const auto blob = ReadBits<int64_t>();
    if (blob != kNone) value.constant = blobs_.Floats(blob, value.shape);
  }
  void AttributesPart(Attributes& attributes) { ReadAttributes(ReadText(), attributes); }

 private:
  template <typename T>
  T ReadBits() {
    T value;
    std::memcpy(&value, Take(sizeof(value)).data(), sizeof(value));
    return value;
  }
  std::string_view Take(size_t count) {
    if (count > bytes_.size()) throw Damage("ends too soon");
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  int64_t ReadWhole(int64_t low, int64_t high) {
    const auto number = ReadBits<int64_t>();
    if (number < low || number > high) throw Damage("has a number out of range");
    return number;
  }
  template <typename T>
  T ReadWhole() {
    constexpr auto kHigh =
        std::min<uint64_t>(std::numeric_limits<T>::max(), std::numeric_limits<int64_t>::max());
    return static_cast<T>(ReadWhole(std::numeric_limits<T>::min(), static_cast<int64_t>(kHigh)));
  }
  int64_t ReadCount() { return ReadWhole(0, static_cast<int64_t>(bytes_.size())); }
  std::string_view ReadText() { return Take(static_cast<size_t>(ReadCount())); }

  void Read(bool& flag) {
    const auto byte = ReadBits<uint8_t>();
    if (byte > 1) throw Damage("has a flag that is neither true nor false");
    flag = byte == 1;
  }
  void Read(float& number) { number = ReadBits<float>(); }
  void Read(std::string& text) { text = ReadText(); }
  void Read(std::shared_ptr<const std::string>& archive) {
    archive = blobs_.Archive(ReadBits<int64_t>());
  }
  template <typename T>
  void Read(std::vector<T>& list) {
    for (int64_t count = ReadCount(); count > 0; --count) Read(list.emplace_back());
  }
  void Read(Value& value) { VisitParts(value, *this); }
  void Read(Operator& op) { VisitParts(op, *this); }
  template <typename T>
  void Read(T& field) {
    if constexpr (std::is_enum_v<T>) {
      field = static_cast<T>(ReadWhole(0, static_cast<int64_t>(WordsOf(T{}).size()) - 1));
    } else if constexpr (std::is_integral_v<T>) {
      field = ReadWhole<T>();
    } else {
      VisitFields(field, *this);
    }
  }

  template <size_t index = 0>
  void ReadAttributes(std::string_view kind, Attributes& attributes) {
    if constexpr (index == std::variant_size_v<Attributes>) {
      throw Damage("has an operator of unknown kind");
    } else if (kind == kAttributeNames[index]) {
      VisitFields(attributes.emplace<index>(), *this);
    } else {
      ReadAttributes<index + 1>(kind, attributes);
    }
  }

  std::string_view bytes_;  // what is left
  BlobReader blobs_;
  const bool has_levels_;
  int64_t value_count_ = 0;
};

FileHead CheckHead(std::span<const std::byte> file, const std::string& name) {
  if (!IsPack(file)) Refuse(name, "is not a native model file");
  FileHead head;
  if (file.size() < sizeof(head)) Refuse(name, "is cut short");
  std::memcpy(&head, file.data(), sizeof(head));
  if (head.version != kPackVersion && head.version != kVersionBefore) {
    Refuse(name, "has format version " + std::to_string(head.version) + ", this program reads " +
                     std::to_string(kVersionBefore) + " and " + std::to_string(kPackVersion) +
                     "; pack the model again");
  }
  if (head.file_bytes != file.size() || file.size() % kAlignment != 0) {
    Refuse(name, "is " + std::to_string(file.size()) + " bytes long instead of " +
                     std::to_string(head.file_bytes));
  }
  if (head.checksum != PackChecksum(file)) Refuse(name, "is damaged: its checksum is wrong");
  if (head.head_bytes != sizeof(head) || head.description_bytes > kMaxDescriptionBytes ||
      RoundUp(head.description_bytes) > file.size() - sizeof(head)) {
    Refuse(name, "is damaged: its head is wrong");
  }
  return head;
}

}  // namespace

bool IsPack(std::span<const std::byte> first_bytes) {
  return first_bytes.size() >= kMagic.size() &&
         std::memcmp(first_bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

uint64_t DefinitionChecksum(const Graph& graph) {
  BlobWriter blobs;
  DescriptionWriter definition(blobs, VersionOf(graph));
  for (const Value& value : graph.values) {
    definition.ShapePart(value.shape);
    definition.Part(value.type);
    definition.Part(value.steps);
  }
  for (const Operator& op : graph.operators) {
    definition.AttributesPart(op.attributes);
    definition.IdsPart(op.inputs);
    definition.IdsPart(op.outputs);
  }
  definition.IdsPart(graph.inputs);
  definition.IdsPart(graph.outputs);
  if (definition.has_levels()) definition.Part(graph.levels);
  BlockHash hash;
  hash.Add(definition.bytes().data(), definition.bytes().size());
  return hash.Value();
}

uint64_t PackChecksum(std::span<const std::byte> file) {
  if (!IsPackSize(file.size())) throw std::invalid_argument("no model file has this size");
  FileHead head;
  std::memcpy(&head, file.data(), sizeof(head));
  head.checksum = 0;
  BlockHash hash;
  hash.Add(&head, sizeof(head));
  hash.Add(file.data() + sizeof(head), file.size() - sizeof(head));
  return hash.Value();
}

namespace {

void PackInto(const Graph& graph, const std::function<void(const Parts& parts)>& write) {
  BlobWriter blobs;
  const std::string description = Describe(graph, blobs);
  FileHead head;
  head.version = VersionOf(graph);
  head.description_bytes = description.size();
  head.file_bytes = sizeof(head) + RoundUp(description.size()) + blobs.bytes_in_file();
  BlockHash hash;
  hash.Add(&head, sizeof(head));
  hash.Add(description.data(), description.size());
  for (const Bytes& blob : blobs.blobs()) hash.Add(blob.data, blob.size);
  head.checksum = hash.Value();

  static constexpr std::array<char, kAlignment> kZeros = {};
  Parts parts;
  const auto add = [&parts](const void* data, size_t bytes) {
    parts.emplace_back(static_cast<const char*>(data), bytes);
    parts.emplace_back(kZeros.data(), RoundUp(bytes) - bytes);
  };
  add(&head, sizeof(head));
  add(description.data(), description.size());
  for (const Bytes& blob : blobs.blobs()) add(blob.data, blob.size);
  write(parts);
}

}  // namespace

void WritePack(const Graph& graph, const std::filesystem::path& path) {
  PackInto(graph, [&path](const Parts& parts) { ReplaceFile(path, parts); });
}

MappedFile PackInMemory(const Graph& graph) {
  MappedFile file;
  PackInto(graph, [&file](const Parts& parts) {
    for (const std::string_view part : parts) file.size += part.size();
    char* const bytes = static_cast<char*>(std::aligned_alloc(kAlignment, file.size));
    if (bytes == nullptr) throw std::bad_alloc();
    file.data = {reinterpret_cast<const std::byte*>(bytes),
                 [bytes](const std::byte* /*data*/) { std::free(bytes); }};
    char* next = bytes;
    for (const std::string_view part : parts) next = std::ranges::copy(part, next).out;
  });
  return file;
}

Graph ReadPack(const std::filesystem::path& path) {
  const MappedFile file = MapFile(path);
  return ReadPack(file.data, file.size, path.string());
}

Graph ReadPack(const std::shared_ptr<const std::byte>& data, size_t size, const std::string& name) {
  const FileHead head = CheckHead({data.get(), size}, name);
  const std::string_view description(reinterpret_cast<const char*>(data.get()) + sizeof(head),
                                     head.description_bytes);
  const size_t blob_begin = sizeof(head) + RoundUp(head.description_bytes);
  BlobReader blobs(std::shared_ptr<const std::byte>(data, data.get() + blob_begin),
                   size - blob_begin);
  try {
    Graph graph = DescriptionReader(description, std::move(blobs), head.version).ReadGraph();
    graph.Validate();
    return graph;
  } catch (const Damage& damage) {
    Refuse(name, std::string("is damaged: it ") + damage.what());
  } catch (const InputError& error) {
    Refuse(name, std::string("is damaged: ") + error.what());
  }
}

}  // namespace cacheinf
