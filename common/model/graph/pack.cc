#include "common/model/graph/pack.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/file.h"
#include "common/model/graph/fields.h"

static_assert(std::endian::native == std::endian::little,
              "native model files are little-endian and mapped as they are");

namespace cacheinf {
namespace {

using nlohmann::json;

constexpr size_t kAlignment = 64;
constexpr std::array<char, 8> kMagic = {'C', 'A', 'C', 'H', 'E', 'I', 'N', 'F'};
constexpr uint64_t kMaxDescriptionBytes = uint64_t{1} << 28;

struct Head {
  std::array<char, 8> magic = kMagic;
  uint32_t version = kPackVersion;
  uint32_t head_bytes = kAlignment;
  uint64_t description_bytes = 0;
  uint64_t file_bytes = 0;
  uint64_t checksum = 0;
  std::array<uint64_t, 3> reserved = {};
};
static_assert(sizeof(Head) == kAlignment);

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

// --- Writing ---------------------------------------------------------------------------------

struct Bytes {
  const void* data = nullptr;
  size_t size = 0;
};

// The blobs of a file in order; what is shared in memory is stored once.
class BlobWriter {
 public:
  int Add(const void* data, size_t size) {
    const auto [found, is_new] = index_.try_emplace({data, size}, static_cast<int>(blobs_.size()));
    if (is_new) blobs_.push_back({data, size});
    return found->second;
  }

  const std::vector<Bytes>& blobs() const { return blobs_; }

  // [[offset from the first blob, bytes], …]
  json Table() const {
    json table = json::array();
    uint64_t offset = 0;
    for (const Bytes& blob : blobs_) {
      table.push_back({offset, blob.size});
      offset += RoundUp(blob.size);
    }
    return table;
  }

 private:
  std::vector<Bytes> blobs_;
  std::map<std::pair<const void*, size_t>, int> index_;
};

class FieldWriter {
 public:
  explicit FieldWriter(BlobWriter& blobs) : blobs_(blobs) {}

  template <typename T>
  void operator()(const char* name, const T& field) {
    object_[name] = Convert(field);
  }

  template <typename T>
  static json Write(BlobWriter& blobs, const T& fields) {
    FieldWriter writer(blobs);
    VisitFields(fields, writer);
    return std::move(writer.object_);
  }

 private:
  // JSON has no infinity.
  json Convert(float number) const {
    if (std::isfinite(number)) return number;
    return std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
  }
  json Convert(const std::string& text) const { return text; }
  json Convert(const std::shared_ptr<const std::string>& archive) const {
    return blobs_.Add(archive->data(), archive->size());
  }
  template <typename T>
  json Convert(const std::vector<T>& list) const {
    json array = json::array();
    for (const T& element : list) array.push_back(Convert(element));
    return array;
  }
  template <typename T>
  json Convert(const T& field) const {
    if constexpr (std::is_enum_v<T>) {
      return static_cast<int>(field);
    } else if constexpr (std::is_arithmetic_v<T>) {
      return field;
    } else {
      return Write(blobs_, field);
    }
  }

