#include "common/backend/torch_call.h"

namespace cacheinf {

TorchCall::TorchCall(const Operator& op) : operator_(LoadLibTorch().make(op)) {}

}  // namespace cacheinf
