#ifndef CACHEINF_COMMON_BACKEND_HOST_HOST_BACKEND_H_
#define CACHEINF_COMMON_BACKEND_HOST_HOST_BACKEND_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "common/backend/backend.h"
#include "common/backend/host/host_pixel_sets.h"
#include "sparse_ops/active_pixels.h"

namespace cacheinf {

// What backends on the host's processor share: memory, sets as bit masks, and kernels that take
// lists of pixels.
class HostBackend : public Backend {
 public:
  Memory Allocate(size_t floats) final;
  int Prepare(const Graph& graph, const Operator& op) final;
  size_t scratch_bytes() const final { return scratch_floats_ * sizeof(float); }
  std::unique_ptr<PixelSets> MakeSets() final;
  void Run(int handle, std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs,
           Range rows) final;
  void Run(int handle, std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs,
           PixelSets& sets, const PixelRunArgs& args) final;
  void Shift(const TensorView& map, int rows, int columns) final;
  void Warp(const WarpArgs& args, PixelSets& sets, PixelSet wanted, PixelSet out_of_view) final;
  using Backend::Gather;
  void Gather(const ConstTensorView& map, ConstMaskView pixels, std::span<float> numbers) final;
  void Scatter(std::span<const float> numbers, ConstMaskView pixels, const TensorView& map) final;

  // Floats of scratch memory for a run.
  virtual size_t ScratchFloats(int handle) const = 0;

  // Computes the active pixels, and with a test (it may be null) writes only those that change.
  virtual void RunKernel(int handle, std::span<const ConstTensorView> inputs,
                         std::span<const TensorView> outputs, const ActivePixels& pixels,
                         const ChangeTest* test, float* scratch) = 0;

 protected:
  // As Backend::Prepare. Handles count from 0.
  virtual void PrepareKernel(const Graph& graph, const Operator& op) = 0;
  virtual void RunWarp(const WarpArgs& args) = 0;

 private:
  std::vector<bool> is_local_;  // one per handle
  std::shared_ptr<PartsScratch> parts_scratch_ = std::make_shared<PartsScratch>();
  Memory scratch_;
  size_t scratch_floats_ = 0;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BACKEND_HOST_HOST_BACKEND_H_
