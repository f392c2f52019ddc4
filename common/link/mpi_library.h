#ifndef CACHEINF_COMMON_LINK_MPI_LIBRARY_H_
#define CACHEINF_COMMON_LINK_MPI_LIBRARY_H_

#include <string>

namespace cacheinf {

// The MPI that this process uses.
struct MpiLibrary {
  std::string version;      // "Open MPI v4.1.4"; empty: built without MPI
  bool cuda_aware = false;  // reports that it can send CUDA device memory

  // Returns, for example, "Open MPI v4.1.4, without CUDA".
  std::string Describe() const {
    if (version.empty()) return "not in this build";
    return version + (cuda_aware ? ", sends CUDA memory" : ", without CUDA");
  }
};

// Does not initialise MPI.
MpiLibrary QueryMpi();

// Returns version and builder, as scripts/name-server writes them; empty: built without MPI.
std::string MpiLibraryText();

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_MPI_LIBRARY_H_
