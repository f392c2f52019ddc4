#include "common/base/error.h"
#include "common/link/mpi_library.h"
#include "common/link/mpi_link.h"

namespace cacheinf {
namespace {

[[noreturn]] void Refuse() {
  throw InputError(
      "this build has no MPI: scripts/setup installs Open MPI, then run cmake and build again");
}

}  // namespace

struct MpiConnector::State {
  std::string problem;
};

MpiConnector::MpiConnector(const LinkAddress& /*address*/, const MpiLimits& /*limits*/) {
  Refuse();
}
MpiConnector::~MpiConnector() = default;
std::unique_ptr<Link> MpiConnector::Poll() { return nullptr; }
const std::string& MpiConnector::problem() const { return state_->problem; }

struct MpiListener::State {};

MpiListener::MpiListener(const LinkAddress& /*address*/, const MpiLimits& /*limits*/) { Refuse(); }
MpiListener::~MpiListener() = default;
std::unique_ptr<Link> MpiListener::Accept(std::chrono::milliseconds /*at_most*/) { return nullptr; }
bool MpiListener::is_finished() const { return true; }

MpiLibrary QueryMpi() { return {}; }
std::string MpiLibraryText() { return ""; }

}  // namespace cacheinf
