#ifndef CACHEINF_TESTS_BENCH_NAME_SERVER_H_
#define CACHEINF_TESTS_BENCH_NAME_SERVER_H_

#include <filesystem>
#include <stdexcept>
#include <string>

#include "tests/bench/worker.h"
#include "tests/testing/command.h"
#include "tests/testing/places.h"

namespace cacheinf {

// The bench's own name server, by which robots find servers over MPI.
class NameServerOfOurOwn {
 public:
  NameServerOfOurOwn() {
    if (Run("start") != 0) throw std::runtime_error("scripts/name-server does not start");
  }
  ~NameServerOfOurOwn() { Run("stop"); }
  NameServerOfOurOwn(const NameServerOfOurOwn&) = delete;
  NameServerOfOurOwn& operator=(const NameServerOfOurOwn&) = delete;

  std::filesystem::path file() const { return folder_.path() / "name-server"; }

 private:
  int Run(const std::string& command) const {
    return RunCommand({SourceFolder() / "scripts/name-server", command, "--file", file().string()})
        .exit_code;
  }

  TemporaryFolder folder_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_NAME_SERVER_H_
