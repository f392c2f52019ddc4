#ifndef CACHEINF_SPARSE_OPS_MASK_BITS_H_
#define CACHEINF_SPARSE_OPS_MASK_BITS_H_

#include <cstdint>

// Rows of bits, 64 per word: bit i of a row is bit i % 64 of its word i / 64. Bits before the first
// word and after the last count as zero.

namespace cacheinf::bits {

constexpr int kWordBits = 64;

constexpr bool DividesWord(int step) { return step <= kWordBits && kWordBits % step == 0; }

constexpr int WordsFor(int64_t bit_count) {
  return static_cast<int>((bit_count + kWordBits - 1) / kWordBits);
}

// The lowest `count` bits. REQUIRES: 0 <= count <= 64.
constexpr uint64_t LowBits(int count) {
  return count == kWordBits ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

// REQUIRES: word != 0.
inline int LowestBit(uint64_t word) { return __builtin_ctzll(word); }

// Uses plain arithmetic, so that a loop of it needs no special instruction.
inline uint64_t CountBits(uint64_t word) {
  word -= (word >> 1) & 0x5555555555555555;
  word = (word & 0x3333333333333333) + ((word >> 2) & 0x3333333333333333);
  word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
  word += word >> 8;
  word += word >> 16;
  return (word + (word >> 32)) & 0x7f;
}

// Calls visit(word, bits) for every word that [begin, end) touches; `bits` are those in the range.
template <typename Visit>
void ForEachWordOf(int begin, int end, const Visit& visit) {
  if (begin >= end) return;
  const int first = begin / kWordBits;
  const int last = (end - 1) / kWordBits;
  const uint64_t from_begin = ~LowBits(begin % kWordBits);
  const uint64_t to_end = LowBits((end - 1) % kWordBits + 1);
  if (first == last) {
    visit(first, from_begin & to_end);
    return;
  }
  visit(first, from_begin);
  for (int word = first + 1; word < last; ++word) visit(word, ~uint64_t{0});
  visit(last, to_end);
}

inline void SetRange(uint64_t* row, int begin, int end) {
  ForEachWordOf(begin, end, [row](int word, uint64_t range) { row[word] |= range; });
}

inline void ClearRange(uint64_t* row, int begin, int end) {
  ForEachWordOf(begin, end, [row](int word, uint64_t range) { row[word] &= ~range; });
}

inline bool AnyInRange(const uint64_t* row, int begin, int end) {
  uint64_t any = 0;
  ForEachWordOf(begin, end, [&](int word, uint64_t range) { any |= row[word] & range; });
  return any != 0;
}

// The union of one word of `rows` rows, words_per_row apart. REQUIRES: rows >= 1.
inline uint64_t UniteWords(const uint64_t* word, int words_per_row, int rows) {
  uint64_t united = *word;
  for (int y = 1; y < rows; ++y) united |= *(word += words_per_row);
  return united;
}

// Calls visit(i) for every bit that is set, in ascending order.
template <typename Visit>
void ForEachBit(const uint64_t* row, int words, const Visit& visit) {
  for (int word = 0; word < words; ++word) {
    for (uint64_t rest = row[word]; rest != 0; rest &= rest - 1) {
      visit(word * kWordBits + LowestBit(rest));
    }
  }
}

// Calls visit(begin, end) for every longest run of set bits, in ascending order; word_at(i) returns
// word i of the row.
template <typename WordAt, typename Visit>
void ForEachRun(const WordAt& word_at, int words, const Visit& visit) {
  uint64_t bit_before = 0;
  int begin = 0;
  for (int i = 0; i < words; ++i) {
    const uint64_t word = word_at(i);
    uint64_t edges = word ^ (word << 1 | bit_before);
    uint64_t is_open = bit_before;
    for (; edges != 0; edges &= edges - 1, is_open ^= 1) {
      const int at = i * kWordBits + LowestBit(edges);
      if (is_open == 0) {
        begin = at;
      } else {
        visit(begin, at);
      }
    }
    bit_before = word >> (kWordBits - 1);
  }
  if (bit_before != 0) visit(begin, words * kWordBits);
}

template <typename Visit>
void ForEachRun(const uint64_t* row, int words, const Visit& visit) {
  ForEachRun([row](int word) { return row[word]; }, words, visit);
}

// Packs 8 bytes that are 0 or 1; byte i goes to bit i.
inline uint64_t PackBytes(const uint8_t* bytes) {
  uint64_t packed = 0;
  for (int i = 0; i < 8; ++i) packed |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  return packed * 0x0102040810204080 >> 56;
}

// to[i] = from[i + distance]; `distance` may be negative. The rows must not overlap.
void Shift(const uint64_t* from, int from_words, int64_t distance, uint64_t* to, int to_words);

// row[i] = row[i] | row[i + distance], or row[i - distance]. REQUIRES: distance >= 0.
void OrFromAbove(uint64_t* row, int words, int distance);
void OrFromBelow(uint64_t* row, int words, int distance);

// row[i] = row[i] | row[i + step] | … | row[i + (count - 1) step]; or with minus signs.
// REQUIRES: count >= 1, step >= 0.
void OrManyFromAbove(uint64_t* row, int words, int count, int step);
void OrManyFromBelow(uint64_t* row, int words, int count, int step);

// Moves the bits 0, step, 2 step … of a word together. REQUIRES: a power of two up to 64.
uint64_t PickFromWord(uint64_t word, int step);

// to[i] = from[i step]. REQUIRES: step >= 1; the rows do not overlap.
void Pick(const uint64_t* from, int from_words, int step, uint64_t* to, int to_words);

// to[i step] = from[i], all others zero. REQUIRES: step >= 1; the rows do not overlap.
void Spread(const uint64_t* from, int from_words, int step, uint64_t* to, int to_words);

// to[i] = from[i / times]. REQUIRES: times >= 1; the rows do not overlap.
void Repeat(const uint64_t* from, int from_words, int times, uint64_t* to, int to_words);

}  // namespace cacheinf::bits

#endif  // CACHEINF_SPARSE_OPS_MASK_BITS_H_
