#ifndef CACHEINF_COMMON_EXEC_BACKEND_H_
#define CACHEINF_COMMON_EXEC_BACKEND_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/exec/pixel_sets.h"
#include "common/model/graph/graph.h"
#include "sparse_ops/mask/mask.h"
#include "sparse_ops/views.h"
#include "sparse_ops/warp.h"

namespace cacheinf {

// What a run does with the pixels of an operator's output.
struct PixelRunArgs {
  // The pixels to compute. Afterwards those that changed: all, less what the test left unchanged.
  PixelSet active;
  // Of these every new value is stored and counts as a change. May not exist.
  PixelSet untested;
  // Of these every new value is stored, but is a change only if the test says so.
  PixelSet forced;

  // Write-if-changed (ChangeTest of sparse_ops/active_pixels.h). Without: all is a change.
  bool has_test = false;
  float threshold = 0.0f;
  const float* inverse_spread = nullptr;  // [channels] on the host; null with threshold 0

  // Multiply-adds of a pixel, for PixelSets::TakeCount.
  int64_t weight = 0;

  // Compares what is stored with what it must be (StoredCheck): no work of the frame.
  bool is_check = false;
};

// What runs operators on one device, for all states of a model. It prepares every operator before
// the first frame, and then only runs them, one at a time.
//
// The promise of every backend: an output pixel's bits depend on nothing but the inputs that
// geometry.h says it reads, so any pixels may be computed in any order, in any number of calls, by
// any thread.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view Name() const = 0;

  // How it multiplies and sums: two backends that say the same give the same bits.
  virtual std::string Arithmetic() const { return "exact FP32"; }

  // Memory of the device, aligned to 64 bytes, all zero, freed with the pointer.
  using Memory = std::unique_ptr<float[], std::function<void(float*)>>;
  virtual Memory Allocate(size_t floats) = 0;

  // Chooses the kernel of an operator, packs its weights, and returns a handle for Run.
  // Throws InputError, naming the operator, if this backend cannot run it. The graph outlives the
  // backend.
  virtual int Prepare(const Graph& graph, const Operator& op) = 0;

  // Bytes of scratch memory for all operators prepared so far.
  virtual size_t scratch_bytes() const = 0;

  // Computes these rows of the outputs; all of them, if the operator is not local. `inputs` holds
  // every input of the operator: weights and the like (IsParameter of operator_call.h) on the host
  // as the graph has them, all others in the device's memory, where maps lie channels-last and may
  // be strided, and other tensors lie contiguous. What is concatenated may lie in its place in the
  // output already, and is left alone then. Does not allocate.
  virtual void Run(int handle, std::span<const ConstTensorView> inputs,
                   std::span<const TensorView> outputs, Range rows) = 0;

  // The sets of one state.
  virtual std::unique_ptr<PixelSets> MakeSets() = 0;

  // Computes some pixels of the outputs; of an operator that is not local all of them, if any is
  // active. A test takes what lies in its place in a concatenation for unchanged. REQUIRES: sets of
  // MakeSets; with a test a local operator that writes to none of its inputs but by concatenation.
  virtual void Run(int handle, std::span<const ConstTensorView> inputs,
                   std::span<const TensorView> outputs, PixelSets& sets,
                   const PixelRunArgs& args) = 0;

  // Pixel (y, x) of a map gets what (y + rows, x + columns) held, where that lies within the map;
  // all others keep what they hold, or get anything. REQUIRES: a map whose pixels lie end to end.
  virtual void Shift(const TensorView& map, int rows, int columns) = 0;

  // What warp.h says, of maps in the device's memory, with these sets for masks; `out_of_view` need
  // not exist.
  virtual void Warp(const WarpArgs& args, PixelSets& sets, PixelSet wanted,
                    PixelSet out_of_view) = 0;

  // Between the host's memory and the device's, same dims, any strides. Only CopyOut waits.
  virtual void CopyIn(const ConstTensorView& host, const TensorView& device) = 0;
  virtual void CopyOut(const ConstTensorView& device, const TensorView& host) = 0;

  // Soon CopyOut will be asked for this: its numbers can come along with what the host waits for
  // before, or with those of others.
  virtual void ExpectCopyOut(const ConstTensorView& /*device*/) {}

  // The numbers of some pixels of a map, pixel by pixel in row order, all channels, image after
  // image. The mask lies on the host.
  virtual void Gather(const ConstTensorView& map, ConstMaskView pixels,
                      std::span<float> numbers) = 0;
  virtual void Scatter(std::span<const float> numbers, ConstMaskView pixels,
                       const TensorView& map) = 0;

  // Reads a set of a map's pixels into `mask`, and the numbers of those within some rows into
  // `numbers`, as Gather does.
  virtual void Gather(const ConstTensorView& map, PixelSets& sets, PixelSet pixels, Range rows,
                      MaskView mask, std::vector<float>* numbers);

 protected:
  // So many does Gather give.
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

#endif  // CACHEINF_COMMON_EXEC_BACKEND_H_
