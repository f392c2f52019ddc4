#ifndef CACHEINF_COMMON_LINK_MPI_KNOCK_H_
#define CACHEINF_COMMON_LINK_MPI_KNOCK_H_

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/link/descriptor.h"

namespace cacheinf {

// Before a robot and a server connect by MPI, the robot knocks: it opens a TCP connection to the
// address under the server's name, and gets an MPI port opened for it alone. MPI's own connect and
// accept wait forever for a partner that is gone, and two robots at one port disturb each other.
// The connection stays open, so that each side notices at once when the other dies.
//
//   robot:  "cacheinf/1 TOKEN\n"      the token shows that it read the server's name
//   server: "cacheinf/1\n"            at once
//           "PORT\n" or "!WHY\n"      when MPI has opened one, or cannot
//
// Somebody who only wants to know whether the server lives says "cacheinf/1 TOKEN ?\n", and hears
// the first line.

constexpr char kRefusal = '!';

// The server's end.
class KnockListener {
 public:
  // Listens on a port that the system chooses, at one address of the machine, or at all (empty).
  // Throws std::system_error.
  explicit KnockListener(const std::string& only = "");

  // What the server publishes under its name.
  const std::string& published() const { return published_; }

  // Returns the greeted connection of somebody who knocked correctly, or none. Does not wait.
  Descriptor Accept();

  // For poll: readable when Accept has something to do.
  std::vector<int> descriptors() const;

 private:
  struct Visitor {
    Descriptor connection;
    std::string text;
    std::chrono::steady_clock::time_point until;
  };

  Descriptor Hear(Visitor* visitor, std::chrono::steady_clock::time_point now) const;

  Descriptor socket_;
  std::string token_;
  std::string published_;
  std::deque<Visitor> visitors_;  // who came first
};

// Whether a server lives where `published` says.
bool IsAnswered(const std::string& published, std::chrono::milliseconds at_most);

// Knocks where `published` says, for up to `at_most` per address. Returns none if nobody is there.
Descriptor Knock(const std::string& published, std::chrono::milliseconds at_most);

// Returns a line without its end; nothing if the connection ends or time runs out.
std::optional<std::string> ReadLine(const Descriptor& connection,
                                    std::chrono::milliseconds at_most);

bool WriteLine(const Descriptor& connection, const std::string& line);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_MPI_KNOCK_H_
