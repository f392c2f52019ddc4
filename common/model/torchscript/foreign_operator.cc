#include <ATen/Parallel.h>
#include <ATen/ops/from_blob.h>
#include <dlfcn.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <sstream>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/model/torchscript/importer.h"
#include "common/model/torchscript/libtorch.h"

namespace cacheinf {
namespace {

// Shows our memory to LibTorch without copying it.
at::Tensor Borrow(const ConstTensorView& view) {
  const at::IntArrayRef dims(view.dims.data(), static_cast<size_t>(view.rank));
  const at::IntArrayRef strides(view.strides.data(), static_cast<size_t>(view.rank));
  return at::from_blob(const_cast<float*>(view.data), dims, strides);
}

at::Tensor Borrow(const TensorView& view) { return Borrow(ConstTensorView(view)); }

void Store(const at::Tensor& result, const TensorView& output) {
  if (result.dim() != output.rank || result.numel() != output.Count()) {
    throw std::runtime_error("LibTorch returned a tensor of another shape than at import");
  }
  Borrow(output).copy_(result);
}

// LibTorch computes on OpenMP's threads. After a loop these spin for milliseconds (libgomp's for
// about twenty), waiting for the next loop, on cores that our own threads want. libgomp can be told
// not to only before it is loaded. So end them; the next loop makes new ones. An OpenMP library
// older than 5.0 cannot end them.
void EndOpenMpThreads() {
  using PauseResources = int (*)(int kind);
  static const auto pause =
      reinterpret_cast<PauseResources>(dlsym(RTLD_DEFAULT, "omp_pause_resource_all"));
  constexpr int kSoft = 1;  // omp_pause_soft
  if (pause != nullptr) pause(kSoft);
}

class LoadedOperator : public ForeignOperator {
 public:
  explicit LoadedOperator(const Operator& op) {
    const auto& foreign = std::get<op::Foreign>(op.attributes);
    try {
      std::istringstream archive(*foreign.archive);
      module_ = torch::jit::load(archive, at::kCPU);
      module_.eval();
    } catch (const std::exception& error) {
      throw InputError("operator '" + op.name + "' (" + foreign.type +
                       "): LibTorch cannot read its archive");
    }
  }

  void Run(std::span<const ConstTensorView> inputs,
           std::span<const TensorView> outputs) const override {
    const at::InferenceMode no_gradients;
    std::vector<c10::IValue> arguments;
    for (const ConstTensorView& input : inputs) arguments.emplace_back(Borrow(input).contiguous());
    const c10::IValue result = module_.forward(std::move(arguments));
    std::vector<at::Tensor> tensors;
    if (result.isTensor()) {
      tensors = {result.toTensor()};
    } else if (result.isTensorList()) {
      tensors = result.toTensorVector();
    } else {
      for (const c10::IValue& element : result.toTupleRef().elements()) {
        tensors.push_back(element.toTensor());
      }
    }
    if (tensors.size() != outputs.size()) {
      throw std::runtime_error("LibTorch returned another number of tensors than at import");
    }
    for (size_t i = 0; i < outputs.size(); ++i) Store(tensors[i], outputs[i]);
    EndOpenMpThreads();
  }

 private:
  mutable torch::jit::Module module_;
};

}  // namespace

std::unique_ptr<ForeignOperator> torchscript::MakeForeignOperator(const Operator& op) {
  return std::make_unique<LoadedOperator>(op);
}

}  // namespace cacheinf
