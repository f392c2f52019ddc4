#include "common/backend/torch_call.h"
#include "common/base/error.h"

namespace cacheinf {

struct TorchCall::State {};

TorchCall::TorchCall(const Operator& op) {
  throw InputError("operator '" + op.name + "' (" + KindName(op) +
                   ") is run by LibTorch, which is not in this build");
}
TorchCall::~TorchCall() = default;
TorchCall::TorchCall(TorchCall&&) noexcept = default;
TorchCall& TorchCall::operator=(TorchCall&&) noexcept = default;

void TorchCall::Run(std::span<const ConstTensorView>, std::span<const TensorView>) const {}

}  // namespace cacheinf
