#include "sparse_ops/cuda/emulated/warpgroup.h"

#include <algorithm>
#include <cstring>

#include "sparse_ops/cuda/emulated/processor.h"
#include "sparse_ops/cuda/numbers.h"

namespace cacheinf::cuda {
namespace {

constexpr int kRowsOfWarp = 16;
constexpr int kColumns = 8;    // of a core matrix
constexpr int kRowBytes = 16;  // of one of its columns
constexpr int kRowWords = kRowBytes / 4;

// The descriptor's bits, and its fields, which count units of 16 bytes.
constexpr uint64_t kDescriptorBits = 0x00003fff3fff3fff;
uintptr_t Bytes(uint64_t descriptor, int shift) { return (descriptor >> shift & 0x3fff) * 16; }

}  // namespace

void Warpgroup::ForEachRow(uint64_t b, int columns, const auto& visit) {
  for (int half = 0; half < 2; ++half) {
    for (int column = 0; column < columns; ++column) {
      const uintptr_t offset = Bytes(b, 0) + static_cast<uintptr_t>(half) * Bytes(b, 16) +
                               static_cast<uintptr_t>(column / kColumns) * Bytes(b, 32) +
                               static_cast<uintptr_t>(column % kColumns) * kRowBytes;
      visit(half, column, kSharedMemory + offset);
    }
  }
}

void Warpgroup::Begin() {
  for (Warp& warp : warps_) {
    for (Fenced& fenced : warp.fenced) fenced.registers = {};
    warp.under_way.clear();
    warp.readings.clear();
    warp.committed = 0;
    warp.calls = 0;
  }
  calls_.clear();
}

void Warpgroup::End() const {
  for (size_t i = 0; i < warps_.size(); ++i) {
    if (warps_[i].calls == calls_.size()) continue;
    processor_.Fail(static_cast<int>(i) * kWarp, calls_[warps_[i].calls].place,
                    "does not multiply with the other warps of its warpgroup");
  }
}

void Warpgroup::Fence(int thread, void* const* slots) {
  for (size_t lane = 0; lane < kWarp; ++lane) {
    Fenced& fenced = Of(thread).fenced[lane];
    fenced.registers = *static_cast<const Registers*>(slots[lane]);
    const Registers& now = fenced.registers;
    fenced.sums.assign(now.sums, now.sums + now.sum_count);
    fenced.a.assign(now.a, now.a + now.a_count);
  }
}

void Warpgroup::Multiply(int thread, const Format& format, int columns, void* const* slots,
                         Place place) {
  const auto factors = [&](int lane) { return static_cast<const Factors*>(slots[lane]); };
  for (int lane = 1; lane < kWarp; ++lane) {
    if (factors(lane)->b != factors(0)->b) {
      processor_.Fail(thread, place, "says another b than other lanes");
    }
  }
  const uint64_t b = factors(0)->b;
  if ((b & ~kDescriptorBits) != 0) processor_.Fail(thread, place, "says b with unknown bits");
  Compare(thread, {b, columns, place});

  std::vector<unsigned> words(static_cast<size_t>(2 * columns * kRowWords));
  ForEachRow(b, columns, [&](int half, int column, uintptr_t address) {
    std::memcpy(&words[static_cast<size_t>((half * columns + column) * kRowWords)],
                processor_.ReadShown(thread, address, kRowBytes, place), kRowBytes);
  });
  UnderWay& under_way = Begun(thread, columns, slots, place);
  const int depth = kColumns * format.per_word;
  for (int row = 0; row < kRowsOfWarp; ++row) {
    for (int column = 0; column < columns; ++column) {
      const size_t lane = static_cast<size_t>(row % 8 * 4 + column % kColumns / 2);
      float& sum =
          under_way
              .values[lane][static_cast<size_t>(column / kColumns * 4 + row / 8 * 2 + column % 2)];
      for (int k = 0; k < depth; ++k) {
        const int half = k / (depth / 2);
        const int word = k / format.per_word % kRowWords;
        const unsigned a_word = factors(row % 8 * 4 + word)->a[half * 2 + row / 8];
        const unsigned b_word =
            words[static_cast<size_t>((half * columns + column) * kRowWords + word)];
        sum = Fma(format.number(a_word, k % format.per_word),
                  format.number(b_word, k % format.per_word), sum);
      }
    }
  }
  Warp& warp = Of(thread);
  under_way.group = warp.committed;
  warp.readings.push_back({warp.committed, processor_.NextMoment(), b, columns});
}

// Takes over the lanes' sums, and fills them with garbage until they are waited for.
Warpgroup::UnderWay& Warpgroup::Begun(int thread, int columns, void* const* slots, Place place) {
  const int count = columns / kColumns * 4;
  Warp& warp = Of(thread);
  const auto* const first = static_cast<const Factors*>(slots[0]);
  const auto known = std::find_if(warp.under_way.begin(), warp.under_way.end(),
                                  [&](const UnderWay& u) { return u.sums[0] == first->sums; });
  const bool are_under_way = known != warp.under_way.end();
  for (int lane = 0; lane < kWarp; ++lane) {
    CheckRegisters(thread, lane, *static_cast<const Factors*>(slots[lane]), count, are_under_way,
                   place);
  }
  if (are_under_way) return *known;
  UnderWay& under_way = warp.under_way.emplace_back();
  for (size_t lane = 0; lane < kWarp; ++lane) {
    float* const sums = static_cast<const Factors*>(slots[lane])->sums;
    under_way.sums[lane] = sums;
    under_way.values[lane].assign(sums, sums + count);
    std::fill_n(sums, count, FromBits(kGarbage));
  }
  return under_way;
}

void Warpgroup::CheckRegisters(int thread, int lane, const Factors& factors, int sums,
                               bool are_under_way, Place place) {
  const Fenced& fenced = Of(thread).fenced[static_cast<size_t>(lane)];
  const Registers& registers = fenced.registers;
  const int who = thread / kWarp * kWarp + lane;
  const auto is_within = [](const auto* part, size_t count, const auto* all, size_t all_count) {
    return all != nullptr && part >= all && part + count <= all + all_count;
  };
  const auto count = static_cast<size_t>(sums);
  if (!is_within(factors.a, 4, registers.a, registers.a_count) ||
      (!are_under_way && !is_within(factors.sums, count, registers.sums, registers.sum_count))) {
    processor_.Fail(who, place, "multiplies registers that were not fenced");
  }
  const auto is_as_fenced = [](const auto* part, size_t some, const auto* all, const auto& then) {
    return std::memcmp(part, then.data() + (part - all), some * sizeof(*part)) == 0;
  };
  if (!is_as_fenced(factors.a, 4, registers.a, fenced.a) ||
      (!are_under_way && !is_as_fenced(factors.sums, count, registers.sums, fenced.sums))) {
    processor_.Fail(who, place, "multiplies registers that changed since they were fenced");
  }
}

void Warpgroup::Compare(int thread, const Call& call) {
  const size_t index = Of(thread).calls++;
  if (index == calls_.size()) {
    calls_.push_back(call);
    return;
  }
  const Call& other = calls_[index];
  if (other.b != call.b || other.columns != call.columns || !IsSame(other.place, call.place)) {
    processor_.Fail(thread, call.place,
                    "multiplies with warps of its warpgroup that multiply otherwise, at " +
                        NameOf(other.place));
  }
}

void Warpgroup::Wait(int thread, int but_last, Place place) {
  Warp& warp = Of(thread);
  const auto is_done = [&](int group) { return group < warp.committed - but_last; };
  for (const Reading& reading : warp.readings) {
    if (!is_done(reading.group)) continue;
    ForEachRow(reading.b, reading.columns, [&](int, int, uintptr_t address) {
      processor_.CheckNotWrittenSince(thread, address, kRowBytes, reading.moment, place);
    });
  }
  const auto readings =
      std::remove_if(warp.readings.begin(), warp.readings.end(),
                     [&](const Reading& reading) { return is_done(reading.group); });
  warp.readings.erase(readings, warp.readings.end());
  for (const UnderWay& under_way : warp.under_way) {
    if (!is_done(under_way.group)) continue;
    for (size_t lane = 0; lane < kWarp; ++lane) {
      float* const sums = under_way.sums[lane];
      const std::vector<float>& values = under_way.values[lane];
      if (std::any_of(sums, sums + values.size(),
                      [](const float& x) { return BitsOf(x) != kGarbage; })) {
        processor_.Fail(thread / kWarp * kWarp + static_cast<int>(lane), place,
                        "changed sums that were under way");
      }
      std::copy(values.begin(), values.end(), sums);
    }
  }
  const auto sums = std::remove_if(warp.under_way.begin(), warp.under_way.end(),
                                   [&](const UnderWay& u) { return is_done(u.group); });
  warp.under_way.erase(sums, warp.under_way.end());
  // The landed sums must be fenced again before another instruction takes them.
  for (Fenced& fenced : warp.fenced) fenced.registers = {};
}

void Warpgroup::CheckNothingIsUnderWay(int thread, Place place) const {
  const auto warp = static_cast<size_t>(thread / kWarp);
  if (warp < warps_.size() && !warps_[warp].under_way.empty()) {
    processor_.Fail(thread, place, "ends without having waited for its matrix instructions");
  }
}

}  // namespace cacheinf::cuda
