#include "common/exec/slice.h"

#include <cstddef>
#include <cstring>

#include "common/base/little_endian.h"
#include "common/model/graph/geometry.h"
#include "sparse_ops/mask/mask.h"
#include "sparse_ops/mask/wire.h"
#include "sparse_ops/view_transforms.h"

namespace cacheinf {
namespace {

constexpr size_t kHeaderBytes = 20;
constexpr uint8_t kMagic = 'S';
constexpr uint8_t kVersion = 1;

// A value that is not a map has one pixel, which is all of it.
bool IsMap(const ConstTensorView& value) { return value.rank == 4; }

TensorView RowsOf(TensorView map, Range rows) {
  map.data += rows.begin * map.strides[2];
  map.dims[2] = rows.size();
  return map;
}

size_t FloatsOf(const ConstTensorView& value, ConstMaskView pixels) {
  if (!IsMap(value)) return IsEmpty(pixels) ? 0 : static_cast<size_t>(value.Count());
  return static_cast<size_t>(CountActive(pixels) * value.dims[0] * value.dims[1]);
}

// As ReadSlice, but puts the numbers into `numbers`. Only the dims of `value` matter.
const char* ReadNumbers(std::span<const uint8_t> bytes, ValueId id, Range rows, MaskView pixels,
                        const ConstTensorView& value, std::vector<float>* numbers) {
  if (bytes.size() < kHeaderBytes) return "a slice is shorter than its header";
  const uint8_t* const header = bytes.data();
  if (header[0] != kMagic) return "these bytes are not a slice";
  if (header[1] != kVersion) return "a slice has another version";
  if (header[2] != 0 || header[3] != 0) return "a slice's header has bits that mean nothing";
  if (LittleEndianAt<ValueId>(header + 4) != id) return "a slice is of another value";
  if (Range{LittleEndianAt<int>(header + 8), LittleEndianAt<int>(header + 12)} != rows) {
    return "a slice is of other rows";
  }
  const size_t mask_bytes = LittleEndianAt<uint32_t>(header + 16);
  if (mask_bytes > bytes.size() - kHeaderBytes) return "a slice ends within its mask";
  const char* error = DecodeMask(header + kHeaderBytes, mask_bytes, pixels);
  if (error != nullptr) return error;
  const size_t numbers_bytes = bytes.size() - kHeaderBytes - mask_bytes;
  numbers->resize(FloatsOf(value, pixels));
  if (numbers_bytes != numbers->size() * sizeof(float)) {
    return "a slice does not have as many numbers as pixels";
  }
  if (!numbers->empty()) {
    std::memcpy(numbers->data(), header + kHeaderBytes + mask_bytes, numbers_bytes);
  }
  return nullptr;
}

}  // namespace

void AppendSlice(Backend& backend, const ConstTensorView& value, ValueId id, Range rows,
                 ConstMaskView pixels, std::vector<uint8_t>* bytes) {
  std::vector<float> numbers(FloatsOf(value, pixels));
  if (IsMap(value)) {
    TensorView map = {const_cast<float*>(value.data), value.rank, value.dims, value.strides};
    backend.Gather(RowsOf(map, rows), pixels, numbers);
  } else if (!numbers.empty()) {
    backend.CopyOut(value, PackedView(numbers.data(), value, value.rank - 1));
  }
  AppendSlice(id, rows, pixels, numbers, bytes);
}

void AppendSlice(ValueId id, Range rows, ConstMaskView pixels, std::span<const float> numbers,
                 std::vector<uint8_t>* bytes) {
  const size_t begin = bytes->size();
  bytes->resize(begin + kHeaderBytes + MaxEncodedMaskBytes(pixels.height, pixels.width));
  const size_t mask_bytes = EncodeMask(pixels, bytes->data() + begin + kHeaderBytes);
  uint8_t* const header = bytes->data() + begin;
  header[0] = kMagic;
  header[1] = kVersion;
  header[2] = header[3] = 0;
  PutLittleEndian(id, header + 4);
  PutLittleEndian(rows.begin, header + 8);
  PutLittleEndian(rows.end, header + 12);
  PutLittleEndian(static_cast<uint32_t>(mask_bytes), header + 16);
  const size_t numbers_begin = begin + kHeaderBytes + mask_bytes;
  bytes->resize(numbers_begin + numbers.size_bytes());
  if (!numbers.empty()) {
    std::memcpy(bytes->data() + numbers_begin, numbers.data(), numbers.size_bytes());
  }
}

const char* ReadSlice(Backend& backend, std::span<const uint8_t> bytes, ValueId id, Range rows,
                      MaskView pixels, const TensorView& value) {
  std::vector<float> numbers;
  const char* const error = ReadNumbers(bytes, id, rows, pixels, value, &numbers);
  if (error != nullptr) return error;
  if (IsMap(value)) {
    backend.Scatter(numbers, pixels, RowsOf(value, rows));
  } else if (!numbers.empty()) {
    backend.CopyIn(PackedView(numbers.data(), value, value.rank - 1), value);
  }
  return nullptr;
}

const char* ReadWholeSlice(std::span<const uint8_t> bytes, ValueId id, const Value& value,
                           std::vector<float>* numbers) {
  const Shape& shape = value.shape;
  const auto rank = static_cast<int>(shape.size());
  const ConstTensorView dims = PackedView<const float>(nullptr, shape.data(), rank, rank - 1);
  Mask mask(HeightOf(value), WidthOf(value));
  const MaskView pixels = mask;
  const char* const error = ReadNumbers(bytes, id, {0, pixels.height}, pixels, dims, numbers);
  if (error != nullptr) return error;
  if (CountActive(pixels) != pixels.pixel_count()) return "a slice does not have all pixels";
  if (!IsMap(dims)) return nullptr;
  const std::vector<float> by_pixel = *numbers;
  const auto channels = static_cast<size_t>(shape[1]);
  const auto count = static_cast<size_t>(pixels.pixel_count());
  for (size_t i = 0; i < by_pixel.size(); ++i) {
    const size_t pixel = i / channels % count;
    const size_t image = i / channels / count;
    (*numbers)[(image * channels + i % channels) * count + pixel] = by_pixel[i];
  }
  return nullptr;
}

}  // namespace cacheinf
