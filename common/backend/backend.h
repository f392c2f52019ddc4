#ifndef CACHEINF_COMMON_BACKEND_BACKEND_H_
#define CACHEINF_COMMON_BACKEND_BACKEND_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/backend/pixel_sets.h"
#include "common/model/graph/graph.h"
#include "sparse_ops/active_pixels.h"
#include "sparse_ops/mask/mask.h"
#include "sparse_ops/views.h"
#include "sparse_ops/warp.h"

namespace cacheinf {

// What a run does with the pixels of an operator's output.
struct PixelRunArgs {
  // The pixels to compute; after the run, those that changed: all but what the test left unchanged.
  PixelSet active;
  // Their new values are always stored and count as changes. May not exist.
  PixelSet untested;
  // Their new values are always stored, but are changes only if the test says so.
  PixelSet forced;

  // Write-if-changed (ChangeTest of sparse_ops/active_pixels.h). Without it everything is a change.
  bool has_test = false;
  float threshold = 0.0f;
  const float* inverse_spread = nullptr;  // [channels], on the host; null if threshold is 0
  PixelNumbers numbers = PixelNumbers::kFloats;

  // Multiply-adds per pixel, for PixelSets::TakeCount.
  int64_t weight = 0;

  // Checks what is stored (StoredCheck); does not count as work of the frame.
  bool is_check = false;
};

// Runs operators on one device, for all states of a model. Prepares every operator before the first
// frame, then only runs them, one at a time.
//
// The promise of every backend: an output pixel's bits depend only on the inputs that geometry.h
// says it reads. So any pixels may be computed in any order, in any number of calls, by
// any thread.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view Name() const = 0;

  // How it multiplies and sums. Backends that return the same text give the same bits, whatever
  // release they are of.
  virtual std::string Arithmetic() const;

  // Device memory, aligned to 64 bytes, zeroed, freed with the pointer.
  using Memory = std::unique_ptr<float[], std::function<void(float*)>>;
  virtual Memory Allocate(size_t floats) = 0;

  // Chooses the operator's kernel, packs its weights, and returns a handle for Run. Throws
  // InputError, naming the operator, if this backend cannot run it. The graph must outlive the
  // backend.
  virtual int Prepare(const Graph& graph, const Operator& op) = 0;

  // Bytes of scratch memory for all operators prepared so far.
  virtual size_t scratch_bytes() const = 0;

  // Computes these rows of the outputs, or all rows if the operator is not local. `inputs` has
  // every input of the operator: parameters (IsParameter of operator_call.h) on the host, as in the
  // graph; all others in device memory, maps channels-last and maybe strided, other tensors
  // contiguous. Inputs of a concatenation that already lie in place in the output are left alone.
  // Does not allocate.
  virtual void Run(int handle, std::span<const ConstTensorView> inputs,
                   std::span<const TensorView> outputs, Range rows) = 0;

  // Whether Run only notes work, which is done later as one piece with the work noted next.
  virtual bool RunsLater() const { return false; }

  // Makes the sets of one state.
  virtual std::unique_ptr<PixelSets> MakeSets() = 0;

  // Computes the active pixels of the outputs; if the operator is not local, all pixels if any is
  // active. A test takes inputs of a concatenation that lie in place as unchanged. REQUIRES: sets
  // of MakeSets; with a test, a local operator that writes to none of its inputs except by
  // concatenation.
  virtual void Run(int handle, std::span<const ConstTensorView> inputs,
                   std::span<const TensorView> outputs, PixelSets& sets,
                   const PixelRunArgs& args) = 0;

  // Gives pixel (y, x) of a map what (y + rows, x + columns) held, if that lies within the map; all
  // other pixels become undefined. REQUIRES: a map whose pixels lie end to end.
  virtual void Shift(const TensorView& map, int rows, int columns) = 0;

  // Warps maps in device memory as warp.h says, with these sets as masks; `out_of_view` need not
  // exist.
  virtual void Warp(const WarpArgs& args, PixelSets& sets, PixelSet wanted,
                    PixelSet out_of_view) = 0;

  // Copy between host and device memory: same dims, any strides. Only CopyOut waits for the copy.
  virtual void CopyIn(const ConstTensorView& host, const TensorView& device) = 0;
  virtual void CopyOut(const ConstTensorView& device, const TensorView& host) = 0;

  // Waits until all work that was run in rows is done, so that a clock read next includes it.
  virtual void Finish() {}

  // Announces a CopyOut, so that its numbers can come together with others that the host waits for.
  virtual void ExpectCopyOut(const ConstTensorView& /*device*/) {}

  // Read and write some pixels of a map: pixel by pixel in row order, all channels, image after
  // image. The mask lies on the host.
  virtual void Gather(const ConstTensorView& map, ConstMaskView pixels,
                      std::span<float> numbers) = 0;
  virtual void Scatter(std::span<const float> numbers, ConstMaskView pixels,
                       const TensorView& map) = 0;

  // Reads a set of a map's pixels into `mask`, and gathers those in `rows` into `numbers`.
  virtual void Gather(const ConstTensorView& map, PixelSets& sets, PixelSet pixels, Range rows,
                      MaskView mask, std::vector<float>* numbers);

  // Begins such a Gather of what is there now. Work that is asked for before the returned function
  // is called runs beside the copy; that call waits only for the copy. Null where this would gain
  // nothing. The function may be dropped; the backend and the sets outlive it.
  using Gathered = std::function<void(MaskView mask, std::vector<float>* numbers)>;
  virtual Gathered BeginGather(const ConstTensorView& /*map*/, PixelSets& /*sets*/,
                               PixelSet /*pixels*/, Range /*rows*/) {
    return nullptr;
  }

 protected:
  // How many numbers Gather gives.
  static size_t NumbersOf(const ConstTensorView& map, ConstMaskView pixels) {
    return static_cast<size_t>(CountActive(pixels) * map.dims[0] * map.dims[1]);
  }
};

inline void Backend::Gather(const ConstTensorView& map, PixelSets& sets, PixelSet pixels,
                            Range rows, MaskView mask, std::vector<float>* numbers) {
  sets.Read(pixels, mask);
  const ConstMaskView some = CutRows(ConstMaskView(mask), rows);
  numbers->resize(NumbersOf(map, some));
  ConstTensorView part = map;
  part.data += rows.begin * map.strides[2];
  part.dims[2] = rows.size();
  Gather(part, some, *numbers);
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BACKEND_BACKEND_H_
