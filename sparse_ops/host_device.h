#ifndef CACHEINF_SPARSE_OPS_HOST_DEVICE_H_
#define CACHEINF_SPARSE_OPS_HOST_DEVICE_H_

// Functions that kernels call as well as the host.
#ifdef __CUDACC__
#define CACHEINF_HOST_DEVICE __host__ __device__
#else
#define CACHEINF_HOST_DEVICE
#endif

#endif  // CACHEINF_SPARSE_OPS_HOST_DEVICE_H_
