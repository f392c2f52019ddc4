#include "common/codec/slice_codec.h"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "common/base/little_endian.h"
#include "common/codec/float16.h"

namespace cacheinf {
namespace {

constexpr size_t kCodedHeaderBytes = 12;
constexpr uint8_t kSliceMagic = 'E';
constexpr uint8_t kSliceVersion = 1;
constexpr int kQuickLevel = 1;
constexpr int kLevelOfBytes = 7;

enum class NumberForm : uint8_t { kOfCodec, kBytes };

// A slice begins with 20 bytes; the last four are the length of the mask that follows.
constexpr size_t kSliceHeaderBytes = 20;
bool HasZstd(SliceCodec codec) {
  return codec == SliceCodec::kZstd || codec == SliceCodec::kFp16Zstd;
}

// Bytes of a number on the wire.
size_t Width(SliceCodec codec, NumberForm form) {
  if (form == NumberForm::kBytes) return 1;
  return IsLossless(codec) ? sizeof(float) : sizeof(uint16_t);
}

// Returns the numbers as a byte each, or nothing if one would change its bits.
std::optional<std::vector<uint8_t>> AsBytes(std::span<const uint8_t> numbers) {
  constexpr size_t kTogether = 256;
  std::vector<uint8_t> bytes(numbers.size() / sizeof(float));
  for (size_t first = 0; first < bytes.size(); first += kTogether) {
    uint32_t different = 0;
    for (size_t i = first; i < std::min(first + kTogether, bytes.size()); ++i) {
      float number = 0;
      std::memcpy(&number, &numbers[i * sizeof(float)], sizeof(float));
      // NaN gets a level, too, but differs from it.
      const int level = static_cast<int>(std::min(255.0F, std::max(0.0F, number)));
      bytes[i] = static_cast<uint8_t>(level);
      different |=
          std::bit_cast<uint32_t>(static_cast<float>(level)) ^ std::bit_cast<uint32_t>(number);
    }
    if (different != 0) return std::nullopt;
  }
  return bytes;
}

void FromBytes(std::span<const uint8_t> bytes, uint8_t* numbers) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto number = static_cast<float>(bytes[i]);
    std::memcpy(numbers + i * sizeof(float), &number, sizeof(float));
  }
}

// Turns rows into columns.
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

void AppendCompressed(std::span<const uint8_t> numbers, size_t width, int level,
                      std::vector<uint8_t>* bytes) {
  const std::vector<uint8_t> planes = Transposed(numbers, width);
  const size_t begin = bytes->size();
  bytes->resize(begin + ZSTD_compressBound(planes.size()));
  // Reuses the context's memory, about a megabyte.
  thread_local const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(),
                                                                                ZSTD_freeCCtx);
  const size_t size = ZSTD_compressCCtx(context.get(), bytes->data() + begin, bytes->size() - begin,
                                        planes.data(), planes.size(), level);
  if (ZSTD_isError(size) != 0) {
    throw std::runtime_error(std::string("zstd: ") + ZSTD_getErrorName(size));
  }
  bytes->resize(begin + size);
}

}  // namespace

size_t NumbersBegin(std::span<const uint8_t> slice) {
  return kSliceHeaderBytes + LittleEndianAt<uint32_t>(&slice[kSliceHeaderBytes - 4]);
}

void AppendCodedSlice(SliceCodec codec, std::span<const uint8_t> slice,
                      std::vector<uint8_t>* bytes) {
  const size_t head_bytes = NumbersBegin(slice);
  std::span<const uint8_t> numbers = slice.subspan(head_bytes);
  const size_t count = numbers.size() / sizeof(float);
  auto recoded = HasZstd(codec) ? AsBytes(numbers) : std::nullopt;
  const NumberForm form = recoded ? NumberForm::kBytes : NumberForm::kOfCodec;
  bytes->insert(bytes->end(), {kSliceMagic, kSliceVersion, static_cast<uint8_t>(codec),
                               static_cast<uint8_t>(form)});
  AppendLittleEndian(static_cast<uint32_t>(head_bytes), bytes);
  AppendLittleEndian(static_cast<uint32_t>(count), bytes);
  bytes->insert(bytes->end(), slice.data(), numbers.data());
  if (form == NumberForm::kOfCodec && !IsLossless(codec)) {
    recoded.emplace(count * sizeof(uint16_t));
    ToHalves(numbers.data(), count, recoded->data());
  }
  if (recoded) numbers = *recoded;
  if (HasZstd(codec)) {
    AppendCompressed(numbers, Width(codec, form),
                     form == NumberForm::kBytes ? kLevelOfBytes : kQuickLevel, bytes);
  } else {
    bytes->insert(bytes->end(), numbers.begin(), numbers.end());
  }
}

const char* DecodeSlice(std::span<const uint8_t> bytes, size_t most_bytes,
                        std::vector<uint8_t>* slice) {
  if (bytes.size() < kCodedHeaderBytes || bytes[0] != kSliceMagic)
    return "these bytes are not a coded slice";
  if (bytes[1] != kSliceVersion) return "a coded slice has another version";
  const auto codec = static_cast<SliceCodec>(bytes[2]);
  if (bytes[2] >= WordsOf(codec).size()) return "a slice's codec is unknown";
  const auto form = static_cast<NumberForm>(bytes[3]);
  if (form > NumberForm::kBytes) return "a slice's numbers have an unknown form";
  if (form == NumberForm::kBytes && !HasZstd(codec)) {
    return "a slice's numbers have a form that its codec does not have";
  }
  const size_t head_bytes = LittleEndianAt<uint32_t>(&bytes[4]);
  const size_t count = LittleEndianAt<uint32_t>(&bytes[8]);
  if (head_bytes > bytes.size() - kCodedHeaderBytes) return "a coded slice ends before its numbers";
  if (head_bytes + count * sizeof(float) > most_bytes) return "a slice is larger than any can be";

  const std::span<const uint8_t> head = bytes.subspan(kCodedHeaderBytes, head_bytes);
  std::span<const uint8_t> numbers = bytes.subspan(kCodedHeaderBytes + head_bytes);
  const size_t number_bytes = count * Width(codec, form);
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
  if (numbers.size() != number_bytes)
    return "a coded slice does not have as many numbers as it says";
  slice->assign(head.begin(), head.end());
  slice->resize(head_bytes + count * sizeof(float));
  uint8_t* const plain = slice->data() + head_bytes;
  if (form == NumberForm::kBytes) {
    FromBytes(numbers, plain);
  } else if (IsLossless(codec)) {
    std::copy(numbers.begin(), numbers.end(), plain);
  } else {
    FromHalves(numbers.data(), count, plain);
  }
  return nullptr;
}

}  // namespace cacheinf
