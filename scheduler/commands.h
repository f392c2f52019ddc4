#ifndef CACHEINF_SCHEDULER_COMMANDS_H_
#define CACHEINF_SCHEDULER_COMMANDS_H_

#include <CLI/CLI.hpp>
#include <memory>

namespace cacheinf {

// The commands of cacheinf-schedule: solve, show, explain, compare, validate.
class SchedulerCommands {
 public:
  SchedulerCommands();
  ~SchedulerCommands();
  SchedulerCommands(const SchedulerCommands&) = delete;
  SchedulerCommands& operator=(const SchedulerCommands&) = delete;

  // Must outlive the app's parsing, which runs the command.
  void AddTo(CLI::App& app);

 private:
  struct Options;
  std::unique_ptr<Options> options_;
};

}  // namespace cacheinf

#endif  // CACHEINF_SCHEDULER_COMMANDS_H_
