#include "sparse_ops/mask/lists.h"

#include <algorithm>

#include "sparse_ops/mask/bits.h"

namespace cacheinf {
namespace {

constexpr int kLargestPattern = 16;

// Columns [begin, begin + width) of a row. REQUIRES: width <= 64.
template <bool kWithinWord>
uint64_t BitsAt(const uint64_t* row, int words, int begin, int width) {
  const int word = begin / bits::kWordBits;
  const int shift = begin % bits::kWordBits;
  uint64_t found = row[word] >> shift;
  if (!kWithinWord && shift + width > bits::kWordBits && word + 1 < words) {
    found |= row[word + 1] << (bits::kWordBits - shift);
  }
  return found & bits::LowBits(width);
}

uint64_t WithoutBitsBelow(int bit, uint64_t word) {
  return word & ~bits::LowBits(std::clamp(bit, 0, bits::kWordBits));
}

// ListTiles for tiles of kWidth columns, which divides a word, or of any width if it is 0.
template <int kWidth>
int ListTilesOfWidth(ConstMaskView mask, Range rows, int tile_height, int any_width,
                     ActiveTile* tiles) {
  const int tile_width = kWidth != 0 ? kWidth : any_width;
  const bool has_pattern = tile_height * tile_width <= kLargestPattern;
  ActiveTile* end = tiles;
  for (int y = rows.begin; y < rows.end;) {
    const int first_row = y / tile_height * tile_height;
    const Range part{y, std::min(first_row + tile_height, rows.end)};
    const auto pattern_at = [&](int column) {
      uint64_t pattern = 0;
      for (int i = part.begin; i < part.end; ++i) {
        pattern |= BitsAt<kWidth != 0>(mask.Row(i), mask.words_per_row, column, tile_width)
                   << ((i - first_row) * tile_width);
      }
      return static_cast<uint16_t>(pattern);
    };
    int listed_columns = 0;
    for (int i = 0; i < mask.words_per_row; ++i) {
      const int first = i * bits::kWordBits;
      const uint64_t united = bits::UniteWords(mask.Row(y) + i, mask.words_per_row, part.size());
      uint64_t rest = WithoutBitsBelow(listed_columns - first, united);
      while (rest != 0) {
        const int column = (first + bits::LowestBit(rest)) / tile_width * tile_width;
        *end++ = {first_row, column, has_pattern ? pattern_at(column) : uint16_t{0}};
        listed_columns = column + tile_width;
        rest = WithoutBitsBelow(listed_columns - first, rest);
      }
    }
    y = part.end;
  }
  return static_cast<int>(end - tiles);
}

// As PackBytes, of at most 64.
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
  // Runs are opened and closed on their own, so that neither waits for the other.
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

int ListPixels(ConstMaskView mask, Range rows, int32_t* pixels) {
  int32_t* end = pixels;
  for (int y = rows.begin; y < rows.end; ++y) {
    const int32_t first = y * mask.width;
    bits::ForEachBit(mask.Row(y), mask.words_per_row, [&](int x) { *end++ = first + x; });
  }
  return static_cast<int>(end - pixels);
}

int ListTiles(ConstMaskView mask, Range rows, int tile_height, int tile_width, ActiveTile* tiles) {
  switch (tile_width) {
    case 2:
      return ListTilesOfWidth<2>(mask, rows, tile_height, tile_width, tiles);
    case 4:
      return ListTilesOfWidth<4>(mask, rows, tile_height, tile_width, tiles);
    default:
      return ListTilesOfWidth<0>(mask, rows, tile_height, tile_width, tiles);
  }
}

void SetPixels(const ActivePixels& pixels, MaskView mask) {
  if (!pixels.is_sparse) {
    SetRectangle(pixels.rows, {0, mask.width}, mask);
    return;
  }
  for (int i = 0; i < pixels.run_count; ++i) {
    const PixelRun& run = pixels.runs[i];
    bits::SetRange(mask.Row(run.row), run.begin, run.end);
  }
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
