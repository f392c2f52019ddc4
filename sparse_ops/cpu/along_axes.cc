#include <algorithm>
#include <cmath>

#include "sparse_ops/cpu/cpu.h"
#include "sparse_ops/cpu/row_kernels.h"
#include "sparse_ops/cpu/runs.h"
#include "sparse_ops/cpu/window_kernels.h"
#include "sparse_ops/reference/reference.h"

namespace cacheinf::cpu {
namespace {

bool IsContiguousAlong(const ConstTensorView& view, int axis) {
  return view.strides[axis] == 1 || view.dims[axis] == 1;
}

// Calls fn(in, out) with the addresses of index 0 along `axis`, for every active index of the other
// axes. An operator along a map's rows is not local, so it gets all of them at once.
void ForEachAcross(const ConstTensorView& input, const TensorView& output, int axis,
                   const ActivePixels& pixels, ThreadPool& pool, const auto& fn) {
  const auto dims = SliceAxis(input, axis, 0, 1).dims;
  const bool is_along_rows = input.rank == 4 && axis == 2;
  const Runs<2> runs(is_along_rows ? ActivePixels(Range{0, 1}) : pixels, input.rank, dims,
                     {output.strides.data(), input.strides.data()});
  const int64_t out_step = runs.inner_stride(0);
  const int64_t in_step = runs.inner_stride(1);
  runs.ForEach(
      pool,
      [&](const auto& at, int64_t count) {
        for (int64_t i = 0; i < count; ++i) {
          fn(input.data + at[1] + i * in_step, output.data + at[0] + i * out_step);
        }
      },
      input.dims[axis]);
}

bool IsMapWithChannelsTogether(const ConstTensorView& view) {
  return view.rank == 4 && IsContiguousAlong(view, 1);
}

// Reductions over the rows and columns of a map share out its images and channels among threads.
constexpr int kChannelsPerItem = 64;

PixelGrid WholePicture(const ConstImageView& map, int n, int first_channel) {
  return {map.Pixel(n, 0, 0) + first_channel, map.row_stride, map.pixel_stride, map.height,
          map.width};
}

// Some adjacent groups of one image: one with many channels, or enough small ones to make up
// kChannelsPerItem.
class GroupItem {
 public:
  GroupItem(const GroupNormArgs& args, const ConstImageView& input, int n, int first_group,
            int groups)
      : args_(args),
        input_(input),
        n_(n),
        group_channels_(input.channels / args.groups),
        first_channel_(first_group * group_channels_),
        channels_(groups * group_channels_),
        groups_(groups) {}

  void Run(const ImageView& output) {
    const WindowKernels& window_kernels = ChooseWindowKernels();
    const auto count = static_cast<float>(int64_t{group_channels_} * input_.height * input_.width);
    SumGroups([&](const PixelGrid& grid, int, int channels, float* sums) {
      window_kernels.sum(grid, channels, sums);
    });
    for (int group = 0; group < groups_; ++group) means_[group] = TotalOf(group) / count;
    SumGroups([&](const PixelGrid& grid, int first, int channels, float* sums) {
      float centers[kChannelsPerItem];
      for (int c = 0; c < channels; ++c) centers[c] = means_[(first + c) / group_channels_];
      window_kernels.sum_of_squares(grid, centers, channels, sums);
    });
    for (int group = 0; group < groups_; ++group) {
      const float variance = TotalOf(group) / count;
      inverse_deviations_[group] = 1.0f / std::sqrt(variance + args_.epsilon);
    }
    Normalise(output);
  }

 private:
  static constexpr int kSumLanes = 16;

  // Adds every channel to its group's lanes: sum(grid, first channel, channels, sums).
  void SumGroups(const auto& sum) {
    for (auto& lanes : lanes_) std::fill(std::begin(lanes), std::end(lanes), 0.0f);
    for (int first = 0; first < channels_; first += kChannelsPerItem) {
      const int channels = std::min(kChannelsPerItem, channels_ - first);
      float sums[kChannelsPerItem];
      sum(WholePicture(input_, n_, first_channel_ + first), first, channels, sums);
      for (int c = 0; c < channels; ++c) {
        const int in_group = (first + c) % group_channels_;
        lanes_[(first + c) / group_channels_][in_group % kSumLanes] += sums[c];
      }
    }
  }

