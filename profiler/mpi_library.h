#ifndef CACHEINF_PROFILER_MPI_LIBRARY_H_
#define CACHEINF_PROFILER_MPI_LIBRARY_H_

#include <string>

namespace cacheinf {

struct MpiLibrary {
  std::string version;      // "Open MPI v4.1.4"; empty: built without MPI
  bool cuda_aware = false;  // reports that it can send CUDA device memory
};

// Does not initialise MPI.
MpiLibrary QueryMpi();

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_MPI_LIBRARY_H_
