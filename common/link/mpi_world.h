#ifndef CACHEINF_COMMON_LINK_MPI_WORLD_H_
#define CACHEINF_COMMON_LINK_MPI_WORLD_H_

#include <mpi.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/link/link.h"

namespace cacheinf {

// The programs that one mpirun started: a server and its robots, whose links are messages within
// MPI_COMM_WORLD. Any thread may call it and use a link of its own.
class MpiWorld : public std::enable_shared_from_this<MpiWorld> {
 public:
  // Starts MPI, waits for all programs to do so, and learns their roles. Call once per process.
  // Throws InputError if there is not exactly one server, or mpirun did not start this program.
  static std::shared_ptr<MpiWorld> Join(bool is_server);
  // Says goodbye to the server. Waits for nobody.
  ~MpiWorld();
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;

  // Returns a robot's link to the server. There may be another once it is gone.
  std::unique_ptr<Link> Connect();

  // Returns the link to a robot that connected, or null.
  std::unique_ptr<Link> Accept();
  // Whether every robot said goodbye.
  bool have_all_left() const { return robots_left_ == robots_; }

 private:
  class WorldLink;
  struct Wire;

  explicit MpiWorld(bool is_server);
  void Tell(int32_t number);
  void DropEnded();

  const bool is_server_;
  int server_ = -1;  // its rank
  int robots_ = 0;
  int robots_left_ = 0;
  int32_t links_ = 0;               // made by this robot so far
  std::array<int32_t, 1> heard_{};  // where a server receives robots' news
  MPI_Request hearing_ = MPI_REQUEST_NULL;
  std::vector<std::unique_ptr<Wire>> closing_;  // of links that are gone
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_MPI_WORLD_H_
