#ifndef CACHEINF_COMMON_LINK_MPI_KNOCK_H_
#define CACHEINF_COMMON_LINK_MPI_KNOCK_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/link/descriptor.h"

namespace cacheinf {

// Before a robot and a server connect by MPI, the robot knocks: it opens a TCP connection to where
// the server's name leads, and learns the MPI port that was opened for it alone. MPI's own connect
// and accept wait for ever for a partner that is gone, and two robots at one port disturb each
// other. The connection stays open, so that each side sees at once when the other one dies.
//
//   robot:  "cacheinf/1 TOKEN\n"      the token shows that it read the server's name
//   server: "cacheinf/1\n"            at once
//           "PORT\n"                  when MPI has opened one

// The server's end.
class KnockListener {
 public:
  // Listens at every address of this machine, on a port of the system's choice.
  KnockListener();

  // What the server publishes under its name.
  const std::string& published() const { return published_; }

  // The connection of somebody who knocked well, greeted; none if nobody did. Does not wait.
  Descriptor Accept();

  // For poll: readable when Accept is worth a call.
  std::vector<int> descriptors() const;

 private:
  struct Visitor {
    Descriptor connection;
    std::string text;
    std::chrono::steady_clock::time_point until;
  };

  Descriptor socket_;
  std::string token_;
  std::string published_;
  std::vector<Visitor> visitors_;
};

// Knocks where `published` says. Null: nobody is there. Takes up to `at_most` for each address.
Descriptor Knock(const std::string& published, std::chrono::milliseconds at_most);

// A line that ends by then, without its end; none if the connection ends, or the time.
std::optional<std::string> ReadLine(const Descriptor& connection,
                                    std::chrono::milliseconds at_most);

bool WriteLine(const Descriptor& connection, const std::string& line);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_MPI_KNOCK_H_
