#include "sparse_ops/mask/wire.h"

#include <algorithm>
#include <limits>

#include "sparse_ops/mask/bits.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {
namespace {

enum Form : uint8_t { kEmpty, kFull, kRuns, kEdges, kBits };

constexpr uint8_t kMagic = 'M';
constexpr uint8_t kVersion = 1;
constexpr size_t kHeaderBytes = 16;
constexpr int kByteBits = 8;

// 7 bits of a number per byte, lowest first; the top bit says that more follow.
constexpr int kDigitBits = 7;
constexpr uint8_t kMoreFollow = 0x80;

struct Header {
  uint8_t form = 0;
  int height = 0;
  int width = 0;
  size_t payload_bytes = 0;
};

void WriteUint32(uint32_t number, uint8_t* bytes) {
  for (int i = 0; i < 4; ++i) bytes[i] = static_cast<uint8_t>(number >> (kByteBits * i));
}

uint32_t ReadUint32(const uint8_t* bytes) {
  uint32_t number = 0;
  for (int i = 0; i < 4; ++i) number |= static_cast<uint32_t>(bytes[i]) << (kByteBits * i);
  return number;
}

size_t BytesPerRow(int width) { return (static_cast<size_t>(width) + 7) / kByteBits; }

size_t BitsPayloadBytes(int height, int width) {
  return static_cast<size_t>(height) * BytesPerRow(width);
}

// ---------------------------------------------------------------------------------------------
// Writing.

// Calls visit(number) for the numbers of the forms runs and edges.
void ForEachNumber(ConstMaskView mask, Form form, const auto& visit) {
  // The last run, which may continue in the next row, and where the one before it ended.
  int64_t begin = 0;
  int64_t end = 0;
  int64_t end_before = 0;
  const auto visit_last = [&] {
    if (begin == end) return;
    visit(static_cast<uint32_t>(begin - end_before));
    visit(static_cast<uint32_t>(end - begin));
    end_before = end;
  };
  for (int y = 0; y < mask.height; ++y) {
    const int64_t first = int64_t{y} * mask.width;
    const uint64_t* row = mask.Row(y);
    const uint64_t* above = form == kEdges && y > 0 ? mask.Row(y - 1) : nullptr;
    bits::ForEachRun([&](int i) { return above == nullptr ? row[i] : row[i] ^ above[i]; },
                     mask.words_per_row,
                     [&](int run_begin, int run_end) {
                       if (first + run_begin != end) {
                         visit_last();
                         begin = first + run_begin;
                       }
                       end = first + run_end;
                     });
  }
  visit_last();
}

size_t NumbersPayloadBytes(ConstMaskView mask, Form form) {
  size_t bytes = 0;
  ForEachNumber(mask, form, [&](uint32_t number) {
    ++bytes;
    while ((number >>= kDigitBits) != 0) ++bytes;
  });
  return bytes;
}

void WriteNumbers(ConstMaskView mask, Form form, uint8_t* bytes) {
  ForEachNumber(mask, form, [&](uint32_t number) {
    for (; number >= kMoreFollow; number >>= kDigitBits) {
      *bytes++ = static_cast<uint8_t>(number) | kMoreFollow;
    }
    *bytes++ = static_cast<uint8_t>(number);
  });
}

void WriteBits(ConstMaskView mask, uint8_t* bytes) {
  const auto bytes_per_row = static_cast<int>(BytesPerRow(mask.width));
  for (int y = 0; y < mask.height; ++y) {
    const uint64_t* row = mask.Row(y);
    for (int i = 0; i < bytes_per_row; ++i) {
      *bytes++ = static_cast<uint8_t>(row[i / kByteBits] >> (i % kByteBits * kByteBits));
    }
  }
}

// ---------------------------------------------------------------------------------------------
// Reading.

const char* ReadHeader(const uint8_t* bytes, size_t size, Header* header) {
  if (size < kHeaderBytes) return "The mask's header is cut off.";
  if (bytes[0] != kMagic) return "The bytes are not those of a mask.";
  if (bytes[1] != kVersion) return "The mask is of a version that this program does not know.";
  if (bytes[2] > kBits) return "The mask is of a form that this program does not know.";
  if (bytes[3] != 0) return "The mask's header has a byte that must be 0.";
  const uint32_t height = ReadUint32(bytes + 4);
  const uint32_t width = ReadUint32(bytes + 8);
  if (height == 0 || width == 0) return "The mask has no pixels.";
  constexpr uint32_t kMostPixels = std::numeric_limits<int32_t>::max();
  if (height > kMostPixels / width) return "The mask has too many pixels.";
  header->form = bytes[2];
  header->height = static_cast<int>(height);
  header->width = static_cast<int>(width);
  header->payload_bytes = ReadUint32(bytes + 12);
  if (size - kHeaderBytes < header->payload_bytes) return "The mask's end is cut off.";
  if (size - kHeaderBytes > header->payload_bytes) return "Bytes follow the mask's end.";
  return nullptr;
}

// Takes a number from the front of [*bytes, end); false if there is none, if it is longer than it
// needs to be, or if it exceeds `limit`.
bool TakeNumber(const uint8_t** bytes, const uint8_t* end, uint32_t limit, uint32_t* number) {
  uint64_t value = 0;
  for (int shift = 0; *bytes != end && shift < 32; shift += kDigitBits) {
    const uint8_t byte = *(*bytes)++;
    value |= static_cast<uint64_t>(byte & ~kMoreFollow) << shift;
    if ((byte & kMoreFollow) != 0) continue;
    const bool has_idle_digit = byte == 0 && shift > 0;
    *number = static_cast<uint32_t>(value);
    return !has_idle_digit && value <= limit;
  }
  return false;
}

// Calls visit(begin, end) for a payload's runs, in pixels in row order; false if it is not one.
bool ForEachRunOfPayload(const uint8_t* payload, const Header& header, const auto& visit) {
  const uint8_t* const end_of_payload = payload + header.payload_bytes;
  const auto pixels = static_cast<uint32_t>(int64_t{header.height} * header.width);
  uint32_t at = 0;
  const uint8_t* next = payload;
  while (next != end_of_payload) {
    const bool is_first = next == payload;
    uint32_t skipped = 0;
    uint32_t active = 0;
    if (!TakeNumber(&next, end_of_payload, pixels - at, &skipped)) return false;
    if (skipped == 0 && !is_first) return false;
    at += skipped;
    if (!TakeNumber(&next, end_of_payload, pixels - at, &active) || active == 0) return false;
    visit(at, at + active);
    at += active;
  }
  return true;
}

const char* CheckPayload(const uint8_t* payload, const Header& header) {
  constexpr const char* kWrongSize = "The mask's payload has not the size that its form has.";
  switch (header.form) {
    case kEmpty:
    case kFull:
      return header.payload_bytes == 0 ? nullptr : kWrongSize;
    case kRuns:
    case kEdges:
      if (header.payload_bytes == 0) return kWrongSize;
      return ForEachRunOfPayload(payload, header, [](uint32_t, uint32_t) {})
                 ? nullptr
                 : "The mask's runs are malformed.";
    default:
      break;
  }
  if (header.payload_bytes != BitsPayloadBytes(header.height, header.width)) return kWrongSize;
  const int used_bits = (header.width - 1) % kByteBits + 1;
  const size_t bytes_per_row = BytesPerRow(header.width);
  for (size_t last = bytes_per_row - 1; last < header.payload_bytes; last += bytes_per_row) {
    if (payload[last] >> used_bits != 0) return "The mask has bits past its width.";
  }
  return nullptr;
}

void SetPixelsInRowOrder(int64_t begin, int64_t end, MaskView mask) {
  for (int64_t y = begin / mask.width; y * mask.width < end; ++y) {
    const int64_t first = y * mask.width;
    bits::SetRange(mask.Row(static_cast<int>(y)),
                   static_cast<int>(std::max<int64_t>(begin - first, 0)),
                   static_cast<int>(std::min<int64_t>(end - first, mask.width)));
  }
}

// REQUIRES: a checked payload.
void ReadPayload(const uint8_t* payload, const Header& header, MaskView mask) {
  if (header.form == kFull) {
    SetAll(mask);
    return;
  }
  ClearAll(mask);
  if (header.form == kBits) {
    const auto bytes_per_row = static_cast<int>(BytesPerRow(mask.width));
    for (int y = 0; y < mask.height; ++y) {
      for (int i = 0; i < bytes_per_row; ++i) {
        mask.Row(y)[i / kByteBits] |= static_cast<uint64_t>(*payload++)
                                      << (i % kByteBits * kByteBits);
      }
    }
    return;
  }
  ForEachRunOfPayload(payload, header, [mask](uint32_t begin, uint32_t end) {
    SetPixelsInRowOrder(begin, end, mask);
  });
  if (header.form != kEdges) return;
  for (size_t i = static_cast<size_t>(mask.words_per_row); i < mask.word_count(); ++i) {
    mask.words[i] ^= mask.words[i - static_cast<size_t>(mask.words_per_row)];
  }
}

}  // namespace

