#ifndef CACHEINF_TESTS_SPARSE_OPS_CASE_TABLE_H_
#define CACHEINF_TESTS_SPARSE_OPS_CASE_TABLE_H_

#include <functional>
#include <memory>
#include <string>
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
    cases.push_back({std::move(name), [seed, build = std::move(build)](const auto& family) {
                       PreparedCase prepared;
                       prepared.memory = std::make_shared<CaseMemory>(seed);
                       prepared.run = build(family, *prepared.memory);
                       return prepared;
                     }});
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

// A local operator: any pixels of its output can be computed.
template <typename Args>
PreparedCall CallOnMap(const Prepare<Args>& prepare, const Args& args, CaseMemory& memory) {
  memory.map = AsTensor(args.output);
  return prepare ? prepare(args) : PreparedCall();
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

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SPARSE_OPS_CASE_TABLE_H_
