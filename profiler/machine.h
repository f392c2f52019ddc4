#ifndef CACHEINF_PROFILER_MACHINE_H_
#define CACHEINF_PROFILER_MACHINE_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "common/link/mpi_library.h"
#include "sparse_ops/cuda/real/device_query.h"

namespace cacheinf {

// What a measurement depends on: the machine, and the libraries that this build uses on it. Every
// benchmark's file includes it.
struct Machine {
  struct CpuCache {
    int level = 0;
    std::string kind;  // "data", "instruction", "unified"
    int64_t bytes = 0;
  };

  std::string cpu;
  int logical_cores = 0;   // all of the machine
  int usable_cores = 0;    // that this process may run on
  double cpu_quota = 0.0;  // cores' worth of time that a control group grants; 0: no limit
  std::vector<CpuCache> caches;
  std::vector<std::string> simd_targets;  // best first
  int64_t memory_bytes = 0;
  std::string os;
  std::string kernel;

  // Versions.
  std::string cacheinf;
  std::string compiler;
  std::string build_type;
  std::string libtorch;
  std::string opencv;
  MpiLibrary mpi;
  CudaReport cuda;
};

Machine DescribeMachine();

// Returns one fact per line, for people.
std::string ToText(const Machine& machine);

nlohmann::json ToJson(const Machine& machine);

// Returns 16 hexadecimal digits that differ if anything that timings depend on differs.
std::string Fingerprint(const Machine& machine);

// Returns the number of cores that this process may run on, or that its quota of time is worth.
int CoresToUse(const Machine& machine);

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_MACHINE_H_
