#include "common/base/npy.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>

#include "common/base/error.h"
#include "common/base/file.h"

namespace cacheinf {
namespace {

static_assert(std::endian::native == std::endian::little, "npy files here are little-endian");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kAlignment = 64;    // of the values, from the start of the file
constexpr size_t kLargestRank = 32;  // NumPy's own limit

// Reads the header: a Python dictionary literal. Writers use only these three keys, with plain
// values.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, std::string_view name) : rest_(text), name_(name) {}

  struct Header {
    std::string type;
    bool fortran_order = false;
    std::vector<int64_t> shape;
  };

  Header Read() {
    std::optional<std::string> type;
    std::optional<bool> fortran_order;
    std::optional<std::vector<int64_t>> shape;
    Expect('{');
    while (!Accept('}')) {
      const std::string key = ReadString();
      Expect(':');
      if (key == "descr" && !type) {
        type = ReadString();
      } else if (key == "fortran_order" && !fortran_order) {
        fortran_order = ReadBool();
      } else if (key == "shape" && !shape) {
        shape = ReadShape();
      } else {
        Fail();
      }
      if (!Accept(',')) {
        Expect('}');
        break;
      }
    }
    SkipSpace();
    if (!rest_.empty() || !type || !fortran_order || !shape) Fail();
    return {*type, *fortran_order, *shape};
  }

 private:
  [[noreturn]] void Fail() const {
    throw InputError(fmt::format("{}: the header of the .npy file is malformed", name_));
  }

  void SkipSpace() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
  }

  bool Accept(char expected) {
    SkipSpace();
    if (rest_.empty() || rest_[0] != expected) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void Expect(char expected) {
    if (!Accept(expected)) Fail();
  }

  bool AcceptWord(std::string_view word) {
    SkipSpace();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  std::string ReadString() {
    const char quote = Accept('\'') ? '\'' : '"';
    if (quote == '"') Expect('"');
    const size_t end = rest_.find(quote);
    if (end == std::string_view::npos) Fail();
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }

  bool ReadBool() {
    if (AcceptWord("True")) return true;
    if (!AcceptWord("False")) Fail();
    return false;
  }

  std::vector<int64_t> ReadShape() {
    std::vector<int64_t> shape;
    Expect('(');
    while (!Accept(')')) {
      SkipSpace();
      int64_t size = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (error != std::errc() || size < 0 || shape.size() == kLargestRank) Fail();
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      shape.push_back(size);
      if (!Accept(',')) {
        Expect(')');
        break;
      }
    }
    return shape;
  }

  std::string_view rest_;
  std::string_view name_;
};

// The number of elements, or nothing if it exceeds `limit`.
std::optional<size_t> CountElements(std::span<const int64_t> shape, size_t limit) {
  size_t count = 1;
  for (const int64_t size : shape) {
    if (size != 0 && count > limit / static_cast<size_t>(size)) return std::nullopt;
    count *= static_cast<size_t>(size);
  }
  return count;
}

template <typename T>
std::vector<T> CopyValues(std::string_view bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

template <typename T>
void Write(const std::filesystem::path& path, std::string_view type, std::span<const int64_t> shape,
           std::span<const T> values) {
  std::string bytes = NpyHead(type, shape);
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  WriteFile(path, bytes);
}

}  // namespace

std::string NpyHead(std::string_view type, std::span<const int64_t> shape) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                   type, fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const size_t unpadded = kMagic.size() + 4 + header.size() + 1;
  header.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  header += '\n';
  std::string head = std::string(kMagic) + '\x01' + '\0';
  head += static_cast<char>(header.size() & 0xff);
  head += static_cast<char>(header.size() >> 8);
  return head + header;
}

NpyArray ParseNpy(std::string_view bytes, std::string_view name) {
  const size_t preamble = kMagic.size() + 2;
  if (bytes.size() < preamble + 2 || !bytes.starts_with(kMagic)) {
    throw InputError(fmt::format("{}: not a .npy file", name));
  }
  const auto byte = [&](size_t at) { return size_t{static_cast<unsigned char>(bytes[at])}; };
  const size_t version = byte(kMagic.size());
  if (version < 1 || version > 2) {
    throw InputError(fmt::format("{}: .npy format version {} is not supported", name, version));
  }
  const size_t length_bytes = version == 1 ? 2 : 4;
  const size_t header_begin = preamble + length_bytes;
  size_t header_length = 0;
  for (size_t i = 0; i < length_bytes && preamble + i < bytes.size(); ++i) {
    header_length |= byte(preamble + i) << (8 * i);
  }
  if (bytes.size() < header_begin || header_length > bytes.size() - header_begin) {
    throw InputError(fmt::format("{}: the .npy file ends inside its header", name));
  }

  const auto header = HeaderReader(bytes.substr(header_begin, header_length), name).Read();
  const bool is_float = header.type == "<f4";
  if (!is_float && header.type != "<i8") {
    throw InputError(fmt::format("{}: element type \"{}\" is not supported, only float32 and int64",
                                 name, header.type.substr(0, 16)));
  }
  if (header.fortran_order) {
    throw InputError(fmt::format("{}: arrays in Fortran order are not supported", name));
  }
  const std::string_view values = bytes.substr(header_begin + header_length);
  const size_t element_bytes = is_float ? sizeof(float) : sizeof(int64_t);
  const std::optional<size_t> count = CountElements(header.shape, values.size() / element_bytes);
  if (!count || *count * element_bytes != values.size()) {
    throw InputError(fmt::format("{}: shape ({}) does not fit the {} bytes of values", name,
                                 fmt::join(header.shape, ", "), values.size()));
  }
  NpyArray array;
  array.shape = header.shape;
  if (is_float) {
    array.values = CopyValues<float>(values);
  } else {
    array.values = CopyValues<int64_t>(values);
  }
  return array;
}

NpyArray ReadNpy(const std::filesystem::path& path) {
  return ParseNpy(ReadFile(path), path.string());
}

void WriteNpy(const std::filesystem::path& path, std::span<const int64_t> shape,
              std::span<const float> values) {
  Write(path, "<f4", shape, values);
}

void WriteNpy(const std::filesystem::path& path, std::span<const int64_t> shape,
              std::span<const int64_t> values) {
  Write(path, "<i8", shape, values);
}

}  // namespace cacheinf
