#ifndef CACHEINF_COMMON_LINK_ADDRESS_H_
#define CACHEINF_COMMON_LINK_ADDRESS_H_

#include <filesystem>
#include <string>

namespace cacheinf {

// Where a server listens and a robot finds it.
struct LinkAddress {
  std::string name;                   // empty: within the same mpirun
  std::filesystem::path name_server;  // the name server's file; unused without a name
};

// Parses an argument of --listen or --server: mpi or mpi:NAME. An empty `name_server` means the
// default. Throws InputError naming the option.
LinkAddress ParseLinkAddress(const std::string& option, const std::string& text,
                             const std::filesystem::path& name_server = {});

// Returns $CACHEINF_NAME_SERVER, else name-server in ${CACHEINF_CACHE:-~/.cache/cacheinf}, where
// scripts/name-server writes it.
std::filesystem::path DefaultNameServerFile();

// What scripts/name-server wrote.
struct NameServer {
  std::string uri;      // for Open MPI
  std::string library;  // the Open MPI it belongs to; empty: unknown
};

// Throws InputError if there is no name server, saying how to start one.
NameServer ReadNameServer(const std::filesystem::path& file);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_ADDRESS_H_
