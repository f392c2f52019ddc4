#include "common/backend/torch_call.h"
#include "common/base/error.h"

namespace cacheinf {

TorchCall::TorchCall(const Operator& op) {
  throw InputError("operator '" + op.name + "' (" + KindName(op) +
                   ") is run by LibTorch, which is not in this build");
}

}  // namespace cacheinf
