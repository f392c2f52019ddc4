#ifndef CACHEINF_COMMON_BACKEND_FORWARDING_BACKEND_H_
#define CACHEINF_COMMON_BACKEND_FORWARDING_BACKEND_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/backend/backend.h"

namespace cacheinf {

// Passes everything on; backends that change one thing derive from it.
class ForwardingBackend : public Backend {
 public:
  explicit ForwardingBackend(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}

  std::string_view Name() const override { return backend_->Name(); }
  std::string Arithmetic() const override { return backend_->Arithmetic(); }
  Memory Allocate(size_t floats) override { return backend_->Allocate(floats); }
  int Prepare(const Graph& graph, const Operator& op) override {
    return backend_->Prepare(graph, op);
  }
  size_t scratch_bytes() const override { return backend_->scratch_bytes(); }
  void Run(int handle, std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs,
           Range rows) override {
    backend_->Run(handle, inputs, outputs, rows);
  }
  bool RunsLater() const override { return backend_->RunsLater(); }
  std::unique_ptr<PixelSets> MakeSets() override { return backend_->MakeSets(); }
  void Run(int handle, std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs,
           PixelSets& sets, const PixelRunArgs& args) override {
    backend_->Run(handle, inputs, outputs, sets, args);
  }
  void Shift(const TensorView& map, int rows, int columns) override {
    backend_->Shift(map, rows, columns);
  }
  void Warp(const WarpArgs& args, PixelSets& sets, PixelSet wanted, PixelSet out_of_view) override {
    backend_->Warp(args, sets, wanted, out_of_view);
  }
  void CopyIn(const ConstTensorView& host, const TensorView& device) override {
    backend_->CopyIn(host, device);
  }
  void CopyOut(const ConstTensorView& device, const TensorView& host) override {
    backend_->CopyOut(device, host);
  }
  void Finish() override { backend_->Finish(); }
  void ExpectCopyOut(const ConstTensorView& device) override { backend_->ExpectCopyOut(device); }
  using Backend::Gather;
  void Gather(const ConstTensorView& map, ConstMaskView pixels, std::span<float> numbers) override {
    backend_->Gather(map, pixels, numbers);
  }
  void Scatter(std::span<const float> numbers, ConstMaskView pixels,
               const TensorView& map) override {
    backend_->Scatter(numbers, pixels, map);
  }

 protected:
  std::unique_ptr<Backend> backend_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BACKEND_FORWARDING_BACKEND_H_
