#ifndef CACHEINF_PROFILER_COMMANDS_H_
#define CACHEINF_PROFILER_COMMANDS_H_

#include <CLI/CLI.hpp>
#include <memory>

namespace cacheinf {

// The commands of cacheinf-profile: inspect, pack, scenes, machine, measure, link.
class ProfilerCommands {
 public:
  ProfilerCommands();
  ~ProfilerCommands();
  ProfilerCommands(const ProfilerCommands&) = delete;
  ProfilerCommands& operator=(const ProfilerCommands&) = delete;

  // Must outlive the app's parsing, which runs the command.
  void AddTo(CLI::App& app);

 private:
  struct Options;
  std::unique_ptr<Options> options_;
};

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_COMMANDS_H_
