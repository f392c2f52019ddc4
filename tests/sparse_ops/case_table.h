#ifndef CACHEINF_TESTS_SPARSE_OPS_CASE_TABLE_H_
#define CACHEINF_TESTS_SPARSE_OPS_CASE_TABLE_H_

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/sparse_ops/case_memory.h"
#include "tests/sparse_ops/cases.h"

// For writing the table of cases.h: one file for every kind of operator.

namespace cacheinf {

// Whether its kernels never take pixels.
template <typename Args>
inline constexpr bool kIsNeverLocal =
    std::is_same_v<Args, LinearArgs> || std::is_same_v<Args, MatMulArgs> ||
    std::is_same_v<Args, TopKArgs> || std::is_same_v<Args, GatherElementsArgs> ||
    std::is_same_v<Args, GroupNormArgs> || std::is_same_v<Args, DecodeBoxesArgs> ||
    std::is_same_v<Args, NonMaxSuppressionArgs>;

// A call that fills its whole output whatever is asked for. Any other call is local if its output
// is a map: it computes any pixels.
template <typename Args>
struct Whole {
  // `fills_all`: whether this call does.
  explicit Whole(const Args& call, bool fills_all = true) : args(call), applies(fills_all) {}

  Args args;
  bool applies;
};

inline TensorView AsTensor(const TensorView& view) { return view; }
inline TensorView AsTensor(const ImageView& image) {
  return {image.data,
          4,
          {image.batch, image.channels, image.height, image.width},
          {image.batch_stride, 1, image.row_stride, image.pixel_stride}};
}

template <typename View>
void TakeFirstImage(View& map) {
  if constexpr (std::is_same_v<View, ImageView> || std::is_same_v<View, ConstImageView>) {
    map.batch = 1;
  } else if (map.rank == 4) {
    map.dims[0] = 1;
  }
}

// The same call for the first image of a batch.
template <typename Args>
Args OfFirstImage(Args args) {
  if constexpr (std::is_same_v<Args, BinaryArgs>) {
    TakeFirstImage(args.a);
    TakeFirstImage(args.b);
  } else if constexpr (std::is_same_v<Args, GatherArgs>) {
    // The output's first image may be any of the input's.
    if (args.axis != 0) TakeFirstImage(args.input);
  } else {
    TakeFirstImage(args.input);
  }
  if constexpr (std::is_base_of_v<ConvArgs, Args>) TakeFirstImage(args.residual);
  TakeFirstImage(args.output);
  return args;
}

template <typename Args>
PreparedCall Call(const OperatorFamily& family, const Whole<Args>& call, CaseMemory& memory) {
  if constexpr (std::is_same_v<Args, ConvArgs>) {
    if (family.conv_rounding > 0.0) memory.rounded = call.args;
  }
  const bool fills_all = call.applies || AsTensor(call.args.output).rank != 4;
  if constexpr (!kIsNeverLocal<Args>) {
    if (!fills_all) {
      if constexpr (std::is_same_v<Args, WinogradArgs>) memory.winograd = call.args;
      const Args taken = memory.options().has_one_image ? OfFirstImage(call.args) : call.args;
      memory.map = AsTensor(taken.output);
      return family.prepare(taken);
    }
  }
  const PreparedCall prepared = family.prepare(call.args);
  if (!prepared) return {};
  return [prepared, all = AllPixels(call.args.output)](const ActivePixels&, const ChangeTest*) {
    prepared(all, nullptr);
  };
}

template <typename Args>
PreparedCall Call(const OperatorFamily& family, const Args& args, CaseMemory& memory) {
  return Call(family, Whole<Args>(args, kIsNeverLocal<Args>), memory);
}

inline PreparedCall Call(const OperatorFamily& family, const WarpCall& warp, CaseMemory& memory) {
  memory.map = AsTensor(warp.args.to);
  return family.prepare(warp);
}

class Table {
 public:
  // build(memory) draws one call's arguments: a type of OperatorArgs, or Whole of one.
  template <typename Build>
  void Add(std::string name, Build build) {
    const auto seed = static_cast<unsigned>(cases.size() + 1);
    cases.emplace_back(std::move(name), [seed, build = std::move(build)](
                                            const auto& family, const CaseOptions& options) {
      PreparedCase prepared;
      prepared.memory = std::make_shared<CaseMemory>(seed, options);
      prepared.run = Call(family, build(*prepared.memory), *prepared.memory);
      return prepared;
    });
  }

  std::vector<OperatorCase> cases;
};

void AddConvolutions(Table& table);
void AddWindows(Table& table);
void AddPointwise(Table& table);
void AddAlongAxes(Table& table);
void AddWarps(Table& table);
void AddRandomCases(Table& table);

// The same kinds for TimedCases().
void AddTimedConvolutions(Table& table);
void AddTimedWindows(Table& table);
void AddTimedPointwise(Table& table);
void AddTimedAlongAxes(Table& table);
void AddTimedWarps(Table& table);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SPARSE_OPS_CASE_TABLE_H_
