#ifndef CACHEINF_TESTS_EXEC_FAILING_BACKEND_H_
#define CACHEINF_TESTS_EXEC_FAILING_BACKEND_H_

#include <span>
#include <stdexcept>

#include "common/backend/forwarding_backend.h"

namespace cacheinf {

// Forwards to another backend, but fails at one run of pixels.
class FailingBackend : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;

  // Fails after this many runs; -1: never.
  void FailAfter(int runs) { runs_left_ = runs; }

  using ForwardingBackend::Run;
  void Run(int handle, std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs,
           PixelSets& sets, const PixelRunArgs& args) override {
    // A run that fails has already stored something.
    backend_->Run(handle, inputs, outputs, sets, args);
    if (runs_left_ >= 0 && runs_left_-- == 0) throw std::runtime_error("failed on purpose");
  }

 private:
  int runs_left_ = -1;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_EXEC_FAILING_BACKEND_H_
