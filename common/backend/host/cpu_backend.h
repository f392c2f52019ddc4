#ifndef CACHEINF_COMMON_BACKEND_HOST_CPU_BACKEND_H_
#define CACHEINF_COMMON_BACKEND_HOST_CPU_BACKEND_H_

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/backend/host/host_backend.h"
#include "common/backend/host/relaid.h"
#include "common/backend/operator_call.h"
#include "common/backend/torch_call.h"
#include "sparse_ops/cpu/conv.h"
#include "sparse_ops/cpu/products.h"
#include "sparse_ops/cpu/quant_conv.h"
#include "sparse_ops/cpu/thread_pool.h"
#include "sparse_ops/cpu/winograd.h"

namespace cacheinf {

struct CpuBackendOptions {
  int threads = 1;  // of our pool, and of LibTorch's if it runs anything
  // May be shared with other backends that run one at a time. Null: makes one of `threads` threads.
  std::shared_ptr<ThreadPool> pool = nullptr;
};

// Runs operators with our own vector kernels (sparse_ops/cpu) on a pool of threads, and gives the
// bits of the reference unless a convolution's scheme is Winograd. Runs foreign operators in
// LibTorch.
class CpuBackend : public HostBackend {
 public:
  // Throws InputError if the number of threads is not in [1, kMaxThreads]. The first one in a
  // process logs a warning if the kernels have no vectors.
  explicit CpuBackend(const CpuBackendOptions& options = {});

  static constexpr int kMaxThreads = 1024;

  std::string_view Name() const override { return "cpu"; }
  void CopyIn(const ConstTensorView& host, const TensorView& device) override;
  void CopyOut(const ConstTensorView& device, const TensorView& host) override;

  size_t ScratchFloats(int handle) const override;
  void RunKernel(int handle, std::span<const ConstTensorView> inputs,
                 std::span<const TensorView> outputs, const ActivePixels& pixels,
                 const ChangeTest* test, float* scratch) override;

 protected:
  void PrepareKernel(const Graph& graph, const Operator& op) override;
  void RunWarp(const WarpArgs& args) override;

 private:
  struct PreparingKernels;
  struct RunningKernels;

  // One of our operators, with its weights packed if it has any.
  struct OwnCall {
    OperatorCall call;
    std::variant<std::monostate, cpu::Conv, cpu::Winograd, cpu::Linear, cpu::QuantConv,
                 cpu::QuantLinear>
        packed;
    size_t scratch_floats = 0;
    Relaid relaid = {};
    size_t relaid_begin = 0;  // where its copies begin in the scratch memory
  };

  void RunOwn(OwnCall& own, std::span<const ConstTensorView> inputs,
              std::span<const TensorView> outputs, const ActivePixels& pixels,
              const ChangeTest* test, float* scratch);
  void RunRelaid(OwnCall& own, std::span<const ConstTensorView> inputs, const TensorView& output,
                 float* scratch);
  // Whether the operator tests for changes while it computes.
  static bool TestsItself(const OwnCall& own, const ChangeTest& test);
  void Pack(const Graph& graph, const Operator& op, OwnCall& own);
  size_t TestFloats(const Graph& graph, const Operator& op, const OwnCall& own) const;

  std::shared_ptr<ThreadPool> pool_;
  ThreadPool alone_{1};  // for operators that run in parts, each by one thread of the pool
  std::vector<std::variant<OwnCall, TorchCall>> calls_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BACKEND_HOST_CPU_BACKEND_H_
