#ifndef CACHEINF_TESTS_SPARSE_OPS_CASE_TABLE_H_
#define CACHEINF_TESTS_SPARSE_OPS_CASE_TABLE_H_

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/sparse_ops/case_memory.h"
#include "tests/sparse_ops/cases.h"

// How the table of cases.h is written: one file for every kind of operators.

namespace cacheinf {

class Table {
 public:
  // Builds the arguments of one call in the case's memory and prepares the call.
  using Build = std::function<PreparedCall(const OperatorFamily&, CaseMemory&)>;

  void Add(std::string name, Build build) {
    const auto seed = static_cast<unsigned>(cases.size() + 1);
    cases.emplace_back(std::move(name), [seed, build = std::move(build)](
                                            const auto& family, const CaseOptions& options) {
      PreparedCase prepared;
      prepared.memory = std::make_shared<CaseMemory>(seed, options);
      prepared.run = build(family, *prepared.memory);
      return prepared;
    });
  }

  std::vector<OperatorCase> cases;
};

template <typename Args>
using Prepare = std::function<PreparedCall(const Args&)>;

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
  } else {
    TakeFirstImage(args.input);
  }
  if constexpr (std::is_same_v<Args, ConvArgs>) TakeFirstImage(args.residual);
  TakeFirstImage(args.output);
  return args;
}

// A local operator: any pixels of its output can be computed.
template <typename Args>
PreparedCall CallOnMap(const Prepare<Args>& prepare, const Args& args, CaseMemory& memory) {
  const Args taken = memory.options().has_one_image ? OfFirstImage(args) : args;
  memory.map = AsTensor(taken.output);
  return prepare ? prepare(taken) : PreparedCall();
}

// One that fills its whole output, whatever is asked for.
template <typename Args>
PreparedCall CallWhole(const Prepare<Args>& prepare, const Args& args) {
  if (!prepare) return {};
  return [call = prepare(args), all = AllPixels(args.output)](
             const ActivePixels&, const ChangeTest*) { call(all, nullptr); };
}

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
