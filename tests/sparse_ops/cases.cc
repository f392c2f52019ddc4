#include "tests/sparse_ops/cases.h"

#include <utility>

#include "sparse_ops/reference/reference.h"
#include "tests/sparse_ops/case_memory.h"
#include "tests/sparse_ops/case_table.h"

namespace cacheinf {
namespace {

struct ReferencePreparer {
  PreparedCall operator()(const WarpCall& warp) const {
    return [warp](const ActivePixels& pixels, const ChangeTest*) {
      reference::Compute(warp.Wanting(pixels));
    };
  }
  template <typename Args>
  PreparedCall operator()(const Args& args) const {
    return [args](const ActivePixels& pixels, const ChangeTest*) {
      if constexpr (kIsNeverLocal<Args>) {
        reference::Compute(args);
      } else {
        reference::Compute(args, pixels);
      }
    };
  }
  PreparedCall operator()(const WinogradArgs& args) const {
    return (*this)(static_cast<const ConvArgs&>(args));
  }
};

}  // namespace

WarpArgs WarpCall::Wanting(const ActivePixels& asked) const {
  ClearAll(wanted);
  if (!asked.is_sparse) SetRectangle(asked.rows, {0, wanted.width}, wanted);
  for (int i = 0; i < asked.run_count; ++i) {
    const PixelRun& run = asked.runs[i];
    SetRectangle({run.row, run.row + 1}, {run.begin, run.end}, wanted);
  }
  Subtract(wanted, held, wanted);
  WarpArgs next = args;
  next.wanted = wanted;
  return next;
}

const std::vector<float>& PreparedCase::output() const { return memory->output; }
const TensorView& PreparedCase::map() const { return memory->map; }
Range PreparedCase::rows() const {
  return {0, map().rank == 4 ? static_cast<int>(map().dims[2]) : 1};
}
int PreparedCase::columns() const { return map().rank == 4 ? static_cast<int>(map().dims[3]) : 1; }

OperatorFamily ReferenceFamily() {
  return {"reference", /*takes_only_rows=*/true,
          [](const OperatorArgs& args) { return std::visit(ReferencePreparer(), args); }};
}

const std::vector<OperatorCase>& OperatorCases() {
  static const std::vector<OperatorCase> cases = [] {
    Table table;
    AddConvolutions(table);
    AddWindows(table);
    AddPointwise(table);
    AddAlongAxes(table);
    AddWarps(table);
    AddRandomCases(table);
    return std::move(table.cases);
  }();
  return cases;
}

const std::vector<OperatorCase>& TimedCases() {
  static const std::vector<OperatorCase> cases = [] {
    Table table;
    AddTimedConvolutions(table);
    AddTimedWindows(table);
    AddTimedPointwise(table);
    AddTimedAlongAxes(table);
    AddTimedWarps(table);
    return std::move(table.cases);
  }();
  return cases;
}

}  // namespace cacheinf
