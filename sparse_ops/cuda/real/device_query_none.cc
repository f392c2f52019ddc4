#include "sparse_ops/cuda/real/device_query.h"

namespace cacheinf {

CudaReport QueryCuda() {
  CudaReport report;
  report.why_no_device = "this build has no CUDA";
  return report;
}

}  // namespace cacheinf
