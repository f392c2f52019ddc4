#ifndef CACHEINF_TESTS_BENCH_NAME_SERVER_H_
#define CACHEINF_TESTS_BENCH_NAME_SERVER_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
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
    LetMpiUseEveryCore();
  }
  ~NameServerOfOurOwn() { Run("stop"); }
  NameServerOfOurOwn(const NameServerOfOurOwn&) = delete;
  NameServerOfOurOwn& operator=(const NameServerOfOurOwn&) = delete;

  std::filesystem::path file() const { return folder_.path() / "name-server"; }

 private:
  // MPI's own processes, beside a busy robot or server on its one core, sometimes get no time for
  // ten seconds, and a robot that has lost its server does not find it again.
  void LetMpiUseEveryCore() const {
    const std::filesystem::path program = folder_.path() / "mpi-child";
    std::ofstream(program) << "#!/bin/sh\nexec taskset ffffffff '"
                           << ProgramPath("cacheinf-mpi-child") << "' \"$@\"\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    setenv("CACHEINF_MPI_CHILD", program.c_str(), 1);
  }

  int Run(const std::string& command) const {
    return RunCommand({SourceFolder() / "scripts/name-server", command, "--file", file().string()})
        .exit_code;
  }

  TemporaryFolder folder_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_NAME_SERVER_H_
