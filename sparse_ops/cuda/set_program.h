#ifndef CACHEINF_SPARSE_OPS_CUDA_SET_PROGRAM_H_
#define CACHEINF_SPARSE_OPS_CUDA_SET_PROGRAM_H_

#include <cstddef>
#include <cstdint>

#include "sparse_ops/cuda/device.h"
#include "sparse_ops/views.h"

// What happens to masks between two operators, in one launch. Masks are small, so one block does
// all steps in order, and nothing waits for the host.

namespace cacheinf::cuda {

// Which indices of `from` each index of `to` depends on, along one axis.
struct AxisSources {
  enum class Kind : uint8_t {
    kTable,  // index i: on ranges[first[i]] to ranges[first[i + 1] - 1]
    kOver,   // on those that overlap it, if both axes span the same picture
    kAround  // on those at most `reach` away
  };
  Kind kind = Kind::kTable;
  int from_size = 0;
  int size = 0;
  int reach = 0;
  const int* first = nullptr;     // on the device
  const Range* ranges = nullptr;  // on the device
};

struct SetStep {
  enum class Kind : uint8_t {
    kFill,            // to = all
    kClear,           // to = none
    kCopy,            // to = from
    kAdd,             // to = to or from
    kAddRows,         // kAdd within `rows`
    kRemove,          // to = to and not from
    kKeep,            // to = to and from
    kFillRectangle,   // within `rows` and `columns`
    kFillChosenRows,  // rows with a nonzero entry in `chosen`
    kClearRectangle,  // within `rows` and `columns`
    kKeepRectangle,   // clears what lies outside `rows` and `columns`
    kFillIfAny,       // to = all if any pixel is in `from`, whose size may differ
    kAddThrough,      // adds the pixels that depend on one of `from`, by row_sources and
                      // column_sources; `from` and `to` may be the same mask
    kShift,           // to(y, x) = to(y + rows.begin, x + columns.begin)
    kCount,           // *counter += weight * pixels in `from`
    kCountAfresh,     // *counter = 0
    kList,            // list = pixels of `from`, ascending; *count = their number
    kCountIfAny       // *count = amount if any pixel is in `from`, else 0
  };
  Kind kind = Kind::kClear;
  ConstMaskView from;
  MaskView to;
  // On the device, because these differ from frame to frame.
  const Range* area = nullptr;            // [2]: `rows`, `columns`; may reach outside the mask
  const unsigned char* chosen = nullptr;  // [rows]
  AxisSources row_sources;
  AxisSources column_sources;
  int* list = nullptr;
  int* count = nullptr;
  uint64_t* counter = nullptr;
  int64_t weight = 0;
  int amount = 0;
};

// Launched as one block.
struct SetProgram {
  static constexpr const char* kName = "SetProgram";
  static constexpr int kThreads = 256;
  static constexpr int kMostSteps = 16;
  static constexpr size_t kSharedBytes = (kThreads / kWarp + 1) * sizeof(int);

  int count = 0;
  uint64_t* scratch = nullptr;  // enough for the step that needs most
  SetStep steps[kMostSteps];

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const;
};

}  // namespace cacheinf::cuda

#include "sparse_ops/cuda/set_program-inl.h"

#endif  // CACHEINF_SPARSE_OPS_CUDA_SET_PROGRAM_H_
