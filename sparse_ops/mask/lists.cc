#include "sparse_ops/mask/lists.h"

#include "sparse_ops/mask/bits.h"

namespace cacheinf {
namespace {

// Like PackBytes, for at most 64 bytes.
uint64_t PackSomeBytes(const uint8_t* bytes, int count) {
  constexpr int kAtOnce = 8;
  uint64_t packed = 0;
  int i = 0;
  for (; i + kAtOnce <= count; i += kAtOnce) packed |= bits::PackBytes(bytes + i) << i;
  for (; i < count; ++i) packed |= static_cast<uint64_t>(bytes[i]) << i;
  return packed;
}

}  // namespace

void RunList::Assign(ConstMaskView mask, Range rows) {
  // Runs are opened and closed separately, so that neither waits for the other.
  PixelRun* opened = runs_.data();
  PixelRun* closed = runs_.data();
  int* before = before_.data();
  *before = 0;
  const auto close = [&](int end) {
    closed->end = end;
    before[1] = before[0] + end - closed->begin;
    ++before;
    ++closed;
  };
  for (int y = rows.begin; y < rows.end; ++y) {
    const uint64_t* row = mask.Row(y);
    uint64_t bit_before = 0;
    for (int i = 0; i < mask.words_per_row; ++i) {
      const uint64_t shifted = row[i] << 1 | bit_before;
      const int first = i * bits::kWordBits;
      for (uint64_t begins = row[i] & ~shifted; begins != 0; begins &= begins - 1) {
        opened->row = y;
        opened->begin = first + bits::LowestBit(begins);
        ++opened;
      }
      for (uint64_t ends = ~row[i] & shifted; ends != 0; ends &= ends - 1) {
        close(first + bits::LowestBit(ends));
      }
      bit_before = row[i] >> (bits::kWordBits - 1);
    }
    if (bit_before != 0) close(mask.width);
  }
  rows_ = rows;
  run_count_ = static_cast<int>(closed - runs_.data());
}

void ClearUnchanged(const ActivePixels& pixels, const uint8_t* changed, MaskView mask) {
  for (int i = 0; i < pixels.run_count; ++i) {
    const PixelRun& run = pixels.runs[i];
    uint64_t* row = mask.Row(run.row);
    const uint8_t* next = changed + pixels.pixels_before[i];
    bits::ForEachWordOf(run.begin, run.end, [&](int word, uint64_t range) {
      const int count = static_cast<int>(bits::CountBits(range));
      const uint64_t kept = PackSomeBytes(next, count) << bits::LowestBit(range);
      row[word] &= ~range | kept;
      next += count;
    });
  }
}

}  // namespace cacheinf
