#ifndef CACHEINF_TESTS_EXEC_FAILING_BACKEND_H_
#define CACHEINF_TESTS_EXEC_FAILING_BACKEND_H_

#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "common/exec/backend.h"

namespace cacheinf {

// Another backend that fails at one of its runs.
class FailingBackend : public Backend {
 public:
  explicit FailingBackend(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}

  // -1: never.
  void FailAfter(int runs) { runs_left_ = runs; }

  std::string_view Name() const override { return backend_->Name(); }
  Memory Allocate(size_t floats) override { return backend_->Allocate(floats); }
  int Prepare(const Graph& graph, const Operator& op) override {
    return backend_->Prepare(graph, op);
  }
  size_t ScratchFloats(int handle) const override { return backend_->ScratchFloats(handle); }
  void Run(int handle, std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs,
           const ActivePixels& pixels, const ChangeTest* test, float* scratch) override {
    // The run that fails has stored something already.
    backend_->Run(handle, inputs, outputs, pixels, test, scratch);
    if (runs_left_ >= 0 && runs_left_-- == 0) throw std::runtime_error("failed on purpose");
  }
  void Move(const TensorView& map, int rows, int columns) override {
    backend_->Move(map, rows, columns);
  }
  void HaloFetch(const WarpArgs& args, ConstMaskView needed, ConstMaskView held,
                 MaskView out_of_view) override {
    backend_->HaloFetch(args, needed, held, out_of_view);
  }
  void WarpAndMerge(const WarpArgs& args, ConstMaskView held, MaskView out_of_view) override {
    backend_->WarpAndMerge(args, held, out_of_view);
  }
  void CopyIn(const ConstTensorView& host, const TensorView& device,
              const ActivePixels& pixels) override {
    backend_->CopyIn(host, device, pixels);
  }
  void CopyOut(const ConstTensorView& device, const TensorView& host) override {
    backend_->CopyOut(device, host);
  }

 private:
  std::unique_ptr<Backend> backend_;
  int runs_left_ = -1;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_EXEC_FAILING_BACKEND_H_