  BlobWriter& blobs_;
  json object_ = json::object();
};

json Describe(const Graph& graph, BlobWriter& blobs) {
  json values = json::array();
  for (const Value& value : graph.values) {
    json entry = {
        {"name", value.name}, {"shape", value.shape}, {"type", static_cast<int>(value.type)}};
    if (value.is_constant()) {
      const auto bytes = static_cast<size_t>(value.constant.count()) * sizeof(float);
      entry["blob"] = blobs.Add(value.constant.data(), bytes);
    }
    values.push_back(std::move(entry));
  }
  json operators = json::array();
  for (const Operator& op : graph.operators) {
    json attributes = std::visit(
        [&](const auto& fields) { return FieldWriter::Write(blobs, fields); }, op.attributes);
    operators.push_back({{"name", op.name},
                         {"kind", kAttributeNames[op.attributes.index()]},
                         {"attributes", std::move(attributes)},
                         {"inputs", op.inputs},
                         {"outputs", op.outputs}});
  }
  return {{"name", graph.name},          {"picture", FieldWriter::Write(blobs, graph.picture)},
          {"inputs", graph.inputs},      {"outputs", graph.outputs},
          {"values", std::move(values)}, {"operators", std::move(operators)},
          {"blobs", blobs.Table()}};
}

std::string SystemError() { return std::strerror(errno); }

// A file that takes its name only when it is whole.
class FileWriter {
 public:
  explicit FileWriter(const std::filesystem::path& path)
      : path_(path), temporary_(path.string() + "." + std::to_string(getpid()) + ".tmp") {
    std::error_code error;
    const std::filesystem::file_status status = std::filesystem::status(path, error);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
      throw InputError("cannot write '" + path.string() + "': it is there and is not a file");
    }
    descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor_ < 0) Fail();
  }
  ~FileWriter() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!is_done_) unlink(temporary_.c_str());
  }
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  // And zeros up to the next multiple of 64.
  void Write(const void* data, size_t bytes) {
    static constexpr std::array<char, kAlignment> kZeros = {};
    WriteAll(static_cast<const char*>(data), bytes);
    WriteAll(kZeros.data(), RoundUp(bytes) - bytes);
  }

  void Commit() {
    if (fsync(descriptor_) != 0) Fail();
    const int closed = close(std::exchange(descriptor_, -1));
    if (closed != 0 || rename(temporary_.c_str(), path_.c_str()) != 0) Fail();
    is_done_ = true;
  }

 private:
  void WriteAll(const char* data, size_t bytes) {
    while (bytes > 0) {
      const ssize_t written = write(descriptor_, data, bytes);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) Fail();
      data += written;
      bytes -= static_cast<size_t>(written);
    }
  }

  [[noreturn]] void Fail() const {
    throw InputError("cannot write '" + path_.string() + "': " + SystemError());
  }

  std::filesystem::path path_;
  std::string temporary_;
  int descriptor_ = -1;
  bool is_done_ = false;
};

// --- Reading ---------------------------------------------------------------------------------

[[noreturn]] void Refuse(const std::string& file, const std::string& why) {
  throw InputError("model file '" + file + "' " + why);
}

// What is wrong inside a description; ReadPack adds which file it is.
class Damage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

const json& Member(const json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (!object.is_object() || found == object.end()) {
    throw Damage(std::string("has no '") + name + "'");
  }
  return *found;
}

const json& Array(const json& object, const char* name) {
  const json& array = Member(object, name);
  if (!array.is_array()) throw Damage(std::string("has no list '") + name + "'");
  return array;
}

int64_t Integer(const json& number, int64_t low, int64_t high) {
  const bool fits_signed =
      number.is_number_unsigned()
          ? number.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())
          : number.is_number_integer();
  if (!fits_signed || number.get<int64_t>() < low || number.get<int64_t>() > high) {
    throw Damage("has a number out of range");
  }
  return number.get<int64_t>();
}

std::string Text(const json& text) {
  if (!text.is_string()) throw Damage("has a name that is no text");
  return text.get<std::string>();
}

template <typename T>
T Enumerator(const json& number) {
  return static_cast<T>(Integer(number, 0, static_cast<int64_t>(LastOf(T{}))));
}

std::vector<int> Ids(const json& list, size_t count) {
  std::vector<int> ids;
  for (const json& id : list) {
    ids.push_back(static_cast<int>(Integer(id, 0, static_cast<int64_t>(count) - 1)));
  }
  return ids;
}

// The blobs of a file: aligned, in order, apart from each other, inside the file.
class BlobReader {
 public:
  BlobReader(const json& table, std::shared_ptr<const std::byte> data, size_t size)
      : data_(std::move(data)) {
    uint64_t end = 0;
    for (const json& entry : table) {
      if (!entry.is_array() || entry.size() != 2) throw Damage("has a blob of unknown extent");
      const auto limit = static_cast<int64_t>(size);
      const auto offset = static_cast<uint64_t>(Integer(entry[0], 0, limit));
      const auto bytes = static_cast<uint64_t>(Integer(entry[1], 0, limit));
      if (offset % kAlignment != 0 || offset < end || bytes > size - offset) {
        throw Damage("has blobs that overlap or leave the file");
      }
      end = offset + bytes;
      blobs_.push_back({data_.get() + offset, bytes});
    }
  }

