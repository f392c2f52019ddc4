#include "sparse_ops/mask/bits.h"

#include <algorithm>

namespace cacheinf::bits {
namespace {

// Moves the even bits together.
uint64_t Halve(uint64_t word) {
  word &= 0x5555555555555555;
  word = (word | word >> 1) & 0x3333333333333333;
  word = (word | word >> 2) & 0x0f0f0f0f0f0f0f0f;
  word = (word | word >> 4) & 0x00ff00ff00ff00ff;
  word = (word | word >> 8) & 0x0000ffff0000ffff;
  return (word | word >> 16) & 0x00000000ffffffff;
}

// Moves the lower 32 bits to the even places.
uint64_t Double(uint64_t word) {
  word &= 0x00000000ffffffff;
  word = (word | word << 16) & 0x0000ffff0000ffff;
  word = (word | word << 8) & 0x00ff00ff00ff00ff;
  word = (word | word << 4) & 0x0f0f0f0f0f0f0f0f;
  word = (word | word << 2) & 0x3333333333333333;
  return (word | word << 1) & 0x5555555555555555;
}

// Spread for a step that divides a word; every bit of `from` becomes `pattern`.
void SpreadWithinWords(const uint64_t* from, int from_words, int step, uint64_t pattern,
                       uint64_t* to, int to_words) {
  const int used = kWordBits / step;
  const int filled = static_cast<int>(std::min<int64_t>(to_words, int64_t{from_words} * step));
  for (int i = 0; i < filled; ++i) {
    uint64_t word = from[i / step] >> (i % step * used) & LowBits(used);
    for (int s = 1; s < step; s *= 2) word = Double(word);
    to[i] = word * pattern;
  }
  std::fill(to + filled, to + to_words, 0);
}

}  // namespace

void Shift(const uint64_t* from, int from_words, int64_t distance, uint64_t* to, int to_words) {
  const int shift = static_cast<int>((distance % kWordBits + kWordBits) % kWordBits);
  const int64_t first = (distance - shift) / kWordBits;
  const auto word_at = [&](int64_t i) { return i >= 0 && i < from_words ? from[i] : 0; };
  if (shift == 0) {
    for (int i = 0; i < to_words; ++i) to[i] = word_at(first + i);
    return;
  }
  // Words before `begin`, and from `end` on, reach outside `from`.
  const int begin = static_cast<int>(std::clamp<int64_t>(-first, 0, to_words));
  const int end = static_cast<int>(std::clamp<int64_t>(from_words - 1 - first, begin, to_words));
  const auto edge = [&](int i) {
    to[i] = word_at(first + i) >> shift | word_at(first + i + 1) << (kWordBits - shift);
  };
  for (int i = 0; i < begin; ++i) edge(i);
  for (int i = begin; i < end; ++i) {
    to[i] = from[first + i] >> shift | from[first + i + 1] << (kWordBits - shift);
  }
  for (int i = end; i < to_words; ++i) edge(i);
}

void OrFromAbove(uint64_t* row, int words, int distance) {
  const int skip = distance / kWordBits;
  const int shift = distance % kWordBits;
  if (shift == 0) {
    for (int i = 0; i + skip < words; ++i) row[i] |= row[i + skip];
    return;
  }
  for (int i = 0; i + skip + 1 < words; ++i) {
    row[i] |= row[i + skip] >> shift | row[i + skip + 1] << (kWordBits - shift);
  }
  if (skip < words) row[words - 1 - skip] |= row[words - 1] >> shift;
}

void OrFromBelow(uint64_t* row, int words, int distance) {
  const int skip = distance / kWordBits;
  const int shift = distance % kWordBits;
  if (shift == 0) {
    for (int i = words - 1; i >= skip; --i) row[i] |= row[i - skip];
    return;
  }
  for (int i = words - 1; i > skip; --i) {
    row[i] |= row[i - skip] << shift | row[i - skip - 1] >> (kWordBits - shift);
  }
  if (skip < words) row[skip] |= row[0] << shift;
}

void OrManyFromAbove(uint64_t* row, int words, int count, int step) {
  for (int covered = 1; covered < count; covered += std::min(covered, count - covered)) {
    OrFromAbove(row, words, std::min(covered, count - covered) * step);
  }
}

void OrManyFromBelow(uint64_t* row, int words, int count, int step) {
  for (int covered = 1; covered < count; covered += std::min(covered, count - covered)) {
    OrFromBelow(row, words, std::min(covered, count - covered) * step);
  }
}

uint64_t PickFromWord(uint64_t word, int step) {
  for (int s = 1; s < step; s *= 2) word = Halve(word);
  return word;
}

void Pick(const uint64_t* from, int from_words, int step, uint64_t* to, int to_words) {
  if (!DividesWord(step)) {
    std::fill(to, to + to_words, 0);
    ForEachBit(from, from_words, [&](int i) {
      const int at = i / step;
      if (i % step == 0 && at < to_words * kWordBits) SetRange(to, at, at + 1);
    });
    return;
  }
  const int used = kWordBits / step;
  for (int i = 0; i < to_words; ++i) {
    uint64_t picked = 0;
    for (int part = 0; part < step && int64_t{i} * step + part < from_words; ++part) {
      picked |= PickFromWord(from[i * step + part], step) << (part * used);
    }
    to[i] = picked;
  }
}

void Spread(const uint64_t* from, int from_words, int step, uint64_t* to, int to_words) {
  if (DividesWord(step)) {
    SpreadWithinWords(from, from_words, step, 1, to, to_words);
    return;
  }
  std::fill(to, to + to_words, 0);
  ForEachBit(from, from_words, [&](int i) {
    const int64_t at = int64_t{i} * step;
    if (at < int64_t{to_words} * kWordBits) {
      SetRange(to, static_cast<int>(at), static_cast<int>(at) + 1);
    }
  });
}

void Repeat(const uint64_t* from, int from_words, int times, uint64_t* to, int to_words) {
  if (DividesWord(times)) {
    SpreadWithinWords(from, from_words, times, LowBits(times), to, to_words);
    return;
  }
  std::fill(to, to + to_words, 0);
  const int64_t size = int64_t{to_words} * kWordBits;
  ForEachRun(from, from_words, [&](int begin, int end) {
    SetRange(to, static_cast<int>(std::min(int64_t{begin} * times, size)),
             static_cast<int>(std::min(int64_t{end} * times, size)));
  });
}

}  // namespace cacheinf::bits
