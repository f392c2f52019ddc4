#ifndef CACHEINF_COMMON_LINK_ADDRESS_H_
#define CACHEINF_COMMON_LINK_ADDRESS_H_

#include <filesystem>
#include <string>

namespace cacheinf {

// Files that an address needs; empty: the default, or none.
struct LinkFiles {
  std::filesystem::path name_server{};
  std::filesystem::path key{};  // our own secret key
  std::string trusted{};  // a server: the list of robots; a robot: the server's public key or its
                          // file (common/link/keys.h)
  std::string interface {};  // of mpi:NAME: the only one to use, by name or address; or "all"
};

// Where a server listens and a robot finds it: over MPI, or, if there is a host, over ZeroMQ.
struct LinkAddress {
  std::string name;  // empty: within the same mpirun
  std::string host;  // a name, an IPv4 address, an IPv6 one in brackets, or * for all of a server's
  int port = 0;
  LinkFiles files;

  bool is_tcp() const { return !host.empty(); }
  // Whether only this machine can be at the other end.
  bool is_loopback() const;
  // "tcp://HOST:PORT".
  std::string endpoint() const;
};

// Parses an argument of --listen or --server: mpi, mpi:NAME or tcp://HOST:PORT. An empty
// `files.name_server` means the default. Throws InputError naming the option.
LinkAddress ParseLinkAddress(const std::string& option, const std::string& text,
                             const LinkFiles& files = {});

// Returns $CACHEINF_NAME_SERVER, else name-server in ${CACHEINF_CACHE:-~/.cache/cacheinf}, where
// scripts/name-server writes it.
std::filesystem::path DefaultNameServerFile();

// What scripts/name-server wrote.
struct NameServer {
  std::string uri;      // for Open MPI
  std::string library;  // the Open MPI it belongs to; empty: unknown
  std::string address;  // the only address at which it listens; empty: all of its machine's
};

// Throws InputError if there is no name server, saying how to start one.
NameServer ReadNameServer(const std::filesystem::path& file);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_ADDRESS_H_