  Tensor Floats(const json& index, const Shape& shape) const {
    const Bytes blob = Find(index);
    const auto bytes = static_cast<uint64_t>(ElementCount(shape)) * sizeof(float);
    if (blob.size != bytes) throw Damage("has a constant whose numbers do not fill its shape");
    return Tensor(shape, std::shared_ptr<const float>(data_, static_cast<const float*>(blob.data)));
  }

  std::shared_ptr<const std::string> Archive(const json& index) const {
    const Bytes blob = Find(index);
    return std::make_shared<const std::string>(static_cast<const char*>(blob.data), blob.size);
  }

 private:
  Bytes Find(const json& index) const {
    return blobs_[static_cast<size_t>(Integer(index, 0, static_cast<int64_t>(blobs_.size()) - 1))];
  }

  std::shared_ptr<const std::byte> data_;
  std::vector<Bytes> blobs_;
};

class FieldReader {
 public:
  FieldReader(const json& object, const BlobReader& blobs) : object_(object), blobs_(blobs) {}

  template <typename T>
  void operator()(const char* name, T& field) {
    Convert(Member(object_, name), field);
  }

  template <typename T>
  static T Read(const json& object, const BlobReader& blobs) {
    T fields;
    FieldReader reader(object, blobs);
    VisitFields(fields, reader);
    return fields;
  }

