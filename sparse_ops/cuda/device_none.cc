#include "sparse_ops/cuda/device.h"

namespace cacheinf {

CudaReport QueryCuda() {
  CudaReport report;
  report.why_no_device = "this build has no CUDA";
  return report;
}

}  // namespace cacheinf
