#include "tests/sparse_ops/cases.h"

#include <utility>

#include "sparse_ops/reference/on_pixels.h"
#include "sparse_ops/reference/reference.h"
#include "sparse_ops/reference/warp.h"
#include "tests/sparse_ops/case_memory.h"
#include "tests/sparse_ops/case_table.h"

namespace cacheinf {
namespace {

// Kernels that compute the given rows.
template <typename Args>
Prepare<Args> OfRows(void (*kernel)(const Args&, Range)) {
  return [kernel](const Args& args) -> PreparedCall {
    return [kernel, args](const ActivePixels& pixels, const ChangeTest*) {
      kernel(args, pixels.rows);
    };
  };
}

// Kernels that fill the views they are given.
template <typename Args>
Prepare<Args> OfViews(void (*kernel)(const Args&)) {
  return [kernel](const Args& args) -> PreparedCall {
    return [kernel, args](const ActivePixels& pixels, const ChangeTest*) {
      reference::OnPixels(kernel, args, pixels);
    };
  };
}

template <typename Args>
Prepare<Args> OfTensors(void (*kernel)(const Args&)) {
  return [kernel](const Args& args) -> PreparedCall {
    return [kernel, args](const ActivePixels&, const ChangeTest*) { kernel(args); };
  };
}

PreparedCall HaloFetch(const WarpCall& warp) {
  return [warp](const ActivePixels& pixels, const ChangeTest*) {
    reference::HaloFetch(warp.args, warp.needed, warp.active, pixels.rows, warp.out_of_view);
  };
}

PreparedCall WarpAndMerge(const WarpCall& warp) {
  return [warp](const ActivePixels& pixels, const ChangeTest*) {
    reference::WarpAndMerge(warp.args, warp.active, pixels.rows, warp.out_of_view);
  };
}

}  // namespace

const std::vector<float>& PreparedCase::output() const { return memory->output; }
const TensorView& PreparedCase::map() const { return memory->map; }
Range PreparedCase::rows() const {
  return {0, map().rank == 4 ? static_cast<int>(map().dims[2]) : 1};
}
int PreparedCase::columns() const { return map().rank == 4 ? static_cast<int>(map().dims[3]) : 1; }

OperatorFamily ReferenceFamily() {
  OperatorFamily family;
  family.name = "reference";
  family.takes_only_rows = true;
  family.conv = OfRows(reference::Conv);
  family.winograd = family.conv;
  family.pool = OfRows(reference::Pool);
  family.adaptive_pool = OfRows(reference::AdaptivePool);
  family.resize = OfRows(reference::Resize);
  family.depth_to_space = OfRows(reference::DepthToSpace);
  family.space_to_depth = OfRows(reference::SpaceToDepth);
  family.activation = OfViews(reference::Activation);
  family.scale_shift = OfViews(reference::ScaleShift);
  family.binary = OfViews(reference::Binary);
  family.copy = OfViews(reference::Copy);
  family.gather = OfViews(reference::Gather);
  family.pad = OfViews(reference::Pad);
  family.layer_norm = OfViews(reference::LayerNorm);
  family.softmax = OfViews(reference::Softmax);
  family.arg_max = OfViews(reference::ArgMax);
  family.reduce = OfViews(reference::Reduce);
  family.linear = OfTensors(reference::Linear);
  family.mat_mul = OfTensors(reference::MatMul);
  family.group_norm = OfTensors(reference::GroupNorm);
  family.decode_boxes = OfTensors(reference::DecodeBoxes);
  family.non_max_suppression = OfTensors(reference::NonMaxSuppression);
  family.halo_fetch = HaloFetch;
  family.warp_and_merge = WarpAndMerge;
  return family;
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
