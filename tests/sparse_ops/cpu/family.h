#ifndef CACHEINF_TESTS_SPARSE_OPS_CPU_FAMILY_H_
#define CACHEINF_TESTS_SPARSE_OPS_CPU_FAMILY_H_

#include "sparse_ops/cpu/thread_pool.h"
#include "tests/sparse_ops/cases.h"

namespace cacheinf {

// The operators of sparse_ops/cpu on this pool, which must outlive the family. Each call uses the
// kernels that are chosen when it is prepared.
OperatorFamily CpuFamily(ThreadPool& pool);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SPARSE_OPS_CPU_FAMILY_H_
