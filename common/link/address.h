#ifndef CACHEINF_COMMON_LINK_ADDRESS_H_
#define CACHEINF_COMMON_LINK_ADDRESS_H_

#include <filesystem>
#include <string>

namespace cacheinf {

// Where a server listens, and a robot finds it.
struct LinkAddress {
  std::string name;                   // empty: among the programs of the same mpirun
  std::filesystem::path name_server;  // its file; of no account without a name
};

// Reads what --listen and --server take: mpi or mpi:NAME. An empty `name_server` stands for the
// default. Throws InputError, which names the option.
LinkAddress ParseLinkAddress(const std::string& option, const std::string& text,
                             const std::filesystem::path& name_server = {});

// $CACHEINF_NAME_SERVER, else name-server in ${CACHEINF_CACHE:-~/.cache/cacheinf}: where
// scripts/name-server writes it.
std::filesystem::path DefaultNameServerFile();

// What scripts/name-server wrote.
struct NameServer {
  std::string uri;      // for Open MPI
  std::string library;  // the Open MPI that it belongs to; empty: not known
};

// Throws InputError if there is none, saying how to get one.
NameServer ReadNameServer(const std::filesystem::path& file);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_ADDRESS_H_
