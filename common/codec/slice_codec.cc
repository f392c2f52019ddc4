#include "common/codec/slice_codec.h"

#include <zstd.h>

#include <stdexcept>
#include <string>

#include "common/base/little_endian.h"
#include "common/codec/float16.h"

namespace cacheinf {
namespace {

constexpr size_t kCodedHeaderBytes = 12;
constexpr uint8_t kSliceMagic = 'E';
constexpr uint8_t kSliceVersion = 1;
constexpr int kZstdLevel = 1;

// A slice begins with 20 bytes, of which the last four say how long the mask behind them is.
constexpr size_t kSliceHeaderBytes = 20;
size_t NumbersBegin(std::span<const uint8_t> slice) {
  return kSliceHeaderBytes + LittleEndianAt<uint32_t>(&slice[kSliceHeaderBytes - 4]);
}

bool HasZstd(SliceCodec codec) {
  return codec == SliceCodec::kZstd || codec == SliceCodec::kFp16Zstd;
}

// Of a number as it crosses.
size_t Width(SliceCodec codec) { return IsLossless(codec) ? sizeof(float) : sizeof(uint16_t); }

// Rows become columns.
std::vector<uint8_t> Transposed(std::span<const uint8_t> bytes, size_t columns) {
  std::vector<uint8_t> transposed(bytes.size());
  const size_t rows = bytes.empty() ? 0 : bytes.size() / columns;
  for (size_t column = 0; column < columns; ++column) {
    for (size_t row = 0; row < rows; ++row) {
      transposed[column * rows + row] = bytes[row * columns + column];
    }
  }
  return transposed;
}

void AppendCompressed(std::span<const uint8_t> numbers, size_t width, std::vector<uint8_t>* bytes) {
  const std::vector<uint8_t> planes = Transposed(numbers, width);
  const size_t begin = bytes->size();
  bytes->resize(begin + ZSTD_compressBound(planes.size()));
  const size_t size = ZSTD_compress(bytes->data() + begin, bytes->size() - begin, planes.data(),
                                    planes.size(), kZstdLevel);
  if (ZSTD_isError(size) != 0) {
    throw std::runtime_error(std::string("zstd: ") + ZSTD_getErrorName(size));
  }
  bytes->resize(begin + size);
}

}  // namespace

void AppendCodedSlice(SliceCodec codec, std::span<const uint8_t> slice,
                      std::vector<uint8_t>* bytes) {
  const size_t head_bytes = NumbersBegin(slice);
  std::span<const uint8_t> numbers = slice.subspan(head_bytes);
  const size_t count = numbers.size() / sizeof(float);
  bytes->insert(bytes->end(), {kSliceMagic, kSliceVersion, static_cast<uint8_t>(codec), 0});
  AppendLittleEndian(static_cast<uint32_t>(head_bytes), bytes);
  AppendLittleEndian(static_cast<uint32_t>(count), bytes);
  bytes->insert(bytes->end(), slice.data(), numbers.data());
  std::vector<uint8_t> halves;
  if (!IsLossless(codec)) {
    halves.resize(count * sizeof(uint16_t));
    ToHalves(numbers.data(), count, halves.data());
    numbers = halves;
  }
  if (HasZstd(codec)) {
    AppendCompressed(numbers, Width(codec), bytes);
  } else {
    bytes->insert(bytes->end(), numbers.begin(), numbers.end());
  }
}

const char* DecodeSlice(std::span<const uint8_t> bytes, size_t most_bytes,
                        std::vector<uint8_t>* slice) {
  if (bytes.size() < kCodedHeaderBytes || bytes[0] != kSliceMagic)
    return "these bytes are no coded slice";
  if (bytes[1] != kSliceVersion) return "a coded slice has another version";
  const auto codec = static_cast<SliceCodec>(bytes[2]);
  if (bytes[2] >= WordsOf(codec).size()) return "a slice's codec is unknown";
  if (bytes[3] != 0) return "a coded slice's header has bits that mean nothing";
  const size_t head_bytes = LittleEndianAt<uint32_t>(&bytes[4]);
  const size_t count = LittleEndianAt<uint32_t>(&bytes[8]);
  if (head_bytes > bytes.size() - kCodedHeaderBytes) return "a coded slice ends before its numbers";
  if (head_bytes + count * sizeof(float) > most_bytes) return "a slice is larger than any can be";

  const std::span<const uint8_t> head = bytes.subspan(kCodedHeaderBytes, head_bytes);
  std::span<const uint8_t> numbers = bytes.subspan(kCodedHeaderBytes + head_bytes);
  const size_t number_bytes = count * Width(codec);
  std::vector<uint8_t> unpacked;
  if (HasZstd(codec)) {
    std::vector<uint8_t> planes(number_bytes);
    if (ZSTD_decompress(planes.data(), planes.size(), numbers.data(), numbers.size()) !=
        number_bytes) {
      return "a slice's compressed numbers are damaged";
    }
    unpacked = Transposed(planes, count);
    numbers = unpacked;
  }
  if (numbers.size() != number_bytes) return "a coded slice has not as many numbers as it says";
  slice->assign(head.begin(), head.end());
  if (IsLossless(codec)) {
    slice->insert(slice->end(), numbers.begin(), numbers.end());
  } else {
    slice->resize(head_bytes + count * sizeof(float));
    FromHalves(numbers.data(), count, slice->data() + head_bytes);
  }
  return nullptr;
}

}  // namespace cacheinf
