#include "profiler/mpi_library.h"

namespace cacheinf {

MpiLibrary QueryMpi() { return {}; }

}  // namespace cacheinf
