#include "sparse_ops/cpu/warp.h"

#include "sparse_ops/cpu/warp_kernels.h"
#include "sparse_ops/mask/bits.h"

namespace cacheinf {
namespace cpu {
namespace {

static_assert(WarpSources::kMaxCount == bits::kWordBits, "sources are those of a mask's word");

// Whether any of the pixels that this one is made of is missing.
bool ReadsMissing(ConstMaskView missing, int32_t row, int32_t column) {
  const int y = row / kPositionParts;
  const int x = column / kPositionParts;
  const int x_end = x + (column % kPositionParts != 0 ? 2 : 1);
  return bits::AnyInRange(missing.Row(y), x, x_end) ||
         (row % kPositionParts != 0 && bits::AnyInRange(missing.Row(y + 1), x, x_end));
}

void DropMissing(ConstMaskView missing, WarpSources* sources) {
  for (int i = 0; i < sources->count; ++i) {
    if (sources->rows[i] < 0 || !ReadsMissing(missing, sources->rows[i], sources->columns[i])) {
      continue;
    }
    sources->rows[i] = WarpSources::kOutOfView;
    sources->columns[i] = WarpSources::kOutOfView;
  }
}

// Calls wanted(y, word) for the bits of a word of row y that are to be fetched.
template <typename Wanted>
void FetchRow(const WarpArgs& args, const WarpKernels& kernels, int y, const Wanted& wanted,
              MaskView out_of_view) {
  WarpSources sources;
  for (int word = 0; word < out_of_view.words_per_row; ++word) {
    const uint64_t pixels = wanted(y, word);
    uint64_t outside = 0;
    bits::ForEachRun(&pixels, 1, [&](int begin, int end) {
      const int x = word * bits::kWordBits + begin;
      kernels.locate(args, y, x, end - begin, &sources);
      if (args.missing.words != nullptr) DropMissing(args.missing, &sources);
      for (int i = 0; i < sources.count; ++i) {
        outside |= uint64_t{sources.rows[i] < 0} << (begin + i);
      }
      for (int n = 0; n < args.to.batch; ++n) {
        kernels.fetch(sources, args.from, n, args.to.Pixel(n, y, x), args.to.pixel_stride);
      }
    });
    if (outside != 0) out_of_view.Row(y)[word] |= outside;
  }
}

// Rows are shared out: the masks' words are those of one row each.
template <typename Wanted>
void Fetch(const WarpArgs& args, Range rows, const Wanted& wanted, MaskView out_of_view,
           ThreadPool& pool) {
  if (args.from_of_to.IsIdentity()) return;
  const WarpKernels& kernels = ChooseWarpKernels();
  const auto count_pixels = [&] {
    int64_t count = 0;
    for (int y = rows.begin; y < rows.end; ++y) {
      for (int word = 0; word < out_of_view.words_per_row; ++word) {
        count += static_cast<int64_t>(bits::CountBits(wanted(y, word)));
      }
    }
    return count;
  };
  // Below so many numbers waking a second thread costs more than it brings: they are only copied.
  constexpr int64_t kParallelWork = 64 * 1024;
  const bool is_one =
      pool.threads() == 1 || count_pixels() * args.to.batch * args.to.channels < kParallelWork;
  if (is_one) {
    for (int y = rows.begin; y < rows.end; ++y) FetchRow(args, kernels, y, wanted, out_of_view);
    return;
  }
  pool.ParallelFor(rows.size(), [&](int row, int) {
    FetchRow(args, kernels, rows.begin + row, wanted, out_of_view);
  });
}

}  // namespace

void HaloFetch(const WarpArgs& args, ConstMaskView needed, ConstMaskView active, Range rows,
               MaskView out_of_view, ThreadPool& pool) {
  const auto wanted = [&](int y, int word) { return needed.Row(y)[word] & ~active.Row(y)[word]; };
  Fetch(args, rows, wanted, out_of_view, pool);
}

void WarpAndMerge(const WarpArgs& args, ConstMaskView active, Range rows, MaskView out_of_view,
                  ThreadPool& pool) {
  const int last = active.words_per_row - 1;
  const uint64_t in_last = bits::LowBits(active.width - last * bits::kWordBits);
  const auto wanted = [&](int y, int word) {
    return ~active.Row(y)[word] & (word == last ? in_last : ~uint64_t{0});
  };
  Fetch(args, rows, wanted, out_of_view, pool);
}

}  // namespace cpu
}  // namespace cacheinf
