#ifndef CACHEINF_SPARSE_OPS_CUDA_REAL_DEVICE_QUERY_H_
#define CACHEINF_SPARSE_OPS_CUDA_REAL_DEVICE_QUERY_H_

#include <cstdint>
#include <string>
#include <vector>

namespace cacheinf {

struct CudaDevice {
  std::string name;
  int compute_major = 0;  // compute capability
  int compute_minor = 0;
  int multiprocessors = 0;
  int64_t memory_bytes = 0;
};

// What CUDA this build and this machine have.
struct CudaReport {
  bool built_in = false;    // whether the CUDA sources were compiled
  int runtime_version = 0;  // 13000: 13.0; 0: not built in
  int driver_version = 0;   // the newest CUDA that the driver knows; 0: no driver
  std::vector<CudaDevice> devices;
  std::string why_no_device;  // empty if there is one
};

// Asks the driver; the first call may take a second.
CudaReport QueryCuda();

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CUDA_REAL_DEVICE_QUERY_H_