size_t EncodeMask(ConstMaskView mask, uint8_t* bytes) {
  Form form = kEmpty;
  size_t payload_bytes = 0;
  const int64_t active = CountActive(mask);
  if (active == mask.pixel_count()) {
    form = kFull;
  } else if (active > 0) {
    form = kRuns;
    payload_bytes = NumbersPayloadBytes(mask, kRuns);
    const auto take_if_smaller = [&](Form other, size_t other_bytes) {
      if (other_bytes >= payload_bytes) return;
      form = other;
      payload_bytes = other_bytes;
    };
    take_if_smaller(kEdges, NumbersPayloadBytes(mask, kEdges));
    take_if_smaller(kBits, BitsPayloadBytes(mask.height, mask.width));
  }
  bytes[0] = kMagic;
  bytes[1] = kVersion;
  bytes[2] = form;
  bytes[3] = 0;
  WriteUint32(static_cast<uint32_t>(mask.height), bytes + 4);
  WriteUint32(static_cast<uint32_t>(mask.width), bytes + 8);
  WriteUint32(static_cast<uint32_t>(payload_bytes), bytes + 12);
  if (form == kBits) {
    WriteBits(mask, bytes + kHeaderBytes);
  } else if (payload_bytes > 0) {
    WriteNumbers(mask, form, bytes + kHeaderBytes);
  }
  return kHeaderBytes + payload_bytes;
}

const char* DecodeMask(const uint8_t* bytes, size_t size, MaskView mask) {
  Header header;
  if (const char* error = ReadHeader(bytes, size, &header)) return error;
  if (header.height != mask.height || header.width != mask.width) {
    return "The mask has not the size that it must have.";
  }
  if (const char* error = CheckPayload(bytes + kHeaderBytes, header)) return error;
  ReadPayload(bytes + kHeaderBytes, header, mask);
  return nullptr;
}

const char* DecodeMask(const uint8_t* bytes, size_t size, size_t max_words, Mask* mask) {
  Header header;
  if (const char* error = ReadHeader(bytes, size, &header)) return error;
  if (MaskWords(header.height, header.width) > max_words) {
    return "The mask is larger than allowed.";
  }
  if (const char* error = CheckPayload(bytes + kHeaderBytes, header)) return error;
  *mask = Mask(header.height, header.width);
  ReadPayload(bytes + kHeaderBytes, header, *mask);
  return nullptr;
}

}  // namespace cacheinf