 private:
  void Convert(const json& item, float& number) const {
    if (item.is_string()) {
      constexpr float kInfinity = std::numeric_limits<float>::infinity();
      const std::string text = item.get<std::string>();
      if (text != "inf" && text != "-inf" && text != "nan") throw Damage("has no number in place");
      number = text == "inf"    ? kInfinity
               : text == "-inf" ? -kInfinity
                                : std::numeric_limits<float>::quiet_NaN();
      return;
    }
    const double wide = item.is_number() ? item.get<double>() : HUGE_VAL;
    if (!(std::abs(wide) <= std::numeric_limits<float>::max())) {
      throw Damage("has a number out of range");
    }
    number = static_cast<float>(wide);
  }
  void Convert(const json& item, bool& flag) const {
    if (!item.is_boolean()) throw Damage("has a flag that is neither true nor false");
    flag = item.get<bool>();
  }
  void Convert(const json& item, std::string& text) const { text = Text(item); }
  void Convert(const json& item, std::shared_ptr<const std::string>& archive) const {
    archive = blobs_.Archive(item);
  }
  template <typename T>
  void Convert(const json& item, std::vector<T>& list) const {
    if (!item.is_array()) throw Damage("has something else in place of a list");
    for (const json& element : item) Convert(element, list.emplace_back());
  }
  template <typename T>
  void Convert(const json& item, T& field) const {
    if constexpr (std::is_enum_v<T>) {
      field = Enumerator<T>(item);
    } else if constexpr (std::is_integral_v<T>) {
      field = static_cast<T>(
          Integer(item, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    } else {
      field = Read<T>(item, blobs_);
    }
  }

  const json& object_;
  const BlobReader& blobs_;
};

template <size_t index = 0>
Attributes ReadAttributes(const std::string& kind, const json& fields, const BlobReader& blobs) {
  if constexpr (index < std::variant_size_v<Attributes>) {
    if (kind == kAttributeNames[index]) {
      return FieldReader::Read<std::variant_alternative_t<index, Attributes>>(fields, blobs);
    }
    return ReadAttributes<index + 1>(kind, fields, blobs);
  } else {
    throw Damage("has an operator of unknown kind '" + kind + "'");
  }
}

Shape ReadShape(const json& list) {
  Shape shape;
  int64_t count = 1;
  for (const json& dim : list) {
    shape.push_back(Integer(dim, 0, kMaxElements));
    count *= shape.back();  // both at most 2^31
    if (count > kMaxElements) throw Damage("has a value that is too large");
  }
  return shape;
}

Value ReadValue(const json& entry, const BlobReader& blobs) {
  Value value;
  value.name = Text(Member(entry, "name"));
  value.shape = ReadShape(Array(entry, "shape"));
  value.type = Enumerator<DataType>(Member(entry, "type"));
  if (entry.contains("blob")) value.constant = blobs.Floats(entry["blob"], value.shape);
  return value;
}

Graph ReadGraph(const json& description, const BlobReader& blobs) {
  Graph graph;
  graph.name = Text(Member(description, "name"));
  graph.picture = FieldReader::Read<PictureSpec>(Member(description, "picture"), blobs);
  for (const json& entry : Array(description, "values")) {
    graph.values.push_back(ReadValue(entry, blobs));
  }
  const size_t count = graph.values.size();
  graph.inputs = Ids(Array(description, "inputs"), count);
  graph.outputs = Ids(Array(description, "outputs"), count);
  for (const json& entry : Array(description, "operators")) {
    Operator op;
    op.name = Text(Member(entry, "name"));
    op.attributes = ReadAttributes(Text(Member(entry, "kind")), Member(entry, "attributes"), blobs);
    op.inputs = Ids(Array(entry, "inputs"), count);
    op.outputs = Ids(Array(entry, "outputs"), count);
    for (ValueId output : op.outputs) {
      graph.values[output].producer = static_cast<OpId>(graph.operators.size());
    }
    graph.operators.push_back(std::move(op));
  }
  return graph;
}

Head CheckHead(std::span<const std::byte> file, const std::string& name) {
  if (!IsPack(file)) Refuse(name, "is no native model file");
  Head head;
  if (file.size() < sizeof(head)) Refuse(name, "is cut short");
  std::memcpy(&head, file.data(), sizeof(head));
  if (head.version != kPackVersion) {
    Refuse(name, "has format version " + std::to_string(head.version) + ", this program reads " +
                     std::to_string(kPackVersion) + "; pack the model again");
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

uint64_t PackChecksum(std::span<const std::byte> file) {
  Head head;
  std::memcpy(&head, file.data(), sizeof(head));
  head.checksum = 0;
  BlockHash hash;
  hash.Add(&head, sizeof(head));
  hash.Add(file.data() + sizeof(head), file.size() - sizeof(head));
  return hash.Value();
}

void WritePack(const Graph& graph, const std::filesystem::path& path) {
  BlobWriter blobs;
  const std::string description =
      Describe(graph, blobs).dump(-1, ' ', false, json::error_handler_t::replace);
  Head head;
  head.description_bytes = description.size();
  head.file_bytes = sizeof(head) + RoundUp(description.size());
  for (const Bytes& blob : blobs.blobs()) head.file_bytes += RoundUp(blob.size);
  BlockHash hash;
  hash.Add(&head, sizeof(head));
  hash.Add(description.data(), description.size());
  for (const Bytes& blob : blobs.blobs()) hash.Add(blob.data, blob.size);
  head.checksum = hash.Value();

  FileWriter file(path);
  file.Write(&head, sizeof(head));
  file.Write(description.data(), description.size());
  for (const Bytes& blob : blobs.blobs()) file.Write(blob.data, blob.size);
  file.Commit();
}

Graph ReadPack(const std::filesystem::path& path) {
  const MappedFile file = MapFile(path);
  return ReadPack(file.data, file.size, path.string());
}

Graph ReadPack(const std::shared_ptr<const std::byte>& data, size_t size, const std::string& name) {
  const Head head = CheckHead({data.get(), size}, name);
  const char* begin = reinterpret_cast<const char*>(data.get()) + sizeof(head);
  const json description =
      json::parse(begin, begin + head.description_bytes, nullptr, /*allow_exceptions=*/false);
  if (!description.is_object()) Refuse(name, "is damaged: its description is no JSON");
  const size_t blob_begin = sizeof(head) + RoundUp(head.description_bytes);
  try {
    const BlobReader blobs(Array(description, "blobs"),
                           std::shared_ptr<const std::byte>(data, data.get() + blob_begin),
                           size - blob_begin);
    Graph graph = ReadGraph(description, blobs);
    graph.Validate();
    return graph;
  } catch (const Damage& damage) {
    Refuse(name, std::string("is damaged: it ") + damage.what());
  } catch (const InputError& error) {
    Refuse(name, std::string("is damaged: ") + error.what());
  }
}

}  // namespace cacheinf
