#include "common/backend/backend.h"

#include "sparse_ops/ops.h"

namespace cacheinf {

std::string Backend::Arithmetic() const {
  return "exact FP32, arithmetic " + std::to_string(kArithmetic);
}

}  // namespace cacheinf
