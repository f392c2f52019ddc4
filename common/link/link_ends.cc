#include "common/link/link_ends.h"

#include "common/link/mpi_link.h"
#include "common/link/zmq_link.h"

namespace cacheinf {

void LinkConnector::Check(const LinkAddress& address) {
  if (address.is_tcp()) {
    ZmqConnector::Check(address);
  } else if (!address.name.empty()) {
    (void)ReadNameServer(address.files.name_server);
  }
}

LinkConnector::LinkConnector(const LinkAddress& address)
    : mpi_(address.is_tcp() ? nullptr : std::make_unique<MpiConnector>(address)),
      zmq_(address.is_tcp() ? std::make_unique<ZmqConnector>(address) : nullptr) {}

LinkConnector::~LinkConnector() = default;

std::unique_ptr<Link> LinkConnector::Poll() { return zmq_ ? zmq_->Poll() : mpi_->Poll(); }

const std::string& LinkConnector::problem() const {
  return zmq_ ? zmq_->problem() : mpi_->problem();
}

LinkListener::LinkListener(const LinkAddress& address)
    : mpi_(address.is_tcp() ? nullptr : std::make_unique<MpiListener>(address)),
      zmq_(address.is_tcp() ? std::make_unique<ZmqListener>(address) : nullptr) {}

LinkListener::~LinkListener() = default;

std::unique_ptr<Link> LinkListener::Accept(std::chrono::milliseconds at_most) {
  return zmq_ ? zmq_->Accept(at_most) : mpi_->Accept(at_most);
}

bool LinkListener::is_finished() const { return mpi_ && mpi_->is_finished(); }

}  // namespace cacheinf
