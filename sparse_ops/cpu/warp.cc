#include "sparse_ops/warp.h"

#include "sparse_ops/cpu/cpu.h"
#include "sparse_ops/cpu/warp_kernels.h"
#include "sparse_ops/mask/bits.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf::cpu {
namespace {

static_assert(WarpSources::kMaxCount == bits::kWordBits, "sources are those of a mask's word");

void FetchRow(const WarpArgs& args, const WarpKernels& kernels, int y) {
  WarpSources sources;
  for (int word = 0; word < args.wanted.words_per_row; ++word) {
    uint64_t outside = 0;
    bits::ForEachRun(args.wanted.Row(y) + word, 1, [&](int begin, int end) {
      const int x = word * bits::kWordBits + begin;
      kernels.locate(args, y, x, end - begin, &sources);
      for (int i = 0; i < sources.count; ++i) {
        outside |= uint64_t{sources.rows[i] < 0} << (begin + i);
      }
      for (int n = 0; n < args.to.batch; ++n) {
        kernels.fetch(sources, args.from, n, args.to.Pixel(n, y, x), args.to.pixel_stride);
      }
    });
    if (outside != 0 && args.out_of_view.words != nullptr) args.out_of_view.Row(y)[word] |= outside;
  }
}

}  // namespace

// Threads share out whole rows, because the words of a mask belong to one row each.
void Compute(const WarpArgs& args, ThreadPool& pool) {
  // With fewer numbers, waking a second thread costs more than it saves: they are only copied.
  constexpr int64_t kParallelWork = 64 * 1024;
  const WarpKernels& kernels = ChooseWarpKernels();
  const bool is_one = pool.threads() == 1 ||
                      CountActive(args.wanted) * args.to.batch * args.to.channels < kParallelWork;
  if (is_one) {
    for (int y = 0; y < args.to.height; ++y) FetchRow(args, kernels, y);
  } else {
    pool.ParallelFor(args.to.height, [&](int y, int) { FetchRow(args, kernels, y); });
  }
}

}  // namespace cacheinf::cpu
