#include "common/link/mpi_library.h"

#include <mpi.h>

#include <algorithm>
#include <array>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace cacheinf {
namespace {

// Keeps the leak sanitizer from counting allocations: Open MPI's components leak and are then
// unloaded, so a suppression by name has nothing to match.
#ifdef __SANITIZE_ADDRESS__
using UncountedLeaks = __lsan::ScopedDisabler;
#else
struct UncountedLeaks {
  ~UncountedLeaks() {}
};
#endif

// The tool interface works before MPI_Init, where MPIX_Query_cuda_support does not.
bool ReadBooleanVariable(const char* name) {
  const UncountedLeaks uncounted;
  int provided = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return false;
  bool value = false;
  int index = 0;
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  int count = 0;
  if (MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS &&
      MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) == MPI_SUCCESS) {
    if (count == 1) MPI_T_cvar_read(handle, &value);
    MPI_T_cvar_handle_free(&handle);
  }
  MPI_T_finalize();
  return value;
}

}  // namespace

std::string MpiLibraryText() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text;
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  return text.data();  // in some versions the length counts the final zero
}

MpiLibrary QueryMpi() {
  MpiLibrary library;
  library.version = MpiLibraryText();
  library.version.resize(std::min(library.version.size(), library.version.find(',')));
  library.cuda_aware = ReadBooleanVariable("opal_built_with_cuda_support");
  return library;
}

}  // namespace cacheinf