  float TotalOf(int group) {
    float* lanes = lanes_[group];
    for (int half = kSumLanes / 2; half >= 1; half /= 2) {
      for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    }
    return lanes[0];
  }

  void Normalise(const ImageView& output) const {
    const RowKernels& kernels = ChooseRowKernels();
    for (int first = 0; first < channels_; first += kChannelsPerItem) {
      const int channels = std::min(kChannelsPerItem, channels_ - first);
      const int channel = first_channel_ + first;
      float means[kChannelsPerItem];
      float inverse_deviations[kChannelsPerItem];
      for (int c = 0; c < channels; ++c) {
        means[c] = means_[(first + c) / group_channels_];
        inverse_deviations[c] = inverse_deviations_[(first + c) / group_channels_];
      }
      const float* scale = args_.scale == nullptr ? nullptr : args_.scale + channel;
      const float* shift = args_.scale == nullptr ? nullptr : args_.shift + channel;
      for (int y = 0; y < input_.height; ++y) {
        for (int x = 0; x < input_.width; ++x) {
          kernels.normalise(input_.Pixel(n_, y, x) + channel, channels, means, inverse_deviations,
                            scale, shift, output.Pixel(n_, y, x) + channel);
        }
      }
    }
  }

  const GroupNormArgs& args_;
  const ConstImageView& input_;
  int n_;
  int group_channels_;
  int first_channel_;
  int channels_;
  int groups_;
  float lanes_[kChannelsPerItem][kSumLanes];
  float means_[kChannelsPerItem];
  float inverse_deviations_[kChannelsPerItem];
};

void ReducePicture(const ReduceArgs& args, ThreadPool& pool) {
  const WindowKernels& kernels = ChooseWindowKernels();
  const ConstImageView input = AsImage(args.input);
  const ImageView output = AsImage(args.output);
  const auto count = static_cast<float>(int64_t{input.height} * input.width);
  const int slices = (input.channels + kChannelsPerItem - 1) / kChannelsPerItem;
  pool.ParallelFor(input.batch * slices, [&](int index, int) {
    const int n = index / slices;
    const int first = index % slices * kChannelsPerItem;
    const int channels = std::min(kChannelsPerItem, input.channels - first);
    const PixelGrid grid = WholePicture(input, n, first);
    float* out = output.Pixel(n, 0, 0) + first;
    switch (args.kind) {
      case ReduceKind::kMean:
        kernels.sum(grid, channels, out);
        for (int c = 0; c < channels; ++c) out[c] /= count;
        break;
      case ReduceKind::kSum:
        kernels.sum(grid, channels, out);
        break;
      case ReduceKind::kMax:
        kernels.maximum(grid, channels, out);
        break;
      case ReduceKind::kMin:
        kernels.minimum(grid, channels, out);
        break;
    }
  });
}

}  // namespace

void Compute(const LayerNormArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  const int axis = args.first_axis;
  const bool is_row = args.axis_count == 1 && IsContiguousAlong(args.input, axis) &&
                      IsContiguousAlong(args.output, axis);
  if (!is_row) return reference::Compute(args, pixels);
  const RowKernels& kernels = ChooseRowKernels();
  const int64_t count = args.input.dims[axis];
  ForEachAcross(args.input, args.output, axis, pixels, pool, [&](const float* in, float* out) {
    kernels.layer_norm(in, count, args.epsilon, args.scale, args.shift, out);
  });
}

void Compute(const GroupNormArgs& args, ThreadPool& pool) {
  if (!IsMapWithChannelsTogether(args.input) || !IsMapWithChannelsTogether(args.output)) {
    return reference::Compute(args);
  }
  const ConstImageView input = AsImage(args.input);
  const ImageView output = AsImage(args.output);
  const int group_channels = input.channels / args.groups;
  const int groups_per_item = std::max(1, kChannelsPerItem / group_channels);
  const int items = (args.groups + groups_per_item - 1) / groups_per_item;
  pool.ParallelFor(input.batch * items, [&](int index, int) {
    const int first = index % items * groups_per_item;
    GroupItem item(args, input, index / items, first,
                   std::min(groups_per_item, args.groups - first));
    item.Run(output);
  });
}

void Compute(const SoftmaxArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  if (!IsContiguousAlong(args.input, args.axis) || !IsContiguousAlong(args.output, args.axis)) {
    return reference::Compute(args, pixels);
  }
  const RowKernels& kernels = ChooseRowKernels();
  const int64_t count = args.input.dims[args.axis];
  const auto softmax = args.logarithm ? kernels.log_softmax : kernels.softmax;
  ForEachAcross(args.input, args.output, args.axis, pixels, pool,
                [&](const float* in, float* out) { softmax(in, count, out); });
}

void Compute(const ArgMaxArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  if (!IsContiguousAlong(args.input, args.axis)) return reference::Compute(args, pixels);
  const RowKernels& kernels = ChooseRowKernels();
  const int64_t count = args.input.dims[args.axis];
  ForEachAcross(args.input, args.output, args.axis, pixels, pool, [&](const float* in, float* out) {
    *out = static_cast<float>(kernels.arg_max(in, count));
  });
}

// Keeps the first elements of the row in a heap of indices, with the last one on top.
void Compute(const TopKArgs& args, ThreadPool& pool) {
  const int64_t kept = args.output.dims[args.axis];
  if (!IsContiguousAlong(args.output, args.axis)) return reference::Compute(args);
  const int64_t count = args.input.dims[args.axis];
  const int64_t step = args.input.strides[args.axis];
  ForEachAcross(args.input, args.output, args.axis, AllPixels(args.output), pool,
                [&](const float* in, float* out) {
                  const auto comes_first = [&](float a, float b) {
                    const auto index_a = static_cast<int64_t>(a);
                    const auto index_b = static_cast<int64_t>(b);
                    return ComesFirst(in[index_a * step], index_a, in[index_b * step], index_b);
                  };
                  for (int64_t i = 0; i < kept; ++i) out[i] = static_cast<float>(i);
                  std::make_heap(out, out + kept, comes_first);
                  for (int64_t i = kept; i < count; ++i) {
                    const auto index = static_cast<float>(i);
                    if (!comes_first(index, out[0])) continue;
                    std::pop_heap(out, out + kept, comes_first);
                    out[kept - 1] = index;
                    std::push_heap(out, out + kept, comes_first);
                  }
                  std::sort_heap(out, out + kept, comes_first);
                });
}

void Compute(const ReduceArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  int reduced_axes = 0;
  int axis = 0;
  for (int i = 0; i < args.input.rank; ++i) {
    if (!args.reduced[i]) continue;
    ++reduced_axes;
    axis = i;
  }
  const bool is_picture = IsMapWithChannelsTogether(args.input) &&
                          IsMapWithChannelsTogether(args.output) && reduced_axes == 2 &&
                          args.reduced[2] && args.reduced[3];
  if (is_picture) return ReducePicture(args, pool);
  if (reduced_axes != 1 || !IsContiguousAlong(args.input, axis))
    return reference::Compute(args, pixels);

  const RowKernels& kernels = ChooseRowKernels();
  const int64_t count = args.input.dims[axis];
  const auto reduce = args.kind == ReduceKind::kMax   ? kernels.maximum
                      : args.kind == ReduceKind::kMin ? kernels.minimum
                                                      : kernels.sum;
  ForEachAcross(args.input, args.output, axis, pixels, pool, [&](const float* in, float* out) {
    const float value = reduce(in, count);
    *out = args.kind == ReduceKind::kMean ? value / static_cast<float>(count) : value;
  });
}

}  // namespace cacheinf::cpu
