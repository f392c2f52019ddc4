#ifndef CACHEINF_COMMON_EXEC_BACKEND_H_
#define CACHEINF_COMMON_EXEC_BACKEND_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "common/model/graph/graph.h"
#include "sparse_ops/active_pixels.h"
#include "sparse_ops/mask/mask.h"
#include "sparse_ops/views.h"
#include "sparse_ops/warp.h"

namespace cacheinf {

// What runs operators on one device. The executor owns one, asks it to prepare every operator
// before the first frame, and then only calls Run.
//
// The promise of every backend in exact mode: an output pixel's bits depend on nothing but the
// inputs that geometry.h says it reads, so any pixels may be computed in any order, in any number
// of calls, by any thread.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view Name() const = 0;

  // Memory of the device, aligned to 64 bytes, freed with the pointer.
  using Memory = std::unique_ptr<float[], std::function<void(float*)>>;
  virtual Memory Allocate(size_t floats) = 0;

  // Chooses the kernel of an operator, packs its weights, and returns a handle for Run.
  // Throws InputError, naming the operator, if this backend cannot run it. The graph outlives the
  // backend.
  virtual int Prepare(const Graph& graph, const Operator& op) = 0;

  // Floats of scratch memory that Run may use for this handle.
  virtual size_t ScratchFloats(int handle) const = 0;

  // Computes the active pixels of the outputs (all pixels, if the operator is not local), those
  // that change if there is a test (it may be null). `inputs` holds every input of the operator:
  // weights and the like (IsParameter of operator_call.h) on the host as the graph has them, all
  // others in the device's memory, where maps lie channels-last and may be strided, and other
  // tensors lie contiguous. What is concatenated may lie in its place in the output already, and is
  // left alone then: the test takes it for unchanged. Does not allocate. REQUIRES with a test: a
  // local operator that writes to none of its inputs but by concatenation.
  virtual void Run(int handle, std::span<const ConstTensorView> inputs,
                   std::span<const TensorView> outputs, const ActivePixels& pixels,
                   const ChangeTest* test, float* scratch) = 0;

  // Pixel (y, x) of a map gets what (y + rows, x + columns) held, where that lies within the map;
  // all others keep what they hold, or get anything. REQUIRES: a map whose pixels lie end to end.
  virtual void Move(const TensorView& map, int rows, int columns) = 0;

  // HaloFetch and WarpAndMerge of warp.h, for all rows of maps in the device's memory; masks lie on
  // the host. What was asked of the backend before comes first. Do not allocate.
  virtual void HaloFetch(const WarpArgs& args, ConstMaskView needed, ConstMaskView held,
                         MaskView out_of_view) = 0;
  virtual void WarpAndMerge(const WarpArgs& args, ConstMaskView held, MaskView out_of_view) = 0;

  // Between the host's memory and the device's, same dims, any strides; in, these pixels only.
  virtual void CopyIn(const ConstTensorView& host, const TensorView& device,
                      const ActivePixels& pixels) = 0;
  virtual void CopyOut(const ConstTensorView& device, const TensorView& host) = 0;
};

// Memory of this machine as Backend::Allocate gives it, all zero.
Backend::Memory AllocateOnHost(size_t floats);

// Backend::Move for such memory.
void MoveOnHost(const TensorView& map, int rows, int columns);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_BACKEND_H_
