#ifndef CACHEINF_SPARSE_OPS_CUDA_SET_PROGRAM_H_
#define CACHEINF_SPARSE_OPS_CUDA_SET_PROGRAM_H_

#include <cstddef>
#include <cstdint>

#include "sparse_ops/cuda/device.h"
#include "sparse_ops/views.h"

// What happens to masks between two operators, as one launch: masks are small, so one block takes
// all steps, one after the other, and nothing waits for the host.

namespace cacheinf {
namespace cuda {

// Which indices of `from` along one axis each index of `to` depends on.
struct AxisSources {
  enum class Kind : uint8_t {
    kTable,  // of i: ranges[first[i]] to ranges[first[i + 1] - 1]
    kOver,   // those that lie at least in part over it, where both axes show the same picture
    kAround  // those at most `reach` away
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
    kAddRows,         // the same within `rows`
    kRemove,          // to = to and not from
    kKeep,            // to = to and from
    kFillRectangle,   // within `rows` and `columns`
    kFillChosenRows,  // rows that have not 0 in `chosen`
    kClearRectangle,  // within `rows` and `columns`
    kKeepRectangle,   // clears what lies outside
    kFillIfAny,       // fills `to` if anything is in `from`, of any size
    kAddThrough,      // adds to `to` what depends on a pixel of `from`, by row_sources and
                      // column_sources; may be the same mask
    kShift,           // `to` (y, x) gets what it held at (y + rows.begin, x + columns.begin)
    kCount,           // *counter += weight pixels of `from`
    kCountAfresh,     // *counter = 0
    kList,            // its pixels, ascending, in `list`; how many in *count
    kCountIfAny       // *count = amount if anything is in `from`, else 0
  };
  Kind kind = Kind::kClear;
  ConstMaskView from;
  MaskView to;
  // What moves from frame to frame lies on the device.
  const Range* area = nullptr;            // `rows` and `columns`, which may reach outside
  const unsigned char* chosen = nullptr;  // one a row
  AxisSources row_sources;
  AxisSources column_sources;
  int* list = nullptr;
  int* count = nullptr;
  uint64_t* counter = nullptr;
  int64_t weight = 0;
  int amount = 0;
};

// The steps of a launch, of one block.
struct SetProgram {
  static constexpr const char* kName = "SetProgram";
  static constexpr int kThreads = 256;
  static constexpr int kMostSteps = 16;
  static constexpr size_t kSharedBytes = (kThreads / kWarp + 1) * sizeof(int);

  int count = 0;
  uint64_t* scratch = nullptr;  // for the step that needs most
  SetStep steps[kMostSteps];

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const;
};

}  // namespace cuda
}  // namespace cacheinf

#include "sparse_ops/cuda/set_program-inl.h"

#endif  // CACHEINF_SPARSE_OPS_CUDA_SET_PROGRAM_H_
