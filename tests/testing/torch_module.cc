#include "tests/testing/torch_module.h"

#include <ATen/Parallel.h>
#include <ATen/ops/from_blob.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <utility>

#include "common/base/error.h"
#include "common/model/torchscript/importer.h"

namespace cacheinf {
namespace {

using torchscript::OneSentence;

at::Tensor ToTorch(const Tensor& tensor, TorchModule::Layout layout) {
  const at::Tensor borrowed =
      at::from_blob(const_cast<float*>(tensor.data()), tensor.shape());  // only read
  const bool channels_last = layout == TorchModule::Layout::kChannelsLast && borrowed.dim() == 4;
  return channels_last ? borrowed.contiguous(at::MemoryFormat::ChannelsLast) : borrowed.clone();
}

void Collect(const c10::IValue& value, std::vector<Tensor>* tensors) {
  if (value.isTensor()) {
    tensors->push_back(torchscript::ToTensor(value.toTensor()));
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) Collect(element, tensors);
  } else if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) Collect(element, tensors);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) Collect(entry.value(), tensors);
  }
}

}  // namespace

struct TorchModule::State {
  torch::jit::Module module;
  Layout layout = Layout::kContiguous;

  c10::IValue Forward(const std::vector<Tensor>& inputs) {
    const at::InferenceMode no_gradients;
    std::vector<c10::IValue> arguments;
    for (const Tensor& input : inputs) arguments.emplace_back(ToTorch(input, layout));
    return module.forward(std::move(arguments));
  }
};

TorchModule::TorchModule(const std::filesystem::path& path, Layout layout, Form form)
    : state_(std::make_unique<State>()) {
  state_->layout = layout;
  try {
    state_->module = torch::jit::load(path.string(), at::kCPU);
    state_->module.eval();
    if (form == Form::kFrozen && state_->module.hasattr("training")) {
      state_->module = torch::jit::freeze(state_->module);
    }
  } catch (const std::exception& error) {
    throw InputError("'" + path.string() + "': LibTorch cannot read it: " + OneSentence(error));
  }
}

void TorchModule::SetThreads(int threads) { at::set_num_threads(threads); }

TorchModule::~TorchModule() = default;
TorchModule::TorchModule(TorchModule&&) noexcept = default;
TorchModule& TorchModule::operator=(TorchModule&&) noexcept = default;

std::vector<Tensor> TorchModule::Run(const std::vector<Tensor>& inputs) const {
  std::vector<Tensor> outputs;
  Collect(state_->Forward(inputs), &outputs);
  return outputs;
}

void TorchModule::Time(const std::vector<Tensor>& inputs) const { state_->Forward(inputs); }

}  // namespace cacheinf
